"""The simulated store and the sandbox's receipt route, through the real library: purchases and what comes of them."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import kassa
import pytest
from simulated import CATALOGUE, advance, configuration, in_store, wait
from support import PLAN, PRODUCT, Sandbox


@pytest.fixture
def client(thread: str, tmp_path: Path) -> Iterator[kassa.Client]:
    with kassa.Client(storage=tmp_path / "state", thread=thread) as opened:
        yield opened


def wait_for_event(events: kassa.Events, **fields: Any) -> kassa.Document:
    """The first event with these fields."""
    end = time.monotonic() + 10
    while True:
        event = events.take(timeout=max(0, end - time.monotonic()))
        assert event is not None, f"no event with {fields}"
        if fields.items() <= event.raw.items():
            return event


def membership(client: kassa.Client) -> kassa.Membership:
    """The one membership, once it is there."""
    wait(client, client.memberships)
    (found,) = client.memberships()
    return found


def all_memberships(client: kassa.Client) -> list[Any]:
    """What the service has, active or not."""
    found: list[Any] = client.simulate({"action": "state"})["memberships"]
    return found


def test_the_membership_follows_the_purchase(client: kassa.Client) -> None:
    client.configure(configuration())
    assert not client.supports_external_purchases
    plan = next(plan for plan in client.plans() if plan.id == PLAN)
    assert (plan.whop_display_price, plan.apple_display_price) == ("$9.99", "€8.99")
    events = client.events()

    bought = client.purchase(PLAN).raise_for_outcome()
    assert (bought.method, bought.membership) == ("store", None)
    # S130: access is there at once, whoever still has to hear of it.
    assert client.is_subscribed
    assert client.has_access(PRODUCT)

    # S134: the change says where it came from.
    followed = membership(client)
    wait_for_event(events, type="changed", what="entitlements", cause="store")
    assert (followed.plan_id, followed.product_id, followed.status) == (PLAN, PRODUCT, "active")
    (transaction,) = in_store(client, "state")["transactions"]
    assert bought.receipt_id == transaction["id"]
    assert client.has_access(PRODUCT)


@pytest.mark.parametrize(("plan", "status"), [("plan_yearly", "active"), ("plan_lifetime", "completed")])
def test_how_long_it_lasts_is_the_stores_word(client: kassa.Client, plan: str, status: str) -> None:
    client.configure(configuration())
    client.purchase(plan).raise_for_outcome()
    followed = membership(client)
    assert (followed.plan_id, followed.status) == (plan, status)
    assert (followed.renewal_period_end is None) == (plan == "plan_lifetime")
    assert followed.expires_at is None


def test_without_the_route_a_purchase_stands_alone(client: kassa.Client) -> None:
    client.configure(configuration(receipts=False))
    events = client.events()
    client.purchase(PLAN).raise_for_outcome()
    wait(client, lambda: all(each["finished"] for each in in_store(client, "state")["transactions"]))
    client.poll(0.2)
    assert client.has_access(PRODUCT)
    assert not client.memberships()
    assert not all_memberships(client)
    seen = iter(lambda: events.take(timeout=0), None)
    assert [event.raw for event in seen if event.raw["type"] == "diagnostic"] == []


def test_in_the_us_the_web_sells(client: kassa.Client) -> None:
    client.configure(configuration("US"))
    assert client.supports_external_purchases
    assert client.purchase(PLAN).raise_for_outcome().method == "whop"
    assert client.purchase("plan_yearly", method="store").raise_for_outcome().method == "store"


def has_period_after(client: kassa.Client, end: datetime | None) -> bool:
    ends = [each.renewal_period_end for each in client.memberships()]
    return any(each and end and each > end for each in ends)


def test_renewals_move_the_period(client: kassa.Client) -> None:
    client.configure(configuration())
    events = client.events()
    client.purchase(PLAN).raise_for_outcome()
    first = membership(client)
    for _ in range(3):
        renewed = partial(has_period_after, client, membership(client).renewal_period_end)
        advance(client, 31)
        wait(client, renewed)
        assert client.has_access(PRODUCT)
    assert membership(client).id == first.id
    assert len(all_memberships(client)) == 1
    wait_for_event(events, type="transaction_updated")


def test_a_subscription_that_is_not_renewed_ends(client: kassa.Client) -> None:
    client.configure(configuration())
    client.purchase(PLAN).raise_for_outcome()
    membership(client)
    in_store(client, "cancel_subscription")
    advance(client, 29)
    assert client.has_access(PRODUCT)
    advance(client, 3)
    assert all_memberships(client)[0]["status"] == "expired"
    client.restore_purchases()
    wait(client, lambda: not client.memberships())
    assert not client.has_access(PRODUCT)


def test_a_refund_ends_both(client: kassa.Client) -> None:
    client.configure(configuration())
    bought = client.purchase(PLAN).raise_for_outcome()
    membership(client)
    in_store(client, "refund", transaction_id=bought.receipt_id)
    wait(client, lambda: not client.memberships() and not client.has_access(PRODUCT))
    assert not client.is_subscribed
    assert [each["status"] for each in all_memberships(client)] == ["canceled"]
    assert not client.restore_purchases().restored


def test_ask_to_buy_waits_for_the_approval(client: kassa.Client) -> None:
    client.configure(configuration(sheet="ask_to_buy"))
    events = client.events()
    assert client.purchase(PLAN).outcome == "pending"
    assert not client.has_access(PRODUCT)
    in_store(client, "approve")
    updated = wait_for_event(events, type="transaction_updated")
    assert updated.raw["transaction"]["plan_id"] == PLAN
    assert client.has_access(PRODUCT)
    assert membership(client).plan_id == PLAN


def test_a_restart_keeps_both(client: kassa.Client, thread: str, tmp_path: Path) -> None:
    client.configure(configuration())
    bought = client.purchase(PLAN).raise_for_outcome()
    followed = membership(client)
    client.close()
    with kassa.Client(storage=tmp_path / "state", thread=thread) as again:
        again.configure(configuration())
        assert again.has_access(PRODUCT)
        assert membership(again).id == followed.id
        # The sandbox still knows what was sold before the restart.
        in_store(again, "refund", transaction_id=bought.receipt_id)
        wait(again, lambda: not again.memberships() and not again.has_access(PRODUCT))


def test_a_restart_offline_keeps_access(client: kassa.Client, thread: str, tmp_path: Path) -> None:
    server = Sandbox()
    config = configuration()
    del config["backend"]["catalogue"]
    config["backend"]["base_url"] = server.base_url
    config["checkout"] = {"presenter": "browser"}
    try:
        client.configure(config)
        client.purchase(PLAN).raise_for_outcome()
    finally:
        server.stop()
    assert client.has_access(PRODUCT)
    client.close()
    with kassa.Client(storage=tmp_path / "state", thread=thread) as again:
        assert again.configure(config) == "cache"
        assert again.has_access(PRODUCT)
        assert again.is_subscribed
        assert not again.memberships()


def test_a_server_on_this_machine_hears_what_the_store_sold(client: kassa.Client, tmp_path: Path) -> None:
    file = tmp_path / "catalogue.json"
    file.write_text(json.dumps({**CATALOGUE, "switches": {"store_receipts": True}}))
    server = Sandbox("--catalogue", str(file))
    config = configuration()
    del config["backend"]["catalogue"]
    config["backend"]["base_url"] = server.base_url
    config["checkout"] = {"presenter": "browser"}
    try:
        client.configure(config)
        bought = client.purchase(PLAN).raise_for_outcome()
        followed = membership(client)
        assert (followed.plan_id, followed.status) == (PLAN, "active")
        client.simulate({"action": "refund", "transaction_id": bought.receipt_id})
        wait(client, lambda: server.control({"action": "state"})["memberships"][0]["status"] == "canceled")
    finally:
        server.stop()


def second_device(thread: str, first: Path, second: Path) -> kassa.Client:
    """A fresh installation, whose person has the same store account and the same service."""
    second.mkdir(mode=0o700)
    for file in [*first.glob("store.db*"), *first.glob("sandbox.db*")]:
        shutil.copy(file, second)
    return kassa.Client(storage=second, thread=thread)


def test_a_restore_finds_the_purchase_of_another_device(client: kassa.Client, thread: str, tmp_path: Path) -> None:
    client.configure(configuration())
    client.purchase(PLAN).raise_for_outcome()
    membership(client)
    device = client.device_id
    client.close()
    with second_device(thread, tmp_path / "state", tmp_path / "second") as other:
        other.configure(configuration())
        assert other.device_id != device
        assert not other.memberships()
        assert other.restore_purchases().restored
        assert other.has_access(PRODUCT)
        other.poll(0.2)
        assert [each["metadata"]["kassa_device_id"] for each in all_memberships(other)] == [device]


def test_s081_a_guests_restore_takes_nothing_from_the_user(client: kassa.Client, thread: str, tmp_path: Path) -> None:
    client.configure(configuration())
    client.log_in("user-1")
    client.purchase(PLAN).raise_for_outcome()
    bought = membership(client)
    client.close()
    with second_device(thread, tmp_path / "state", tmp_path / "second") as other:
        other.configure(configuration())
        assert other.restore_purchases().restored
        other.poll(0.2)
        other.log_in("user-1")
        assert other.has_access(PRODUCT)
        wait(other, other.memberships)
        assert membership(other).id == bought.id
        assert [each["metadata"]["kassa_app_user_id"] for each in all_memberships(other)] == ["user-1"]


def test_s085_a_login_claims_what_the_store_sold(client: kassa.Client) -> None:
    client.configure(configuration())
    client.purchase(PLAN).raise_for_outcome()
    followed = membership(client)
    assert client.log_in("user-1").claimed == (followed.id,)
    assert client.log_in("user-1").claimed == ()
    assert membership(client).is_claimed
    # A renewal that comes later does not change whose it is.
    client.log_out()
    advance(client, 31)
    client.poll(0.2)
    assert [each["metadata"]["kassa_app_user_id"] for each in all_memberships(client)] == ["user-1"]
