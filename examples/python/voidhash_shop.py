"""A shop with perks in the terminal: products with their price a month, offers, buying, log-in, restore.

    python voidhash_shop.py

It sells from the sandbox in the process and a simulated App Store: nothing to set up, no network, nothing is charged.
A number buys, a number and an offer's id (`2 welcome_back`) buy with that offer; `login NAME`, `logout`, `restore`,
`refund` (what only a simulated store can do), `quit`.
"""

from __future__ import annotations

from pathlib import Path

import kassa

PERK = "premium"
STOREKIT = Path(__file__).resolve().parent.parent / "voidhash.storekit"


def configuration() -> dict[str, object]:
    """The sandbox's own Voidhash project, and a store that sells its products."""
    return {
        "backend": {
            "kind": "voidhash",
            "publishable_key": "vh_pk_sandbox",
            "bundle_id": "com.example.app",
            "base_url": "embedded:",
        },
        "store": {"kind": "simulated", "storekit_file": str(STOREKIT)},
    }


def length_of(count: int, unit: str) -> str:
    return f"{count} {unit}" + ("" if count == 1 else "s")


def price_of(product: kassa.Product) -> str:
    """The price, and of a subscription what it comes to a month."""
    if product.subscription is None:
        return str(product.price)
    period = product.subscription.period
    every = "a " + period.unit if period.count == 1 else "for " + length_of(period.count, period.unit)
    monthly = product.subscription.price_per_month
    return f"{product.price} {every}" + (f", {monthly} a month" if monthly and period.unit != "month" else "")


def offers_of(product: kassa.Product) -> list[str]:
    """What this user may have besides: the offer's id and its first phase."""
    intro = product.subscription and product.subscription.intro_offer
    offers = [*([intro] if intro else []), *product.offers]
    lines = []
    for offer in offers:
        phase = offer.phases[0]
        length = length_of(phase.period.count * phase.cycles, phase.period.unit)
        price = "free" if phase.payment_mode == "free_trial" else str(phase.price)
        lines.append(f"{offer.id or 'for new subscribers'}: {price} for {length}")
    return lines


def show(client: kassa.Client, products: list[kassa.Product]) -> None:
    print(f"\n{client.app_user_id or 'Guest'}. {'Premium!' if client.has_perk(PERK) else 'No premium.'}")
    person = client.person()
    for grant in person.grants if person else ():
        print(f"  {grant.perk}: {grant.status}, by {grant.source}")
    for number, product in enumerate(products, 1):
        print(f"  {number}  {product.slug:14} {product.display_name:14} {price_of(product)}")
        for line in offers_of(product):
            print(f"       {line}")


def buy(client: kassa.Client, product: kassa.Product, offer: str | None) -> None:
    result = client.purchase(product.slug, offer={"id": offer} if offer else "automatic")
    if not result.purchased:
        print(f"Not bought: {result.outcome}.")
        return
    print(f"Bought {product.slug}. {'The service has it.' if result.synced else 'The receipt waits on disk.'}")
    if product.type != "consumable":
        wait_for_perk(client, True)


def wait_for_perk(client: kassa.Client, wanted: bool) -> None:
    """The service works on a receipt for a moment after it has taken it; a change tells when it is done."""
    events = client.events()
    while client.has_perk(PERK) != wanted and events.take(timeout=10) is not None:
        pass


def obey(client: kassa.Client, products: list[kassa.Product], command: str, *rest: str) -> None:
    if command == "login" and rest:
        client.log_in(rest[0], {"name": rest[0]})
    elif command == "logout":
        client.log_out()
    elif command == "restore":
        print("Restored." if client.restore_purchases().restored else "Nothing to restore.")
    elif command == "refund":
        latest = client.simulate({"target": "store", "action": "state"})["transactions"][-1]
        client.simulate({"target": "store", "action": "refund", "transaction_id": latest["id"]})
        wait_for_perk(client, False)
    elif command.isdigit() and 0 < int(command) <= len(products):
        buy(client, products[int(command) - 1], rest[0] if rest else None)
    else:
        print("What?")


def main() -> None:
    with kassa.Client(storage=":memory:") as client:
        client.configure(configuration())
        while True:
            # Anew each time: what may be had depends on who asks.
            products = client.get_products()
            show(client, products)
            try:
                command = input("> ").split()
            except EOFError:
                break
            if command == ["quit"]:
                break
            try:
                obey(client, products, *(command or ["?"]))
            except kassa.KassaError as error:
                print(f"Sorry: {error}")


if __name__ == "__main__":
    main()
