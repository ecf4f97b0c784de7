"""A host's own store, plugged into Kassa: an adapter over a toy shop in memory that signs as Google Play does.

    pip install cryptography
    python host_store.py

The program buys in the shop, gets its money back, and loses the connection at the worst moment. `Adapter` is what you
would write for your store; docs/store.md describes every request.
"""

from __future__ import annotations

import base64
import itertools
import json
import time
from collections.abc import Callable
from typing import Any

import kassa
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

Json = dict[str, Any]
PACKAGE = "com.example.app"
MONTH = 30 * 86_400_000
CATALOGUE = {"monthly": ("subscription", "Pro, monthly", 9_990_000), "coins": ("consumable", "100 coins", 990_000)}


class ToyShop:
    """Stands for Google Play: sells, remembers, signs, and tells whoever listens."""

    def __init__(self) -> None:
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.purchases: dict[str, Json] = {}
        self._orders = itertools.count(1)
        self.listener: Callable[[Json], object] = lambda _: None
        self.wallet = 1_000_000_000
        self.loses_answers = False

    @property
    def public_key(self) -> str:
        """What the Play Console shows."""
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return base64.b64encode(self._key.public_key().public_bytes(serialization.Encoding.DER, form)).decode()

    def buy(self, product: str, account: str | None) -> Json:
        price = CATALOGUE[product][2]
        if price > self.wallet:
            raise InterruptedError("the user left the sheet")
        self.wallet -= price
        # What is used up leaves the list, and its number must not come again.
        number, now = next(self._orders), time.time_ns() // 1_000_000
        original = {"orderId": f"GPA.{number}", "packageName": PACKAGE, "productId": product, "purchaseTime": now}
        original |= {"purchaseState": 0, "purchaseToken": f"token-{number}"}
        if account is not None:
            original["obfuscatedAccountId"] = account
        purchase: Json = {"product": product, "done": False, "json": json.dumps(original)}
        if CATALOGUE[product][0] == "subscription":
            purchase["ends"] = now + MONTH
        self.purchases[f"token-{number}"] = purchase
        if self.loses_answers:
            raise ConnectionError("no answer from the shop")
        return purchase

    def sign(self, text: str) -> str:
        return base64.b64encode(self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA1())).decode()

    def refund(self, token: str) -> None:
        self.purchases[token]["refunded"] = time.time_ns() // 1_000_000
        self.listener(self.purchases[token])


class Adapter:
    """Answers the requests of the service `store`, and passes on what the shop says by itself."""

    def __init__(self, client: kassa.Client | kassa.AsyncClient, shop: ToyShop) -> None:
        self._shop = shop
        methods = [self.products, self.purchase, self.finish, self.restore, self.owned, self.storefront]
        names = ["products", "purchase", "finish", "restore", "unfinished", "storefront"]
        for name, method in [*zip(names, methods), ("entitlements", self.owned), ("can_make_payments", self.can_pay)]:
            client.on_request(f"store/{name}")(method)
        shop.listener = lambda purchase: client.notify(
            {"type": "transaction_updated", "transaction": self.transaction(purchase)}
        )

    def products(self, request: kassa.Request) -> Json:
        known = [name for name in request.params["ids"] if name in CATALOGUE]
        return {"products": [self.product(name) for name in known]}

    def product(self, name: str) -> Json:
        kind, title, micros = CATALOGUE[name]
        price = {"amount_micros": micros, "currency": "EUR", "formatted": f"{micros / 1_000_000:.2f} €"}
        product: Json = {"id": name, "type": kind, "display_name": title, "price": price}
        if kind == "subscription":
            product["subscription"] = {"period": "P1M"}
        return product

    def purchase(self, request: kassa.Request) -> Json:
        order = request.params
        # Never something else than what was ordered.
        if order["quantity"] != 1 or order["offer"] == "id":
            return {"error": {"code": "unsupported", "message": "the shop sells one at a time, and has no offers"}}
        try:
            bought = self._shop.buy(order["product_id"], order["app_account_token"])
        except InterruptedError:
            return {"outcome": "cancelled"}
        except ConnectionError as error:
            return {"error": {"code": "offline", "message": str(error)}}
        return {"outcome": "purchased", "transaction": self.transaction(bought)}

    def finish(self, request: kassa.Request) -> Json:
        """A consumable is used up, all else acknowledged. Kassa asks for it once the purchase is safe."""
        token = request.params["purchase_token"]
        if request.params["type"] == "consumable":
            self._shop.purchases.pop(token, None)
        elif token in self._shop.purchases:
            self._shop.purchases[token]["done"] = True
        return {}

    def restore(self, _: kassa.Request) -> Json:
        return {"outcome": "completed"}

    def owned(self, _: kassa.Request) -> Json:
        """All there is; Kassa sorts out what is unfinished and what is owned."""
        return {"transactions": [self.transaction(purchase) for purchase in self._shop.purchases.values()]}

    def storefront(self, _: kassa.Request) -> Json:
        return {"storefront": {"country_code": "DE", "currency": "EUR"}}

    def can_pay(self, _: kassa.Request) -> Json:
        return {"can_make_payments": self._shop.wallet > 0}

    def transaction(self, purchase: Json) -> Json:
        """One purchase as Kassa reads it: Play's signed text, and what Play does not sign."""
        return {
            "store": "google",
            "type": CATALOGUE[purchase["product"]][0],
            "product_id": purchase["product"],
            "purchase_token": json.loads(purchase["json"])["purchaseToken"],
            "acknowledged": purchase["done"],
            "expires_at": purchase.get("ends"),
            "revoked_at": purchase.get("refunded"),
            "original_json": purchase["json"],
            "signature": self._shop.sign(purchase["json"]),
        }


def configure(client: kassa.Client, shop: ToyShop) -> None:
    mappings = [{"whop_id": "plan_monthly", "apple_id": "monthly"}]
    backend = {"kind": "whop", "company_id": "biz_sandbox", "api_key": "sandbox_key", "base_url": "embedded:"}
    store = {"kind": "host", "platform": "google", "bundle_id": PACKAGE, "google_public_key": shop.public_key}
    client.configure(backend={**backend, "plan_mappings": mappings}, store=store, checkout={"presenter": "simulated"})


def main() -> None:
    shop = ToyShop()
    with kassa.Client(storage=":memory:") as client:
        Adapter(client, shop)
        configure(client, shop)
        print(f"may pay: {client.store_call('can_make_payments')['can_make_payments']}")

        bought = client.purchase("plan_monthly", "store").raise_for_outcome()
        print(f"bought {bought.plan_id}, receipt {bought.receipt_id}; access: {client.has_access('prod_pro')}")

        news = client.events()
        shop.refund("token-1")
        next(event for event in news if isinstance(event, kassa.Changed))
        print(f"refunded; access: {client.has_access('prod_pro')}")

        shop.loses_answers = True
        try:
            client.purchase("plan_monthly", "store")
        except kassa.NetworkError as error:
            print(f"{error}; access: {client.has_access('prod_pro')}")
        shop.loses_answers = False
        print(f"restored: {client.restore_purchases().restored}; access: {client.has_access('prod_pro')}")


if __name__ == "__main__":
    main()
