"""The store protocol of docs/store.md: its examples, its tables and its schemas say the same."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import schemas
from jsonschema import ValidationError
from support import ROOT

GUIDES = {name: (ROOT / "docs" / name).read_text() for name in ("store.md", "apple-pay.md")}
METHODS = {
    "products",
    "purchase",
    "finish",
    "restore",
    "unfinished",
    "entitlements",
    "storefront",
    "manage_subscriptions",
    "present_code_redemption",
    "can_make_payments",
    "begin_refund",
    "subscription_status",
    "app_transaction",
    "messages",
    "display_message",
}
CALLS = METHODS - {"products", "purchase", "finish", "restore", "unfinished"}
SCHEMAS = {"configuration": "store_configuration", "transaction": "store_transaction", "event": "store_event"}


def examples() -> list[Any]:
    """Each block of JSON, with what its fence says it is: `reply/products`."""
    found = []
    for guide, text in GUIDES.items():
        for number, (kind, block) in enumerate(re.findall(r"^```json (\S+)\n(.*?)^```", text, re.M | re.S)):
            found.append(pytest.param(kind, json.loads(block), id=f"{guide}-{number}-{kind.replace('/', '-')}"))
    return found


def check(kind: str, document: Any) -> None:
    family, _, part = kind.partition("/")
    schemas.check(SCHEMAS.get(family, f"store_{family}" if part else family), document, part=part or None)


@pytest.mark.parametrize(("kind", "document"), examples())
def test_an_example_of_the_guides_is_valid(kind: str, document: Any) -> None:
    check(kind, document)


def test_every_block_of_json_says_what_it_is() -> None:
    for text in GUIDES.values():
        assert not re.findall(r"^```json$", text, re.M)


def test_there_is_a_schema_for_the_params_and_the_reply_of_every_request() -> None:
    assert set(schemas.schemas()["store_params"]["$defs"]) == METHODS
    assert set(schemas.schemas()["store_reply"]["$defs"]) == METHODS | {"error", "country", "status", "message"}
    assert set(schemas.schemas()["store_result"]["$defs"]) == CALLS
    assert set(schemas.schemas()["request"]["properties"]["method"]["examples"]) >= METHODS


def test_what_is_left_of_other_stores_is_documented() -> None:
    table = GUIDES["store.md"].split("### Other stores")[1].split("## Requests")[0]
    assert "everything but" not in GUIDES["store.md"]
    assert set(re.findall(r"^\| .*`(\w+)` \|", table, re.M)) >= {"entitlements", "storefront"}


def test_every_request_and_method_is_documented() -> None:
    text = GUIDES["store.md"]
    assert METHODS - CALLS | {"storefront", "entitlements"} == set(re.findall(r"^### store/(\w+)$", text, re.M))
    table = text.split("## Sheets and questions")[1].split("```json")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == CALLS


@pytest.mark.parametrize(
    ("heading", "fields"),
    [
        ("## Products", schemas.schemas()["store_product"]["properties"]),
        ("| field of a price", schemas.schemas()["store_product"]["$defs"]["price"]["properties"]),
        ("| field of `subscription`", schemas.schemas()["store_product"]["$defs"]["subscription"]["properties"]),
        ("| field of an offer", schemas.schemas()["store_product"]["$defs"]["offer"]["properties"]),
        ("Of Google Play it is", schemas.schemas()["store_transaction"]["$defs"]["google"]["properties"]),
        ("| field of a status", schemas.schemas()["store_reply"]["$defs"]["status"]["properties"]),
        ("| key of `store`", schemas.schemas()["store_configuration"]["properties"]),
        ("### store/purchase", schemas.schemas()["store_params"]["$defs"]["purchase"]["properties"]),
        ("### store/finish", schemas.schemas()["store_params"]["$defs"]["finish"]["properties"]),
    ],
)
def test_a_table_has_the_fields_of_its_schema(heading: str, fields: dict[str, Any]) -> None:
    table = re.search(r"^\| .*?\n\n", GUIDES["store.md"].split(heading, 1)[1].partition("\n")[2], re.M | re.S)
    assert table is not None
    cells = re.findall(r"^\| (`.*?) \|", table[0], re.M)
    assert {word for cell in cells for word in re.findall(r"`(\w+)`", cell)} == set(fields) - {"sandbox"}


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        ("reply/products", {"products": [{"id": "p", "type": "consumable", "display_name": "P"}]}),
        ("reply/products", {"products": [{"id": "p", "type": "subscription", "display_name": "P", "price": {}}]}),
        ("reply/purchase", {"outcome": "purchased"}),
        ("reply/purchase", {"outcome": "bought"}),
        ("reply/finish", {"done": True}),
        ("reply/unfinished", {}),
        ("reply/storefront", {}),
        ("reply/begin_refund", {"outcome": "completed"}),
        ("transaction", {"store": "amazon", "receipt": "r"}),
        ("transaction", {"store": "apple"}),
        ("transaction", {"store": "google", "type": "consumable", "product_id": "p", "purchase_token": "t"}),
        ("event", {"type": "refunded"}),
        ("event", {"type": "transaction_updated", "transaction": {"store": "apple", "jws": "j"}, "synced": True}),
        ("configuration", {"kind": "host"}),
        ("configuration", {"kind": "host", "platform": "apple", "bundle": "b"}),
    ],
)
def test_a_wrong_document_is_refused(kind: str, document: Any) -> None:
    with pytest.raises(AssertionError):
        check(kind, document)


@pytest.mark.skipif(shutil.which("swiftc") is None, reason="there is no Swift compiler")
def test_the_adapter_for_storekit_compiles(tmp_path: Path) -> None:
    """In Swift 6, with the real header, and stand-ins for Apple's modules (Tests/Guide)."""
    compiler = ["swiftc", "-swift-version", "6", "-warnings-as-errors", "-parse-as-library"]
    compiler += ["-I", str(tmp_path), "-I", str(ROOT / "Include"), "-module-cache-path", str(tmp_path / "cache")]

    def compile_(*arguments: str) -> None:
        done = subprocess.run([*compiler, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    for module in ["UIKit", "StoreKit"]:
        source = str(ROOT / "Tests" / "Guide" / f"{module}.swift")
        compile_("-emit-module", "-module-name", module, source, "-o", str(tmp_path / f"{module}.swiftmodule"))
    blocks = re.findall(r"^```swift\n(.*?)^```", GUIDES["store.md"], re.M | re.S)
    assert len(blocks) == 2
    for number, block in enumerate(blocks):
        (tmp_path / f"{number}.swift").write_text(block)
    compile_("-typecheck", *[str(tmp_path / f"{number}.swift") for number in range(len(blocks))])


def test_what_a_host_sends_is_closed_for_everybody() -> None:
    """A host that checks its own documents finds its misspelt fields, without the strict reading of these tests."""
    with pytest.raises(ValidationError):
        schemas.validator("store_event", strict=False).validate(
            {"type": "purchase_intent", "product_id": "p", "ofer_id": "o"}
        )
