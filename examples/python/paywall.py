"""A complete paywall in the terminal: plans with prices, buying, access, log-in, log-out and restore.

python paywall.py                                        the sandbox in this process: nothing to set up
python paywall.py --company-id biz_x --api-key KEY       the real service; buys in the browser
python paywall.py ... --base-url https://sandbox-api.whop.com
"""

from __future__ import annotations

import argparse

import kassa


def show(client: kassa.Client) -> None:
    print(
        f"\n{client.app_user_id or 'Guest'}.", "Subscribed - thank you!" if client.is_subscribed else "Not subscribed."
    )
    for membership in client.memberships():
        print(f"  you have {membership.product_id} ({membership.status})")
    for number, plan in enumerate(client.plans(), 1):
        unlocked = "unlocked" if plan.product_id and client.has_access(plan.product_id) else ""
        print(f"  {number:2}  {plan.title or plan.id:20} {plan.whop_display_price:>12}  {unlocked}".rstrip())
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
        print(f"Bought. Receipt: {result.receipt_id}")


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


def main() -> None:
    parser = argparse.ArgumentParser(description="A paywall in the terminal.")
    parser.add_argument("--base-url", help="the service; without any option, the sandbox in this process")
    parser.add_argument("--company-id", default="biz_sandbox")
    parser.add_argument("--api-key", default="sandbox_key")
    options = parser.parse_args()
    embedded = options.base_url is None and options.company_id == "biz_sandbox"
    backend = {"kind": "whop", "company_id": options.company_id, "api_key": options.api_key}
    if embedded:
        backend["base_url"] = "embedded:"
    elif options.base_url:
        backend["base_url"] = options.base_url

    # What the sandbox in this process sells ends with the process, so the client remembers nothing of it either.
    with kassa.Client("kassa.example.paywall", storage=":memory:" if embedded else None) as client:
        client.configure(backend=backend, checkout={"presenter": "simulated" if embedded else "browser"})
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
