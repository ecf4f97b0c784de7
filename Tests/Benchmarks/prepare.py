"""Makes a state directory that caches 1,000 memberships of one device, through a kassa-sandbox of its own.

    prepare.py SANDBOX DIRECTORY

Writes into DIRECTORY: `state` (the storage of a client), `config.json` (its configuration; the sandbox is gone by
then, so it is offline), and `ids` (product ids: those with access for ever, those with an end, unknown ones).
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import kassa

COUNT = 1000
COMPANY, KEY = "biz_bench", "bench_key"


def product_id(number: int) -> str:
    return f"prod_{number:014d}"


def plan(number: int) -> dict[str, Any]:
    """Even numbers are for ever, odd ones renew and so have an end."""
    recurring: dict[str, Any] = {"plan_type": "renewal", "billing_period": 30, "renewal_price": 9.99}
    once: dict[str, Any] = {"plan_type": "one_time", "initial_price": 9.99}
    kind = recurring if number % 2 else once
    return {"id": f"plan_{number:014d}", "product_id": product_id(number), "title": f"Plan {number}", **kind}


def catalogue() -> dict[str, Any]:
    return {
        "account": {"id": COMPANY, "title": "Bench", "route": "bench"},
        "products": [{"id": product_id(number), "title": f"Product {number}"} for number in range(COUNT)],
        "plans": [plan(number) for number in range(COUNT)],
        "api_keys": [{"key": KEY, "permissions": ["*"]}],
        "users": [],
        "switches": {"metadata_filters": "on"},
    }


def post(url: str, document: object) -> Any:
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    request = urllib.request.Request(url, json.dumps(document).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def buy_everything(base_url: str, device_id: str) -> None:
    for number in range(COUNT):
        wanted = {"plan_id": plan(number)["id"], "metadata": {"kassa_device_id": device_id}}
        checkout = post(f"{base_url}/api/v1/checkout_configurations", wanted)
        post(
            f"{base_url}/sandbox/control",
            {"action": "complete_checkout", "checkout_configuration_id": checkout["id"], "email": "bench@example.com"},
        )


def main(sandbox: str, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "catalogue.json").write_text(json.dumps(catalogue()), encoding="utf-8")
    command = [sandbox, "--port", "0", "--catalogue", str(directory / "catalogue.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            base_url = server.stdout.readline().split()[-1]
            backend = {"kind": "whop", "company_id": COMPANY, "api_key": KEY, "base_url": base_url}
            (directory / "config.json").write_text(json.dumps({"backend": backend}), encoding="utf-8")
            with kassa.Client(storage=directory / "state") as client:
                buy_everything(base_url, client.device_id)
                client.configure({"backend": backend})
                found = len(client.memberships())
        finally:
            server.terminate()
    if found != COUNT:
        sys.exit(f"the client found {found} memberships, not {COUNT}")
    for_ever = [product_id(number) for number in range(0, COUNT, 2)]
    with_end = [product_id(number) for number in range(1, COUNT, 2)]
    unknown = [product_id(number) for number in range(COUNT, 2 * COUNT)]
    (directory / "ids").write_text("\n".join(for_ever + with_end + unknown) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
