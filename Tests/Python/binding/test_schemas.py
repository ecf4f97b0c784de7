"""The schemas themselves, and that they say what the documentation says."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import schemas
from jsonschema import Draft202012Validator, ValidationError

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = (ROOT / "docs" / "documents.md").read_text()
# The heading of docs/documents.md whose table lists the fields of a schema.
TABLES = {
    "money": "Money",
    "plan": "Plan",
    "membership": "Membership",
    "entitlement": "Entitlement",
    "explanation": "Explanation",
    "error": "Errors",
    "purchase": "Results",
    "verification": "Verification",
    "transaction": "Transaction",
    "person": "Person",
    "product": "Product",
    "pending": "What waits",
}


def section(heading: str) -> str:
    return re.split(r"^##+ ", DOCUMENTS.split(f"\n## {heading}\n")[1], flags=re.MULTILINE)[0]


def first_column(text: str) -> list[str]:
    cells = re.findall(r"^\| (`.*?) \|", text, re.MULTILINE)
    return [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]


@pytest.mark.parametrize("name", schemas.schemas())
def test_each_schema_is_valid(name: str) -> None:
    Draft202012Validator.check_schema(schemas.schemas()[name])


def test_every_schema_is_named_in_the_documentation_and_the_other_way_round() -> None:
    assert set(re.findall(r"schema/([a-z_]+)\.json", DOCUMENTS)) == set(schemas.schemas())


@pytest.mark.parametrize(("name", "heading"), TABLES.items())
def test_a_schema_has_the_fields_of_its_table(name: str, heading: str) -> None:
    fields = set(schemas.schemas()[name]["properties"]) - {"sandbox"}
    operations = set(schemas.schemas()["completed"]["properties"]["operation"]["examples"])
    assert fields == set(first_column(section(heading))) - operations


def test_the_results_are_those_of_the_operations() -> None:
    operations = schemas.schemas()["completed"]["properties"]["operation"]["examples"]
    assert operations == first_column(section("Results").split("\nPurchase. ")[0])


@pytest.mark.parametrize(("part", "elements"), [("grants", ""), ("subscriptions", "history"), ("purchases", "")])
def test_what_a_person_has_is_described_field_by_field(part: str, elements: str) -> None:
    properties = schemas.schemas()["person"]["properties"]
    listed = properties[part]["properties"][elements] if elements else properties[part]
    row = re.search(rf"^\| `{part}` .*$", section("Person"), re.MULTILINE)
    assert row is not None
    assert set(listed["items"]["properties"]) <= set(re.findall(r"`([^`]+)`", row[0]))


def test_the_configuration_schema_has_the_keys_of_its_table() -> None:
    # Whop's keys are here, those of Voidhash on a page of their own.
    whop = schemas.schemas()["whop_configuration"]
    properties = {**schemas.schemas()["configuration"]["properties"], "backend": whop}
    keys = {
        f"{key}.{inner}" if inner else key
        for key, schema in properties.items()
        # Each kind of store has keys of its own, and a page that lists them.
        for inner in (schema.get("properties") or ({"kind"} if "oneOf" in schema else {""}))
    }
    assert keys == set(first_column(section("Configuration")))


def test_the_configuration_of_voidhash_has_the_keys_of_its_table() -> None:
    text = (ROOT / "docs" / "voidhash.md").read_text().split("\n## Configuration\n")[1].split("\n## ")[0]
    assert list(schemas.schemas()["voidhash_configuration"]["properties"]) == first_column(text)


@pytest.mark.parametrize(("name", "document"), [("error", "errors.md"), ("diagnostic", "documents.md")])
def test_a_schema_has_the_codes_of_its_table(name: str, document: str) -> None:
    text = (ROOT / "docs" / document).read_text()
    if name == "diagnostic":
        text = text.split("### Diagnostics")[1].split("## Results")[0]
    assert schemas.schemas()[name]["properties"]["code"]["examples"] == first_column(text)


def test_the_reasons_of_a_refusal_are_those_of_their_table() -> None:
    text = (ROOT / "docs" / "receipts.md").read_text().split("\n## Reasons\n")[1].split("\n## ")[0]
    assert schemas.schemas()["verification"]["properties"]["reason"]["examples"] == first_column(text)


@pytest.mark.parametrize(
    ("name", "heading"),
    [("configuration", "Configuration"), ("explanation", "Explanation"), ("verify", "Verification")],
)
def test_the_examples_of_the_documentation_are_valid(name: str, heading: str) -> None:
    example = re.search(r"```json\n(.*?)```", section(heading), re.DOTALL)
    assert example is not None
    schemas.check(name, json.loads(example[1]))


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"backend": {"kind": "whop", "company_id": "biz_x"}},
        {"backend": {"kind": "whop", "company_id": "biz_x", "api_key": "k", "access_token": "host"}},
        {"backend": {"kind": "whop", "company_id": "x", "api_key": "k"}},
        {"backend": {"kind": "whop", "company_id": "biz_x", "api_key": "k"}, "ofline": {}},
        {"backend": {"kind": "whop", "company_id": "biz_x", "api_key": "k"}, "offline": {"days": -1}},
    ],
)
def test_wrong_configurations_are_refused(config: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        schemas.validator("configuration", strict=False).validate(config)


def test_readers_accept_new_fields_and_words_and_the_tests_do_not() -> None:
    event = {"type": "changed", "what": "plans", "revision": 1, "cause": "refresh"}
    schemas.check_event(event)
    for newer in ({**event, "hue": 1}, {**event, "cause": "moonrise"}):
        schemas.validator("changed", strict=False).validate(newer)
        with pytest.raises(AssertionError):
            schemas.check_event(newer)


def test_a_completion_has_the_result_of_its_operation() -> None:
    completed = {"type": "completed", "op": 1, "operation": "log_in"}
    schemas.check_event({**completed, "result": {"app_user_id": "u", "claimed": ["mem_1"], "deferred": False}})
    wrongs: list[dict[str, Any]] = [{"result": {"source": "network"}}, {}, {"result": {}, "error": {}}]
    for wrong in wrongs:
        with pytest.raises(AssertionError):
            schemas.check_event({**completed, **wrong})
