"""Products, perks and people, through the real library: the sandbox's Voidhash half and a simulated App Store."""

from __future__ import annotations

import json
import random
import shutil
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import kassa
import pytest
import schemas
import signed_data
from support import ROOT, Sandbox, example

STOREKIT = ROOT / "examples" / "voidhash.storekit"
APP = "com.example.app"
MONTHLY, ANNUAL, LIFETIME, COINS = "pro_monthly", "pro_annual", "pro_lifetime", "coins_100"
SLUGS = [COINS, ANNUAL, LIFETIME, MONTHLY]
RECEIPTS = "/api/v1/sdk/sync-transaction"

Json = dict[str, Any]
Change = Callable[[Json], object]


def catalogue(change: Change) -> Json:
    """A project like the sandbox's own, changed."""
    apple: dict[str, Json] = {
        slug: {"appleAppStore": {"productId": f"{APP}.{slug.replace('_', '.')}"}} for slug in SLUGS
    }
    apple[MONTHLY]["appleAppStore"]["offers"] = [{"id": "welcome_back", "storeOfferId": f"{APP}.back"}]
    types = {COINS: "one-time-consumable", LIFETIME: "one-time"}
    products = {
        slug: {
            "id": f"prod_{slug}",
            "type": types.get(slug, "subscription"),
            "name": slug,
            "perks": [] if slug == COINS else ["premium"],
            "providers": apple[slug],
        }
        for slug in SLUGS
    }
    voidhash: Json = {
        "publishable_keys": ["vh_pk_sandbox"],
        "bundle_ids": {APP: ["app_store", "google_play"]},
        "perks": {"premium": {"name": "Premium"}},
        "products": products,
        "switches": {},
    }
    change(voidhash)
    return {"voidhash": voidhash}


def same(_: Json) -> None:
    """Changes nothing; unlike the sandbox's own catalogue it has no route for signed offers."""


def configuration(change: Change | None = None, store: Mapping[str, Any] | None = None, **keys: Any) -> Json:
    """The sandbox in this process, with its own catalogue or a changed one, and a store that sells its products."""
    backend: Json = {"kind": "voidhash", "publishable_key": "vh_pk_sandbox", "bundle_id": APP, "base_url": "embedded:"}
    if change is not None:
        backend["catalogue"] = catalogue(change)
    sells = {"kind": "simulated", "storekit_file": str(STOREKIT), "bundle_id": APP, **(store or {})}
    config = {"backend": backend, "store": sells, **keys}
    schemas.check("configuration", config)
    return config


@pytest.fixture
def client(thread: str, tmp_path: Path) -> Iterator[kassa.Client]:
    """Knows nothing yet, and keeps what it learns."""
    with kassa.Client(storage=tmp_path / "state", thread=thread) as opened:
        yield opened


@pytest.fixture
def shop(client: kassa.Client) -> kassa.Client:
    client.configure(configuration())
    return client


def wait(client: kassa.Client, found: Callable[[], Any], seconds: float = 10) -> None:
    """Lets the client work until it is so."""
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, "it never came to that"
        client.poll(0.02)


def all_now(events: kassa.Events) -> list[kassa.Document]:
    """What has come so far."""
    return list(iter(lambda: events.take(timeout=0.1), None))


def diagnostics(events: kassa.Events, code: str) -> list[kassa.Diagnostic]:
    return [event for event in all_now(events) if isinstance(event, kassa.Diagnostic) and event.code == code]


def next_update(events: kassa.Events) -> kassa.TransactionUpdated:
    end = time.monotonic() + 15
    while True:
        event = events.take(timeout=max(0, end - time.monotonic()))
        assert event is not None, "no transaction_updated"
        if isinstance(event, kassa.TransactionUpdated):
            return event


def in_store(client: kassa.Client, action: str, **keys: Any) -> Mapping[str, Any]:
    return client.simulate({"target": "store", "action": action, **keys})


def store_transactions(client: kassa.Client) -> list[Any]:
    found: list[Any] = in_store(client, "state")["transactions"]
    return found


def advance(client: kassa.Client, days: int) -> None:
    client.simulate({"action": "advance", "days": days})


def fault(client: kassa.Client, kind: str, route: str = "/", times: int = 100, **keys: Any) -> None:
    client.simulate({"action": "fault", "kind": kind, "route": route, "times": times, **keys})


def receipts(client: kassa.Client) -> dict[str, str]:
    """What the service has accepted: the transaction, and whose it is."""
    log = client.simulate({"action": "state"})["voidhash"]["receipts"]
    return {row["transaction_id"]: row["distinct_id"] for row in log}


def premium(client: kassa.Client, wanted: bool = True) -> None:
    wait(client, lambda: client.has_perk("premium") == wanted)


# Loading products


def test_all_products_are_sorted_by_slug(shop: kassa.Client) -> None:
    products = shop.get_products()
    assert [product.slug for product in products] == SLUGS
    assert [product.type for product in products] == ["consumable", "subscription", "non_consumable", "subscription"]
    coins, annual, lifetime, monthly = products
    assert (coins.price.amount, coins.price.currency, str(coins.price)) == (Decimal("0.99"), "USD", "$0.99")
    assert coins.subscription is None
    assert lifetime.store_product_id == "com.example.app.pro.lifetime"
    assert annual.subscription is not None
    assert annual.subscription.period == kassa.Period({}, "year", 1)
    # 49.99 / 365, / 52 and / 12, rounded once, a half away from zero.
    per = [annual.subscription.price_per_day, annual.subscription.price_per_week, annual.subscription.price_per_month]
    assert [price and price.amount for price in per] == [Decimal("0.14"), Decimal("0.96"), Decimal("4.17")]
    assert annual.subscription.price_per_year == annual.price
    assert monthly.subscription is not None
    assert monthly.sandbox


def test_named_products_come_in_that_order_and_none_for_what_is_not_sold(client: kassa.Client) -> None:
    def change(voidhash: Json) -> None:
        voidhash["products"][LIFETIME]["providers"]["appleAppStore"]["productId"] = "com.example.gone"
        voidhash["products"][COINS]["type"] = "one-time"
        voidhash["products"][ANNUAL]["providers"] = {}

    client.configure(configuration(change))
    events = client.events()
    found = client.get_products([MONTHLY, "nope", LIFETIME, COINS, ANNUAL, "nope", MONTHLY])
    assert [product and product.slug for product in found] == [MONTHLY, None, None, None, None, None, MONTHLY]

    seen = [event for event in all_now(events) if isinstance(event, kassa.Diagnostic)]
    assert [event.code for event in seen] == ["product_not_found", "product_type_mismatch"]
    assert seen[0].details["products"] == [
        {"slug": "nope", "reason": "unknown_product"},
        {"slug": LIFETIME, "reason": "not_sold"},
        {"slug": ANNUAL, "reason": "not_mapped"},
    ]
    assert seen[1].details["products"] == [{"slug": COINS, "reason": "one_time_sold_as_consumable"}]
    # Once a call: the next one says so again.
    assert client.get_products(["nope"]) == [None]
    assert len(diagnostics(events, "product_not_found")) == 1
    assert client.get_products([]) == []
    assert diagnostics(events, "product_not_found") == []


def test_slugs_are_a_list(shop: kassa.Client) -> None:
    with pytest.raises(kassa.InvalidArgumentError, match=r"\['pro_monthly'\]"):
        shop.get_products(MONTHLY)
    with pytest.raises(kassa.InvalidArgumentError):
        shop.get_products([MONTHLY, 1])  # type: ignore[list-item]


def test_s039_prices_of_products_are_exact(client: kassa.Client, tmp_path: Path) -> None:
    prices = {"com.example.app.pro.lifetime": "39.99", "com.example.app.coins.100": "114.99"}
    document = json.loads(STOREKIT.read_text())
    for product in document["products"]:
        product["displayPrice"] = prices[product["productID"]]
    monthly, annual = document["subscriptionGroups"][0]["subscriptions"]
    monthly["displayPrice"], annual["displayPrice"] = "0.30", "9800"
    file = tmp_path / "prices.storekit"
    file.write_text(json.dumps(document))
    client.configure(configuration(store={"storekit_file": str(file)}))
    found = {product.slug: product.price for product in client.get_products()}
    assert [found[slug].amount for slug in (LIFETIME, COINS, MONTHLY, ANNUAL)] == [
        Decimal("39.99"),
        Decimal("114.99"),
        Decimal("0.1") + Decimal("0.2"),
        Decimal("9800"),
    ]
    micros = [found[slug].amount_micros for slug in (LIFETIME, COINS, MONTHLY, ANNUAL)]
    assert micros == [39_990_000, 114_990_000, 300_000, 9_800_000_000]


@pytest.mark.parametrize(
    ("storefront", "text", "amount"), [("GBR", "£9.99", "9.99"), ("JPN", "¥10", "10"), ("DEU", "€9.99", "9.99")]
)
def test_s047_a_storefront_formats_by_its_currency(
    client: kassa.Client, storefront: str, text: str, amount: str
) -> None:
    client.configure(configuration(store={"storefront": storefront, "locale": "en-US"}))
    (monthly,) = client.get_products([MONTHLY])
    assert monthly is not None
    assert (str(monthly.price), monthly.price.amount) == (text, Decimal(amount))


def test_s054_an_introductory_offer_is_for_the_group_once(shop: kassa.Client) -> None:
    def intro() -> kassa.Offer | None:
        (monthly,) = shop.get_products([MONTHLY])
        assert monthly is not None
        assert monthly.subscription is not None
        return monthly.subscription.intro_offer

    offer = intro()
    assert offer is not None
    assert [(phase.payment_mode, phase.period) for phase in offer.phases] == [
        ("free_trial", kassa.Period({}, "week", 1)),
    ]
    # The annual plan has no trial of its own, but is of the same group.
    shop.purchase(ANNUAL).raise_for_outcome()
    assert intro() is None
    # Each call asks the store: the document of the first call is refused now, and nothing is bought at another price.
    with pytest.raises(kassa.StoreError) as caught:
        shop.purchase(MONTHLY, offer=offer)
    assert (caught.value.code, caught.value.reason) == ("offer_unavailable", "ineligible_for_offer")
    assert len(store_transactions(shop)) == 1


# Buying


def test_a_purchase_gives_the_perk(shop: kassa.Client) -> None:
    assert not shop.has_perk("premium")
    assert not shop.has_access(MONTHLY)
    before = shop.explain("premium")
    assert (before.answer, before.reason) == ("no", "no_source")

    bought = shop.purchase(MONTHLY).raise_for_outcome()
    assert (bought.method, bought.product_slug, bought.synced) == ("store", MONTHLY, True)
    assert (bought.plan_id, bought.membership) == (None, None)
    assert bought.transaction is not None
    assert (bought.transaction.id, bought.transaction.product_slug) == (bought.receipt_id, MONTHLY)
    assert bought.transaction.offer is not None
    assert bought.transaction.offer.kind == "introductory"

    premium(shop)
    (product,) = shop.get_products([MONTHLY])
    assert product is not None
    assert bought.transaction.product_id == product.product_id
    assert shop.has_access(MONTHLY)
    assert shop.has_access(product.product_id)
    assert not shop.has_access(COINS)
    assert shop.is_subscribed
    assert not shop.has_perk("premium ")
    assert not shop.has_access("premium-plus")

    (grant,) = shop.entitlements()
    assert (grant.source, grant.id, grant.perk, grant.granted_by) == ("grant", "premium", "premium", "subscription")
    assert (grant.active, grant.rule, grant.product_id) == (True, "fixed_end", None) or grant.rule == "service_grace"
    why = shop.explain("premium")
    assert (why.access, why.decided_by, why.considered) == (True, "premium", (grant,))
    person = shop.person()
    assert person is not None
    assert [(each.perk, each.active) for each in person.grants] == [("premium", True)]
    assert [(each.product_id, each.type) for each in person.purchases] == [(product.product_id, "subscription")]
    assert person.subscriptions.current is not None
    assert (person.from_, person.stale, person.expired) == ("network", False, False)

    assert shop.pending().pending_transaction_count == 0
    assert [each["finished"] for each in store_transactions(shop)] == [True]
    assert receipts(shop) == {bought.receipt_id: person.distinct_id}


def test_coins_are_bought_by_the_dozen_and_give_no_perk(shop: kassa.Client) -> None:
    bought = shop.purchase(COINS, quantity=3).raise_for_outcome()
    assert bought.transaction is not None
    assert (bought.transaction.quantity, bought.transaction.type, bought.synced) == (3, "consumable", True)
    shop.poll(0.2)
    assert not shop.has_access(COINS)
    assert not shop.is_subscribed
    person = shop.person()
    assert person is not None
    assert person.grants == ()
    with pytest.raises(kassa.InvalidArgumentError, match="no consumable"):
        shop.purchase(MONTHLY, quantity=2)
    with pytest.raises(kassa.InvalidArgumentError, match=r"options\.quantity"):
        shop.purchase(COINS, quantity=11)
    assert len(store_transactions(shop)) == 1


def test_s123_a_refunded_lifetime_ends(shop: kassa.Client) -> None:
    events = shop.events()
    bought = shop.purchase(LIFETIME).raise_for_outcome()
    assert bought.transaction is not None
    assert bought.transaction.expires_at is None
    premium(shop)
    (grant,) = shop.entitlements()
    assert (grant.ends_at, grant.rule) == (None, "lifetime")

    in_store(shop, "refund", transaction_id=bought.receipt_id)
    premium(shop, False)
    assert not shop.has_access(LIFETIME)
    (grant,) = shop.entitlements()
    assert (grant.active, grant.status, grant.rule) == (False, "expired", "status")
    # The refund has the purchase's own id; it is told by the person, not as a purchase.
    assert not [event for event in all_now(events) if isinstance(event, kassa.TransactionUpdated)]


def test_a_refund_in_the_period_ends_a_subscription(shop: kassa.Client) -> None:
    bought = shop.purchase(ANNUAL).raise_for_outcome()
    premium(shop)
    in_store(shop, "refund", transaction_id=bought.receipt_id)
    premium(shop, False)
    person = shop.person()
    assert person is not None
    assert [each.status for each in person.subscriptions.history] == ["canceled"]


def test_s058_an_approval_comes_a_week_later_after_a_restart(client: kassa.Client, thread: str, tmp_path: Path) -> None:
    client.configure(configuration(store={"sheet": "ask_to_buy"}))
    waiting = client.purchase(MONTHLY)
    assert (waiting.outcome, waiting.receipt_id, waiting.transaction, waiting.synced) == ("pending", None, None, None)
    with pytest.raises(kassa.PurchasePending, match=MONTHLY):
        waiting.raise_for_outcome()
    assert not client.has_perk("premium")
    client.close()
    with kassa.Client(storage=tmp_path / "state", thread=thread) as again:
        again.configure(configuration(store={"sheet": "ask_to_buy"}))
        events = again.events()
        advance(again, 7)
        assert not again.has_perk("premium")
        in_store(again, "approve")
        updated = next_update(events)
        assert (updated.transaction.product_slug, updated.synced) == (MONTHLY, True)
        premium(again)
        # Each transaction once.
        again.sync_purchases()
        assert not [event for event in all_now(events) if isinstance(event, kassa.TransactionUpdated)]


def test_s058_a_decline_owes_nothing(client: kassa.Client) -> None:
    client.configure(configuration())
    assert client.purchase(ANNUAL, simulate_ask_to_buy=True).outcome == "pending"
    in_store(client, "decline")
    assert store_transactions(client) == []
    assert client.pending().transactions == ()
    assert client.purchase(ANNUAL).purchased


def test_s061_each_way_to_cancel_is_cancelled(shop: kassa.Client) -> None:
    in_store(shop, "set_policy", policy="cancel")
    left = shop.purchase(MONTHLY)
    assert (left.outcome, left.product_slug, left.receipt_id, left.synced) == ("cancelled", MONTHLY, None, None)
    with pytest.raises(kassa.PurchaseCancelled):
        left.raise_for_outcome()
    in_store(shop, "set_policy", policy="host")
    asked = shop.events()
    started = shop.start.purchase(MONTHLY)
    wait(shop, lambda: isinstance(asked.take(timeout=0.1), kassa.Request))
    assert started.cancel()
    assert started.wait(timeout=10).outcome == "cancelled"
    assert store_transactions(shop) == []


def test_a_second_purchase_waits_for_the_first(shop: kassa.Client) -> None:
    in_store(shop, "set_policy", policy="host")
    asked = shop.events()
    first = shop.start.purchase(MONTHLY)
    sheet: kassa.Request | None = None
    while sheet is None:
        event = asked.take(timeout=10)
        sheet = event if isinstance(event, kassa.Request) else None
    with pytest.raises(kassa.PurchaseError) as caught:
        shop.purchase(COINS)
    assert caught.value.code == "purchase_in_progress"
    shop.respond(sheet.id, {"decision": "approve"})
    assert first.wait(timeout=15).purchased


def test_disabled_buys_nothing(client: kassa.Client) -> None:
    client.configure(configuration(enabled=False))
    ended = client.purchase(MONTHLY)
    assert (ended.outcome, ended.product_slug, ended.method) == ("disabled", MONTHLY, "store")
    with pytest.raises(kassa.PurchaseDisabled):
        ended.raise_for_outcome()
    assert client.get_products() == []
    assert store_transactions(client) == []


def test_what_is_not_sold_is_not_bought(shop: kassa.Client) -> None:
    with pytest.raises(kassa.StoreError, match="nope") as caught:
        shop.purchase("nope")
    assert (caught.value.code, caught.value.reason) == ("product_not_found", "unknown_product")


# Offers


def lapsed(client: kassa.Client) -> None:
    """A subscription that has ended: who comes back may have a promotional offer."""
    client.purchase(MONTHLY).raise_for_outcome()
    in_store(client, "cancel_subscription")
    advance(client, 60)


def offer_of(client: kassa.Client) -> kassa.Offer:
    (monthly,) = client.get_products([MONTHLY])
    assert monthly is not None
    (offer,) = monthly.offers
    return offer


def test_a_promotional_offer_is_signed_by_the_service(shop: kassa.Client) -> None:
    lapsed(shop)
    offer = offer_of(shop)
    assert (offer.id, offer.kind, offer.store_offer_id) == ("welcome_back", "promotional", "com.example.app.back")
    (phase,) = offer.phases
    assert (phase.payment_mode, str(phase.price), phase.cycles) == ("pay_as_you_go", "$4.99", 3)
    bought = shop.purchase(MONTHLY, offer=offer).raise_for_outcome()
    assert bought.transaction is not None
    assert bought.transaction.offer is not None
    assert (bought.transaction.offer.kind, bought.transaction.offer.id) == ("promotional", "com.example.app.back")
    assert shop.simulate({"action": "state"})["voidhash"]["requests"]["POST /api/v1/sdk/sign-offer"] == 1


def test_without_a_route_the_host_signs(client: kassa.Client) -> None:
    client.configure(configuration(same))
    asked: list[Mapping[str, Any]] = []

    @client.on_request("offers/sign")
    def sign(request: kassa.Request) -> Json:
        asked.append(request.params)
        return {"key_id": "KEY", "nonce": "5b0f1f6e", "timestamp": 1_793_000_000_000, "signature": "MEUCIQ=="}

    lapsed(client)
    bought = client.purchase(MONTHLY, offer={"id": "welcome_back"}).raise_for_outcome()
    assert bought.transaction is not None
    assert bought.transaction.offer is not None
    assert bought.transaction.offer.id == "com.example.app.back"
    (params,) = asked
    assert (params["product_slug"], params["offer_id"]) == (MONTHLY, "com.example.app.back")
    assert params["store_product_id"] == "com.example.app.pro.monthly"


def test_an_offer_that_nobody_signs_buys_nothing(client: kassa.Client) -> None:
    client.configure(configuration(same))
    lapsed(client)

    @client.on_request("offers/sign")
    def refuse(_: kassa.Request) -> Json:
        raise RuntimeError("the vault is shut")

    with pytest.raises(kassa.StoreError, match="the vault is shut") as caught:
        client.purchase(MONTHLY, offer={"id": "welcome_back"})
    assert (caught.value.code, caught.value.reason) == ("offer_unavailable", "not_signed")
    assert len(store_transactions(client)) == 1


def test_an_offer_that_is_not_there_buys_nothing(shop: kassa.Client) -> None:
    with pytest.raises(kassa.StoreError) as caught:
        shop.purchase(MONTHLY, offer={"id": "nope"})
    assert (caught.value.code, caught.value.reason) == ("offer_unavailable", "unknown_offer")
    # Who never subscribed may not have it.
    with pytest.raises(kassa.StoreError) as caught:
        shop.purchase(MONTHLY, offer={"id": "welcome_back"})
    assert (caught.value.code, caught.value.reason) == ("offer_unavailable", "ineligible_for_offer")
    assert store_transactions(shop) == []


# People


def test_a_guest_becomes_the_user_with_attributes(shop: kassa.Client) -> None:
    shop.purchase(MONTHLY).raise_for_outcome()
    premium(shop)
    guest = shop.person()
    assert guest is not None
    assert guest.distinct_id.startswith("vh:anon:")

    events = shop.events()
    login = shop.log_in("user-1", {"email": "ada@example.com", "name": "Ada", "level": 3, "beta": True, "team": None})
    assert (login.app_user_id, login.deferred, login.claimed) == ("user-1", False, ())
    assert login.person is not None
    assert (login.person.distinct_id, login.person.email, login.person.name) == ("user-1", "ada@example.com", "Ada")
    assert shop.app_user_id == "user-1"
    assert shop.has_perk("premium")
    changed = {(event.what, event.cause) for event in all_now(events) if isinstance(event, kassa.Changed)}
    assert ("identity", "login") in changed
    assert ("person", "login") in changed

    shop.log_out()
    assert shop.app_user_id is None
    assert not shop.has_perk("premium")
    assert not shop.has_access(MONTHLY)
    shop.log_in("user-2")
    assert not shop.has_perk("premium")
    shop.log_in("user-1")
    premium(shop)


@pytest.mark.parametrize("wrong", [{"level": [1]}, {"email": {"a": 1}}])
def test_attributes_are_plain_values(shop: kassa.Client, wrong: Json) -> None:
    with pytest.raises(kassa.InvalidArgumentError, match=next(iter(wrong))):
        shop.log_in("user-1", wrong)
    assert shop.app_user_id is None
    with pytest.raises(kassa.InvalidArgumentError, match=next(iter(wrong))):
        shop.set_attributes(wrong)


def test_attributes_are_written(shop: kassa.Client) -> None:
    shop.log_in("user-1")
    first = shop.set_attributes({"name": "Ada", "level": 1}, set_once={"source": "ad", "level": 9})
    assert first.deferred is False
    assert first.person is not None
    assert first.person.name == "Ada"
    shop.set_attributes({"level": 2}, set_once={"source": "friend"})
    persons = shop.simulate({"action": "state"})["voidhash"]["persons"]
    (ada,) = [person for person in persons if "user-1" in person["distinct_ids"]]
    assert (ada["traits"]["level"], ada["traits_once"]["source"]) == (2, "ad")


def test_attributes_wait_for_the_network(shop: kassa.Client) -> None:
    shop.log_in("user-1")
    fault(shop, "reset")
    written = shop.set_attributes({"name": "Ada"})
    assert written.deferred
    assert [(write.kind, write.distinct_id) for write in shop.pending().writes] == [("attributes", "user-1")]
    shop.simulate({"action": "clear_faults"})
    worked = shop.sync_pending_work()
    assert (worked.completed, worked.pending_transaction_count) == (True, 0)
    assert shop.pending().writes == ()
    person = shop.person()
    assert person is not None
    assert person.name == "Ada"


def test_a_login_without_the_network_stands(shop: kassa.Client) -> None:
    fault(shop, "status", status=503)
    login = shop.log_in("user-1")
    assert (login.deferred, login.person, shop.app_user_id) == (True, None, "user-1")
    assert [(write.kind, write.distinct_id) for write in shop.pending().writes] == [("identify", "user-1")]
    shop.simulate({"action": "clear_faults"})
    # The breaker holds back what comes next; the network's return lets it try at once.
    assert shop.notify({"type": "online"})
    wait(shop, lambda: shop.pending().writes == ())
    wait(shop, shop.person)
    person = shop.person()
    assert person is not None
    assert person.distinct_id == "user-1"


def test_has_perk_after_a_restart(shop: kassa.Client, thread: str, tmp_path: Path) -> None:
    shop.log_in("user-1")
    shop.purchase(LIFETIME).raise_for_outcome()
    premium(shop)
    shop.close()
    with kassa.Client(storage=tmp_path / "state", thread=thread) as again:
        assert again.person() is None
        operation = again.start.configure(configuration())
        # What was saved answers at once, whatever the network will say.
        assert again.has_perk("premium")
        person = again.person()
        assert person is not None
        assert person.distinct_id == "user-1"
        operation.wait(timeout=15)
        assert again.has_perk("premium")


def test_a_server_learns_what_the_simulated_store_sold_and_without_it_access_stays(
    client: kassa.Client, thread: str, tmp_path: Path, sandbox: Sandbox
) -> None:
    config = configuration()
    config["backend"]["base_url"] = sandbox.base_url
    client.configure(config)
    bought = client.purchase(MONTHLY).raise_for_outcome()
    assert bought.synced
    premium(client)
    sandbox.stop()
    assert client.has_perk("premium")
    client.close()
    with kassa.Client(storage=tmp_path / "state", thread=thread) as again:
        assert again.configure(config) == "cache"
        assert again.has_perk("premium")
        person = again.person()
        assert person is not None
        assert person.from_ == "cache"
        assert again.explain("premium").access


def test_a_grace_period_keeps_the_perk(shop: kassa.Client) -> None:
    in_store(shop, "fail_billing", grace=True)
    shop.purchase(ANNUAL).raise_for_outcome()
    premium(shop)

    def status_after(days: int) -> tuple[bool, str]:
        """By the service's own word, after some days."""
        advance(shop, days)
        shop.sync_purchases()
        person = shop.person()
        assert person is not None
        (grant,) = person.grants
        return shop.has_perk("premium"), grant.status

    assert status_after(364) == (True, "active")
    # The year is over, the renewal is not paid, and 16 days are given.
    assert status_after(5) == (True, "active")
    (grant,) = shop.entitlements()
    assert grant.rule == "service_grace"
    assert status_after(15) == (False, "expired")
    # The payment succeeds after all.
    in_store(shop, "recover_billing")
    premium(shop)


def test_a_renewal_within_the_grace_period_ends_it(shop: kassa.Client) -> None:
    in_store(shop, "fail_billing", grace=True)
    shop.purchase(ANNUAL).raise_for_outcome()
    premium(shop)
    advance(shop, 370)
    in_store(shop, "recover_billing")
    wait(shop, lambda: len(receipts(shop)) == 2)
    advance(shop, 300)
    shop.sync_purchases()
    assert shop.has_perk("premium")


# Receipts that wait


def test_a_receipt_waits_until_the_service_takes_it(shop: kassa.Client) -> None:
    shop.log_in("user-1")
    events = shop.events()
    fault(shop, "status", RECEIPTS, times=1, status=503)
    bought = shop.purchase(MONTHLY).raise_for_outcome()
    # The second try, a second later, is in time.
    assert bought.synced
    (deferred,) = diagnostics(events, "transaction_sync_deferred")
    assert deferred.details["transaction_id"] == bought.receipt_id
    assert (deferred.details["status"], deferred.details["attempts"]) == (503, 1)
    premium(shop)


def test_a_purchase_is_purchased_while_its_receipt_waits(tmp_path: Path) -> None:
    with kassa.Client(storage=tmp_path / "state") as client:
        client.configure(configuration())
        client.log_in("user-1")
        fault(client, "reset", RECEIPTS)
        bought = client.purchase(MONTHLY).raise_for_outcome()
        assert bought.synced is False
        waiting = client.pending()
        assert waiting.pending_transaction_count == 1
        (receipt,) = waiting.transactions
        assert (receipt.transaction_id, receipt.product_slug) == (bought.receipt_id, MONTHLY)
        assert (receipt.distinct_id, receipt.refused_at) == ("user-1", None)
        assert receipt.attempts > 0
        assert (receipt.is_restore, receipt.is_host_owned) == (False, False)
        # The store keeps it until the service has it; and whoever asks then, it stays its owner's.
        assert [each["finished"] for each in store_transactions(client)] == [False]
        client.log_out()
        assert client.pending().transactions[0].distinct_id == "user-1"
    with kassa.Client(storage=tmp_path / "state") as again:
        before = again.pending()
        assert [each.transaction_id for each in before.transactions] == [bought.receipt_id]
        again.configure(configuration())
        wait(again, lambda: receipts(again) == {bought.receipt_id: "user-1"})
        wait(again, lambda: all(each["finished"] for each in store_transactions(again)))
        assert again.pending().pending_transaction_count == 0
        assert not again.has_perk("premium")


def test_what_is_refused_for_good_stays(shop: kassa.Client, thread: str, tmp_path: Path) -> None:
    events = shop.events()
    body = json.dumps({"_tag": "Api/SdkTransactionNotFoundError", "message": "no such transaction"})
    fault(shop, "body", RECEIPTS, status=422, body=body)
    shop.start.purchase(COINS)
    wait(shop, lambda: shop.pending().transactions and shop.pending().transactions[0].refused_at)
    (receipt,) = shop.pending().transactions
    assert receipt.refused_at is not None
    assert receipt.next_try_at - receipt.refused_at == timedelta(hours=6)
    (rejected,) = diagnostics(events, "transaction_rejected")
    assert (rejected.details["transaction_id"], rejected.details["status"]) == (receipt.transaction_id, 422)
    shop.simulate({"action": "clear_faults"})
    # It has its own time, whoever asks for what waits; but each start offers it again.
    worked = shop.sync_pending_work()
    assert (worked.completed, worked.pending_transaction_count) == (False, 1)
    shop.close()
    with kassa.Client(storage=tmp_path / "state", thread=thread) as again:
        again.configure(configuration())
        wait(again, lambda: again.pending().pending_transaction_count == 0)
        assert list(receipts(again)) == [receipt.transaction_id]


# Restoring and synchronising


def test_a_restore_moves_access_and_a_login_does_not(shop: kassa.Client) -> None:
    shop.log_in("user-1")
    bought = shop.purchase(MONTHLY).raise_for_outcome()
    premium(shop)
    shop.log_in("user-2")
    shop.sync_purchases()
    assert not shop.has_perk("premium")
    restored = shop.restore_purchases()
    assert (restored.outcome, restored.restored) == ("completed", True)
    assert restored.person is not None
    assert restored.person.distinct_id == "user-2"
    assert [grant.active for grant in restored.person.grants] == [True]
    assert shop.has_perk("premium")
    assert bought.receipt_id in receipts(shop)


def test_a_restore_does_not_mean_access(shop: kassa.Client) -> None:
    shop.purchase(COINS).raise_for_outcome()
    nothing = shop.restore_purchases()
    assert (nothing.outcome, nothing.restored) == ("completed", False)
    assert nothing.person is not None
    assert not shop.has_perk("premium")


def test_another_device_restores(shop: kassa.Client, thread: str, tmp_path: Path) -> None:
    shop.purchase(LIFETIME).raise_for_outcome()
    shop.close()
    second = tmp_path / "second"
    second.mkdir(mode=0o700)
    for file in [*(tmp_path / "state").glob("store.db*"), *(tmp_path / "state").glob("sandbox.db*")]:
        shutil.copy(file, second)
    with kassa.Client(storage=second, thread=thread) as other:
        other.configure(configuration())
        assert other.restore_purchases().restored
        assert other.has_perk("premium")


def test_sync_purchases_reports_what_was_bought_elsewhere(shop: kassa.Client) -> None:
    fault(shop, "status", RECEIPTS, times=1, status=500)
    in_store(shop, "buy_elsewhere", product_id="com.example.app.pro.annual")
    synced = shop.sync_purchases()
    assert (synced.synced, synced.pending_transaction_count) == (True, 0)
    assert synced.person is not None
    assert [grant.perk for grant in synced.person.grants] == ["premium"]
    assert shop.has_perk("premium")


# Reports and observer mode


def sell(client: kassa.Client, number: str, product: str = "com.example.app.pro.monthly") -> str:
    """The host's own billing sells: the sandbox hears of it as from Apple's servers."""
    now = time.time_ns() // 1_000_000
    transaction = {
        "store": "apple",
        "id": number,
        "original_id": number,
        "store_product_id": product,
        "type": "subscription",
        "purchased_at": now,
        "expires_at": now + 30 * 86_400_000,
        "proof": number,
    }
    client.simulate({"action": "register_store_transaction", "transaction": transaction})
    return number


@pytest.fixture
def observer(client: kassa.Client) -> kassa.Client:
    client.configure(configuration(observer_mode=True))
    client.log_in("user-1")
    return client


# More than a double holds, and more than 64 bits.
@pytest.mark.parametrize("number", ["2000000123456789", "18446744073709551615"])
def test_a_report_keeps_every_digit(observer: kassa.Client, number: str) -> None:
    assert observer.report_transaction(sell(observer, number)).transaction_id == number
    wait(observer, lambda: receipts(observer) == {number: "user-1"})
    premium(observer)
    # Reported again, it is not sent again.
    observer.report_transaction({"id": number})
    observer.sync_pending_work()
    (log,) = observer.simulate({"action": "state"})["voidhash"]["receipts"]
    assert log["deliveries"] == 1
    # But a restore is.
    observer.report_transaction({"id": number, "is_restore": True})
    observer.sync_pending_work()
    (log,) = observer.simulate({"action": "state"})["voidhash"]["receipts"]
    assert log["deliveries"] == 2


def test_a_report_is_on_disk_before_it_is_sent(observer: kassa.Client, thread: str, tmp_path: Path) -> None:
    fault(observer, "reset", RECEIPTS)
    observer.report_transaction(sell(observer, "2000000123456789"))
    (receipt,) = observer.pending().transactions
    assert (receipt.transaction_id, receipt.is_host_owned, receipt.store) == ("2000000123456789", True, "apple")
    observer.close()
    with kassa.Client(storage=tmp_path / "state", thread=thread) as again:
        again.configure(configuration(observer_mode=True))
        wait(again, lambda: receipts(again) == {"2000000123456789": "user-1"})


@pytest.mark.parametrize(
    ("transaction", "code"),
    [
        ("", "invalid_transaction"),
        (" \t", "invalid_transaction"),
        ({"id": "  "}, "invalid_transaction"),
        ({}, "invalid_transaction"),
        ({"id": 2_000_000_123_456_789}, "invalid_argument"),
        (2_000_000_123_456_789, "invalid_argument"),
        ("a.b.c", "storekit_transaction_unverified"),
    ],
)
def test_wrong_reports_are_refused(observer: kassa.Client, transaction: Any, code: str) -> None:
    with pytest.raises(kassa.KassaError) as caught:
        observer.report_transaction(transaction)
    assert caught.value.code == code
    assert observer.pending().transactions == ()


def test_a_signed_text_is_reported(client: kassa.Client) -> None:
    chain = signed_data.Chain()
    payload = signed_data.transaction(random.Random(1), "Sandbox", productId="com.example.app.pro.monthly")
    payload["type"] = "Auto-Renewable Subscription"
    store = {
        "kind": "host",
        "platform": "apple",
        "bundle_id": signed_data.APP,
        "environments": ["sandbox"],
        "roots": [b64encode(chain.root_der).decode()],
    }
    config = configuration(observer_mode=True)
    config["store"] = store

    @client.on_request("store/unfinished")
    @client.on_request("store/entitlements")
    def nothing(_: kassa.Request) -> Json:
        return {"transactions": []}

    @client.on_request("store/storefront")
    def nowhere(_: kassa.Request) -> Json:
        return {"storefront": None}

    client.configure(config)
    sell(client, payload["transactionId"])
    signed = chain.sign(payload)
    for transaction in (signed, {"jws": signed}):
        assert client.report_transaction(transaction).transaction_id == payload["transactionId"]
    wait(client, lambda: list(receipts(client)) == [payload["transactionId"]])
    stranger = signed_data.Chain().sign(payload)
    with pytest.raises(kassa.StoreError) as caught:
        client.report_transaction(stranger)
    assert (caught.value.code, caught.value.reason) == ("storekit_transaction_unverified", "untrusted_root")


def test_in_observer_mode_the_host_sells_and_finishes(observer: kassa.Client) -> None:
    events = observer.events()
    for forbidden in (lambda: observer.purchase(MONTHLY), observer.restore_purchases):
        with pytest.raises(kassa.StoreError, match="observer_mode") as caught:
            forbidden()
        assert caught.value.code == "read_only_purchase_not_allowed"
    # The host's code buys in the same store: it is reported, and stays the host's to finish.
    in_store(observer, "buy_elsewhere", product_id="com.example.app.pro.annual")
    premium(observer)
    observer.poll(0.3)
    assert [each["finished"] for each in store_transactions(observer)] == [False]
    # What the user starts in the store is only told of.
    in_store(observer, "intent", product_id="com.example.app.coins.100")
    intents = [event for event in all_now(events) if isinstance(event, kassa.PurchaseIntent)]
    assert [(intent.name, intent.options["method"]) for intent in intents] == [(COINS, "store")]
    assert len(store_transactions(observer)) == 1


def test_what_the_user_starts_in_the_store(client: kassa.Client) -> None:
    client.configure(configuration(purchase_intents="manual"))
    events = client.events()
    in_store(client, "intent", product_id="com.example.app.pro.monthly")
    end = time.monotonic() + 10
    intent = None
    while not isinstance(intent, kassa.PurchaseIntent):
        assert time.monotonic() < end
        intent = events.take(timeout=10)
    assert (intent.product_slug, intent.plan_id) == (MONTHLY, None)
    assert client.purchase(intent.name, **intent.options).purchased
    client.configure(configuration())
    in_store(client, "intent", product_id="com.example.app.coins.100")
    assert next_update(events).transaction.product_slug == COINS


# Google Play, and the other back end


def google_play(client: kassa.Client, **backend: str) -> tuple[Any, Json]:
    """A toy Google Play that has one product, and the configuration with which it is sold."""
    host_store = example("host_store")

    def change(voidhash: Json) -> None:
        voidhash["products"] = {
            "monthly": {
                "id": "prod_monthly",
                "type": "subscription",
                "name": "Monthly",
                "perks": ["premium"],
                "providers": {"googlePlay": {"productId": "monthly"}},
            }
        }

    toys = host_store.ToyShop()
    host_store.Adapter(client, toys)
    config = configuration(change, debug=True)
    config["backend"] |= {"sdk": "android", **backend}
    config["store"] = {
        "kind": "host",
        "platform": "google",
        "bundle_id": host_store.PACKAGE,
        "google_public_key": toys.public_key,
    }
    return toys, config


def test_google_play_sells_too(client: kassa.Client) -> None:
    toys, config = google_play(client)
    client.configure(config)
    now = time.time_ns() // 1_000_000
    transaction = {
        "store": "google",
        "id": "GPA.1",
        "original_id": "GPA.1",
        "store_product_id": "monthly",
        "type": "subscription",
        "purchased_at": now,
        "expires_at": now + 30 * 86_400_000,
        "proof": "token-1",
    }
    client.simulate({"action": "register_store_transaction", "transaction": transaction})
    bought = client.purchase("monthly").raise_for_outcome()
    assert (bought.receipt_id, bought.synced) == ("GPA.1", True)
    premium(client)
    wait(client, lambda: toys.purchases["token-1"]["done"])
    with pytest.raises(kassa.StoreError, match="purchase_token") as caught:
        client.report_transaction("GPA.2")
    assert caught.value.code == "invalid_transaction"


def test_what_was_really_charged_is_no_development_purchase(client: kassa.Client) -> None:
    toys, config = google_play(client, environment="development")
    client.configure(config)
    events = client.events()
    bought = client.purchase("monthly").raise_for_outcome()
    assert (bought.receipt_id, bought.synced) == ("GPA.1", False)
    client.sync_purchases()
    (skipped,) = diagnostics(events, "production_transaction_skipped")
    assert skipped.details == {"transaction_id": "GPA.1"}
    assert receipts(client) == {}
    assert not toys.purchases["token-1"]["done"]
    assert client.pending().pending_transaction_count == 0


def test_an_android_program_without_a_store_reports_sales_of_google_play(client: kassa.Client) -> None:
    _, config = google_play(client)
    config["store"] = {"kind": "none"}
    client.configure(config)
    with pytest.raises(kassa.StoreError, match="purchase_token") as caught:
        client.report_transaction("GPA.2")
    assert caught.value.code == "invalid_transaction"


def test_the_other_back_end_has_no_people(client: kassa.Client) -> None:
    from support import configuration as whop

    client.configure(whop())
    assert client.person() is None
    assert not client.has_perk("premium")
    operations: list[Callable[[], object]] = [
        client.get_products,
        client.sync_purchases,
        lambda: client.set_attributes({"level": 1}),
        lambda: client.report_transaction("1"),
    ]
    for operation in operations:
        with pytest.raises(kassa.ConfigurationError, match="whop"):
            operation()
    assert client.sync_pending_work().completed


def test_before_configure(client: kassa.Client) -> None:
    assert client.person() is None
    assert client.pending().pending_transaction_count == 0
    for operation in (client.get_products, client.sync_purchases, client.sync_pending_work):
        with pytest.raises(kassa.NotConfiguredError):
            operation()


async def shop_in_asyncio(storage: Path) -> None:
    async with kassa.AsyncClient(storage=storage) as client:
        await client.configure(configuration())
        assert [product.slug for product in await client.get_products()] == SLUGS
        assert [product and product.slug for product in await client.get_products(["nope", COINS])] == [None, COINS]
        assert (await client.log_in("user-1", {"name": "Ada"})).person is not None
        assert not (await client.set_attributes({"level": 1}, set_once={"source": "ad"})).deferred
        events = client.events()
        assert (await client.purchase(LIFETIME)).synced
        while not client.has_perk("premium"):
            await events.__anext__()
        assert (await client.sync_purchases()).synced
        assert (await client.sync_pending_work()).completed
        assert (await client.restore_purchases()).restored
        with pytest.raises(kassa.StoreError):
            await client.report_transaction("")


def test_asyncio(tmp_path: Path) -> None:
    import asyncio

    asyncio.run(asyncio.wait_for(shop_in_asyncio(tmp_path / "state"), 60))


def test_operations_are_started_without_waiting(shop: kassa.Client) -> None:
    products, named = shop.start.get_products(), shop.start.get_products([COINS])
    attributes = shop.start.set_attributes({"level": 1})
    assert [product.slug for product in products.wait(10)] == SLUGS
    assert [product and product.slug for product in named.wait(10)] == [COINS]
    assert not attributes.wait(10).deferred
    assert shop.start.sync_purchases().wait(15).synced
    assert shop.start.sync_pending_work().wait(10).completed
    with pytest.raises(kassa.StoreError):
        shop.start.report_transaction("").wait(10)
