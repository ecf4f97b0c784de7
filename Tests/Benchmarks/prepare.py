"""Makes a state directory that caches 1,000 memberships of one device, through a kassa-sandbox of its own.

    prepare.py SANDBOX DIRECTORY

Writes into DIRECTORY: `config.json`, the configuration of a client (the sandbox is gone by then, so it is offline);
`state`, its storage; and `ids`, product ids one a line: a quarter with access for ever, a quarter with access to an
end, and half without access. `large_state` and `large_ids` are the same with 100,000 memberships.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import kassa

COUNT = 1000
LARGE_FACTOR = 100
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


def suffix(copy: int) -> str:
    return f"_{copy:02d}"


def write_ids(path: Path, suffixes: list[str]) -> None:
    """The three groups of ids, in their order, each once with every suffix."""
    numbers = [*range(0, COUNT, 2), *range(1, COUNT, 2), *range(COUNT, 2 * COUNT)]
    groups = [numbers[: COUNT // 2], numbers[COUNT // 2 : COUNT], numbers[COUNT:]]
    lines = [product_id(number) + end for group in groups for end in suffixes for number in group]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def multiply(state: Path, large: Path) -> None:
    """A copy of a client's storage in which each membership stands a hundred times, each time for another product."""
    shutil.copytree(state, large)
    with sqlite3.connect(large / "kassa.db") as database:
        names = [row[1] for row in database.execute("PRAGMA table_info(memberships)")]
        changed = [
            "id || ?1" if name == "id" else "product_id || ?1" if name == "product_id" else name for name in names
        ]
        original = "id IN (SELECT id FROM temp.originals)"
        database.execute("CREATE TEMP TABLE originals AS SELECT id FROM memberships")
        for copy in range(1, LARGE_FACTOR):
            query = f"INSERT INTO memberships SELECT {', '.join(changed)} FROM memberships WHERE {original}"
            database.execute(query, (suffix(copy),))


def main(sandbox: str, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "catalogue.json").write_text(json.dumps(catalogue()), encoding="utf-8")
    command = [sandbox, "--quiet", "--port", "0", "--catalogue", str(directory / "catalogue.json")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            base_url = server.stdout.readline().split()[-1]
            backend = {"kind": "whop", "company_id": COMPANY, "api_key": KEY, "base_url": base_url}
            (directory / "config.json").write_text(json.dumps({"backend": backend}), encoding="utf-8")
            with kassa.Client(storage=directory / "state") as client:
                buy_everything(base_url, str(client.device_id))
                client.configure({"backend": backend})
                found = len(client.memberships())
        finally:
            server.terminate()
    if found != COUNT:
        sys.exit(f"the client found {found} memberships, not {COUNT}")
    write_ids(directory / "ids", [""])
    multiply(directory / "state", directory / "large_state")
    write_ids(directory / "large_ids", ["", *(suffix(copy) for copy in range(1, LARGE_FACTOR))])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
