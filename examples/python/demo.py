"""The whole of it as one story: a guest buys, logs in, logs out and restores; started again without a network, the
program still has access. `make demo` runs it on the sandbox.

    demo.py BASE_URL DIRECTORY [--offline]
"""

from __future__ import annotations

import sys

import kassa

PLAN = "plan_monthly"  # of the sandbox's own catalogue; it sells:
PRODUCT = "prod_pro"


def show_access(client: kassa.Client) -> None:
    answer = "yes" if client.has_access(PRODUCT) else "no"
    print(f"   access to {PRODUCT}: {answer} ({client.explain(PRODUCT).reason})")


def shop(client: kassa.Client) -> None:
    print("2. The plans:")
    for plan in client.plans():
        print(f"   {plan.title or '-':24} {plan.whop_display_price}")

    print(f"3. A guest buys {PLAN} in the browser ...")
    purchase = client.purchase(PLAN)
    print(f"   {purchase.outcome}, receipt {purchase.receipt_id}")
    show_access(client)

    print("4. The guest logs in as user-1; the purchase becomes the user's.")
    login = client.log_in("user-1")
    print(f"   claimed memberships: {len(login.claimed)}")
    show_access(client)

    print("5. The user logs out.")
    client.log_out()
    show_access(client)

    print("6. The user logs in again and restores purchases.")
    client.log_in("user-1")
    print(f"   restored: {'yes' if client.restore_purchases().restored else 'no'}")
    show_access(client)


def main(base_url: str, directory: str, offline: bool) -> int:
    backend = {"kind": "whop", "company_id": "biz_sandbox", "api_key": "sandbox_key", "base_url": base_url}
    with kassa.Client(storage=directory) as client:
        source = client.configure(backend=backend)
        print(f"1. Configured; answers come from the {source}.")
        if not offline:
            shop(client)
            return 0
        print(f"2. Still logged in as {client.app_user_id or 'nobody'}.")
        show_access(client)
        return 0 if client.has_access(PRODUCT) else 1


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], "--offline" in sys.argv[3:]))
