"""The sandbox's Voidhash half as a server; docs/sandbox-voidhash.md says what is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from support import ROOT, Sandbox

MANUAL = (ROOT / "docs" / "sandbox-voidhash.md").read_text(encoding="utf-8")
START = 1_792_490_400_000


def catalogue() -> dict[str, Any]:
    (example,) = re.findall(r"```json voidhash\n(.*?)```", MANUAL, re.DOTALL)
    document: dict[str, Any] = json.loads(example)
    return document


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Sandbox]:
    file = tmp_path / "catalogue.json"
    file.write_text(json.dumps(catalogue()), encoding="utf-8")
    server = Sandbox("--catalogue", str(file))
    yield server
    server.stop()


def call(server: Sandbox, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    given = {
        "x-publishable-key": "vh_pk_mine",
        "x-distinct-id": "user-2",
        "x-client-bundle-id": "com.example.mine",
        "x-is-backgrounded": "false",
        "x-is-debug-build": "false",
        "x-observer-mode": "false",
        "x-platform": "ios",
        "x-platform-flavor": "native",
        "x-sdk": "ios",
        "x-sdk-version": "0.1.0",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    data = None if body is None else json.dumps(body).encode()
    request = Request(f"{server.base_url}{path}", data, {**given, "Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        text = error.read()
        return error.code, json.loads(text) if text else None


def test_a_receipt_becomes_access(server: Sandbox) -> None:
    receipt = {"platform": "ios", "transactionId": "2000"}
    assert call(server, "/api/v1/sdk/sync-transaction", receipt)[0] == 500
    transaction = {
        "id": "2000",
        "original_id": "2000",
        "store": "apple",
        "store_product_id": "com.example.mine.monthly",
        "type": "subscription",
        "purchased_at": START,
        "expires_at": 4_102_444_800_000,
        "proof": "signed",
    }
    server.control({"action": "register_store_transaction", "transaction": transaction})
    assert call(server, "/api/v1/sdk/sync-transaction", receipt) == (200, {"accepted": True})
    status, person = call(server, "/api/v1/sdk/person")
    assert status == 200
    assert [(grant["perkId"], grant["status"]) for grant in person["entitlements"]["grants"]] == [("pro", "active")]
    with urlopen(f"{server.base_url}/sandbox/state", timeout=10) as answer:
        (logged,) = json.load(answer)["voidhash"]["receipts"]
    assert (logged["transaction_id"], logged["distinct_id"], logged["deliveries"]) == ("2000", "user-2", 1)


def test_what_the_catalogue_of_the_manual_knows_is_there(server: Sandbox) -> None:
    status, schema = call(server, "/api/v1/sdk/schema")
    assert status == 200
    example = catalogue()["voidhash"]
    assert list(schema["products"]) == list(example["products"])
    assert schema["products"]["monthly"]["configuration"]["providers"]["development"]["price"] == 4.99
    match = {"if_none_match": f'"{schema["version"]}"'}
    assert call(server, "/api/v1/sdk/schema", **match) == (304, None)
    assert call(server, "/api/v1/sdk/person", x_distinct_id="user-1")[1]["email"] == "user@example.com"
    flags = call(server, "/api/v1/sdk/evaluate-flags", {})[1]["flags"]
    assert [flag["key"] for flag in flags] == [flag["key"] for flag in example["flags"]]
    assert call(server, "/api/v1/sdk/resolve-paywall", {"locationSlug": "start"}) == (200, None)


def test_events_need_no_headers_but_a_key(server: Sandbox) -> None:
    batch = {"token": "vh_pk_mine", "sent_at": "2026-10-20T10:00:00.000Z", "events": []}
    request = Request(f"{server.base_url}/i/v1/batch", json.dumps(batch).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=10) as answer:
        assert (answer.status, json.load(answer)) == (202, {"accepted": 0, "rejected": 0})
        assert answer.headers["x-request-id"]


SWITCHES = re.findall(r"^\| `(\w+)` \| (.*?) \|", MANUAL.split("| switch |")[1].split("\n\n")[0], re.MULTILINE)


@pytest.mark.parametrize(("switch", "values"), SWITCHES)
def test_the_switches_of_the_manual_exist(tmp_path: Path, switch: str, values: str) -> None:
    words = re.findall(r"`(\w+)`", values)
    assert len(words) >= 2
    for word in words:
        document = catalogue()
        document["voidhash"]["switches"] = {switch: json.loads(word) if word in ("true", "false") else word}
        file = tmp_path / "catalogue.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        server = Sandbox("--catalogue", str(file))
        try:
            assert call(server, "/api/v1/sdk/schema")[0] == 200
        finally:
            server.stop()


def test_the_routes_of_the_manual_exist() -> None:
    server = Sandbox()
    try:
        rows = re.findall(r"^\| `(GET|POST) (\S+)`((?:, `/\w+`)*) \|", MANUAL, re.MULTILINE)
        paths = [(method, path) for method, path, _ in rows]
        for method, path, more in rows:
            paths += [(method, path.rpartition("/")[0] + name) for name in re.findall(r"/\w+", more)]
        assert len(paths) == 14
        for method, path in paths:
            known = {"x_publishable_key": "vh_pk_sandbox"}
            status, body = call(server, path, None if method == "GET" else {}, **known)
            assert status != 404 or body["_tag"] == "Api/SdkPersonNotFoundError", path
            assert status != 401, path
    finally:
        server.stop()
