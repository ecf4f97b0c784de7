"""docs/sandbox.md says what is: its catalogue is taken, its actions, faults, keys and plans exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from official_sdk import official_sdk
from support import COMPANY, KEY, PLAN, PRODUCT, ROOT, Sandbox

MANUAL = (ROOT / "docs" / "sandbox.md").read_text(encoding="utf-8")


def first_cells(heading: str) -> list[str]:
    """The words in the first column of the table under a heading."""
    section = MANUAL.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)


def complaint(sandbox: Sandbox, action: str) -> str:
    """What the sandbox has against an action that gives no other key."""
    try:
        sandbox.control({"action": action})
    except HTTPError as error:
        return error.read().decode()
    return ""


def test_the_catalogue_of_the_manual_is_taken(tmp_path: Path) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", MANUAL, re.DOTALL)
    file = tmp_path / "catalogue.json"
    file.write_text(example, encoding="utf-8")
    server = Sandbox("--catalogue", str(file), "--quiet")
    try:
        plans = official_sdk(server, "my_key").variants.list(account_id="biz_mine")
        assert [plan.id for plan in plans] == [plan["id"] for plan in json.loads(example)["plans"]]
    finally:
        server.stop()


def test_the_receipt_of_the_manual_is_taken_once_the_store_told_of_it(tmp_path: Path) -> None:
    (example,) = re.findall(r"```json receipt\n(.*?)```", MANUAL, re.DOTALL)
    receipt = json.loads(example)
    file = tmp_path / "catalogue.json"
    catalogue = {
        "account": {"id": COMPANY, "title": "Shop"},
        "products": [{"id": PRODUCT, "title": "Pro"}],
        "plans": [{"id": PLAN, "product_id": PRODUCT, "plan_type": "renewal", "billing_period": 30}],
        "api_keys": [{"key": KEY, "permissions": ["*"]}],
        "switches": {"store_receipts": True},
    }
    file.write_text(json.dumps(catalogue), encoding="utf-8")
    server = Sandbox("--catalogue", str(file))
    try:
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        request = Request(f"{server.base_url}/api/v1/store_receipts", example.encode(), headers)
        with pytest.raises(HTTPError) as caught:
            urlopen(request, timeout=10)
        assert json.load(caught.value)["error"]["param"] == "transaction_id"
        transaction = {
            "id": receipt["transaction_id"],
            "original_id": receipt["original_transaction_id"],
            "store": receipt["store"],
            "store_product_id": receipt["store_product_id"],
            "type": "subscription",
            "purchased_at": 1_792_490_400_000,
            "expires_at": 4_102_444_800_000,
            "proof": receipt["proof"],
        }
        server.control({"action": "register_store_transaction", "transaction": transaction})
        with urlopen(request, timeout=10) as answer:
            given = json.load(answer)["membership"]
        # Whop's own SDK reads it, too.
        listed = official_sdk(server).memberships.retrieve(given["id"])
        assert (listed.status, listed.plan_id, listed.metadata) == ("active", PLAN, receipt["metadata"])
    finally:
        server.stop()


def test_the_plans_and_keys_of_the_manual_exist(sandbox: Sandbox) -> None:
    words = first_cells("What it sells")
    plans = {word for word in words if word.startswith("plan_")}
    assert plans == {plan.id for plan in official_sdk(sandbox).variants.list(account_id=COMPANY)}
    for key in (word for word in words if word.endswith("_key")):
        assert official_sdk(sandbox, key).permissions.list(resource_id=COMPANY).data


@pytest.mark.parametrize("action", [word for word in first_cells("Actions") if word != "action"])
def test_the_actions_of_the_manual_exist(sandbox: Sandbox, action: str) -> None:
    assert "is not known" in complaint(sandbox, f"{action}s")
    assert "is not known" not in complaint(sandbox, action)


@pytest.mark.parametrize("kind", [word for word in first_cells("Faults") if word != "kind"])
def test_the_faults_of_the_manual_exist(sandbox: Sandbox, kind: str) -> None:
    assert sandbox.control({"action": "fault", "kind": kind}) == {"faults": 1}


def test_a_mistake_in_a_fault_names_every_kind(sandbox: Sandbox) -> None:
    with pytest.raises(HTTPError) as caught:
        sandbox.control({"action": "fault", "kind": "none"})
    message = json.load(caught.value)["error"]["message"]
    kinds = re.search(r"must be one of (.*?) \(got", message)
    assert kinds is not None
    assert sorted(kinds[1].split(", ")) == sorted(word for word in first_cells("Faults") if word != "kind")
