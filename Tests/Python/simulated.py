"""What the tests of the simulated store share: its shop, configurations, and how a script acts on it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import kassa
from support import COMPANY, KEY, PLAN, PRODUCT, ROOT

STOREKIT = ROOT / "examples" / "products.storekit"
MONTHLY, YEARLY = "com.example.app.monthly", "com.example.app.yearly"
LIFETIME = "com.example.app.lifetime"
CATALOGUE = {
    "account": {"id": COMPANY, "title": "Shop"},
    "products": [{"id": PRODUCT, "title": "Pro"}],
    "plans": [
        {"id": PLAN, "product_id": PRODUCT, "plan_type": "renewal", "billing_period": 30, "renewal_price": 9.99},
        {
            "id": "plan_yearly",
            "product_id": PRODUCT,
            "plan_type": "renewal",
            "billing_period": 365,
            "renewal_price": 99,
        },
        {"id": "plan_lifetime", "product_id": PRODUCT, "plan_type": "one_time", "initial_price": 249},
    ],
    "api_keys": [{"key": KEY, "permissions": ["*"]}],
}
MAPPINGS = [
    {"whop_id": PLAN, "apple_id": MONTHLY},
    {"whop_id": "plan_yearly", "apple_id": YEARLY},
    {"whop_id": "plan_lifetime", "apple_id": LIFETIME},
]


def configuration(storefront: str = "DE", *, receipts: bool = True, sheet: str = "approve") -> dict[str, Any]:
    """The store in a country, and the sandbox in this process, with or without its receipt route."""
    return {
        "backend": {
            "kind": "whop",
            "company_id": COMPANY,
            "api_key": KEY,
            "base_url": "embedded:",
            "catalogue": {**CATALOGUE, "switches": {"store_receipts": receipts}},
            "plan_mappings": MAPPINGS,
        },
        "checkout": {"presenter": "simulated"},
        "store": {"kind": "simulated", "storekit_file": str(STOREKIT), "storefront": storefront, "sheet": sheet},
    }


def wait(client: kassa.Client, found: Callable[[], Any], seconds: float = 10) -> None:
    """Lets the client work until it is so."""
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end, "it never came to that"
        client.poll(0.02)


def in_store(client: kassa.Client, action: str, **keys: Any) -> Mapping[str, Any]:
    return client.simulate({"target": "store", "action": action, **keys})


def advance(client: kassa.Client, days: int) -> None:
    client.simulate({"action": "advance", "days": days})
