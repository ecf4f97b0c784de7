"""A complete paywall in the terminal: plans with prices, buying, access, log-in, log-out and restore.

python paywall.py                                        the sandbox in this process: nothing to set up
python paywall.py --company-id biz_x --api-key KEY       the real service; buys in the browser
python paywall.py ... --base-url https://sandbox-api.whop.com
python paywall.py --store ../products.storekit --region DE
                                                         sells in a simulated App Store, from a StoreKit file of Xcode

Each plan is sold by the file's first product of the same period, a plan that is paid once by the first non-consumable;
`--map plan_x=com.example.app.x`, once for each plan, says it by hand. Outside the US purchases go to the store.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import kassa

PERIODS = {"P1W": "weekly", "P1M": "monthly", "P3M": "quarterly", "P6M": "semi_annual", "P1Y": "yearly"}


def prices(plan: kassa.Plan) -> str:
    """Whop's price, and beside it the store's, where it sells the plan."""
    store = f" / {plan.apple_display_price} in the store" if plan.apple_display_price else ""
    return plan.whop_display_price + store


def mapping(text: str) -> tuple[str, str]:
    """The value of `--map`."""
    plan, equals, product = text.partition("=")
    if not (plan and equals and product):
        raise argparse.ArgumentTypeError(f"must be PLAN=PRODUCT (got {text!r})")
    return plan, product


def mappings(plans: list[kassa.Plan], storekit: Path) -> dict[str, str]:
    """Which product of a StoreKit file sells which plan, by the period. The library has read the file before."""
    file: dict[str, Any] = json.loads(storekit.read_text("utf-8-sig"))
    products: dict[str | None, str] = {}
    for group in file.get("subscriptionGroups", []):
        for product in group["subscriptions"]:
            products.setdefault(PERIODS.get(product["recurringSubscriptionPeriod"], ""), product["productID"])
    for product in file.get("products", []):
        if product["type"] == "NonConsumable":
            products.setdefault(None, product["productID"])
    found: dict[str, str] = {}
    for plan in plans:
        product_id = products.get(plan.renewal_period.kind if plan.renewal_period else None)
        # A product of the store sells one plan only.
        if product_id and product_id not in found.values():
            found[plan.id] = product_id
    return found


def show(client: kassa.Client) -> None:
    print(
        f"\n{client.app_user_id or 'Guest'}.", "Subscribed - thank you!" if client.is_subscribed else "Not subscribed."
    )
    for membership in client.memberships():
        print(f"  you have {membership.product_id} ({membership.status})")
    for number, plan in enumerate(client.plans(), 1):
        unlocked = "unlocked" if plan.product_id and client.has_access(plan.product_id) else ""
        print(f"  {number:2}  {plan.title or plan.id:20} {prices(plan):>12}  {unlocked}".rstrip())
    print("A number buys; login NAME, logout, restore, quit.")


def buy(client: kassa.Client, number: int) -> None:
    plan = dict(enumerate(client.plans(), 1)).get(number)
    if plan is None:
        print("There is no such plan.")
        return
    try:
        result = client.purchase(plan.id).raise_for_outcome()
    except kassa.PurchasePending:
        print("Access comes when the payment settles.")
    except kassa.PurchaseNotCompleted:
        print("Nothing was bought.")
    else:
        print(f"Bought with {result.method}. Receipt: {result.receipt_id}")


def obey(client: kassa.Client, command: str) -> None:
    word, _, argument = command.partition(" ")
    if word == "login":
        client.log_in(argument)
    elif word == "logout":
        client.log_out()
    elif word == "restore":
        print("Restored." if client.restore_purchases().restored else "Nothing to restore.")
    elif word.isdigit():
        buy(client, int(word))
    else:
        print("What?")


def configure(client: kassa.Client, options: argparse.Namespace, *, embedded: bool) -> None:
    backend: dict[str, Any] = {"kind": "whop", "company_id": options.company_id, "api_key": options.api_key}
    if embedded:
        backend["base_url"] = "embedded:"
    elif options.base_url:
        backend["base_url"] = options.base_url
    config: dict[str, Any] = {"checkout": {"presenter": "simulated" if embedded else "browser"}}
    if options.region:
        config["region"] = options.region
    if options.store:
        config["store"] = {"kind": "simulated", "storekit_file": str(options.store)}
        if options.region:
            config["store"]["storefront"] = options.region
    client.configure(config, backend=backend)
    if options.store:
        # What the store sells is said in terms of the plans, which are known now.
        named = dict(options.map) or mappings(client.plans(), options.store)
        backend["plan_mappings"] = [{"whop_id": plan, "apple_id": product} for plan, product in named.items()]
        client.configure(config, backend=backend)


def main() -> None:
    parser = argparse.ArgumentParser(description="A paywall in the terminal.")
    parser.add_argument("--base-url", help="the service; without any option, the sandbox in this process")
    parser.add_argument("--company-id", default="biz_sandbox")
    parser.add_argument("--api-key", default="sandbox_key")
    parser.add_argument("--store", type=Path, metavar="FILE", help="sell in a simulated App Store, from this .storekit")
    parser.add_argument(
        "--map", action="append", default=[], type=mapping, metavar="PLAN=PRODUCT", help="with --store; repeatable"
    )
    parser.add_argument("--region", metavar="COUNTRY", help="where the buyer is, two letters")
    options = parser.parse_args()
    embedded = options.base_url is None and options.company_id == "biz_sandbox"

    # What the sandbox in this process sells ends with the process, so the client remembers nothing of it either.
    with kassa.Client("kassa.example.paywall", storage=":memory:" if embedded else None) as client:
        try:
            configure(client, options, embedded=embedded)
        except kassa.KassaError as error:
            print(f"paywall.py: {error}", file=sys.stderr)
            raise SystemExit(2) from None
        while True:
            show(client)
            try:
                command = input("> ").strip()
            except EOFError:
                break
            if command == "quit":
                break
            try:
                obey(client, command)
            except kassa.KassaError as error:
                print(f"Sorry: {error}")


if __name__ == "__main__":
    main()
