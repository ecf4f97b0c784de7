"""The simulated store as scripts drive it: its clock, its event log, its storefront, and what it says of mistakes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kassa
import pytest
from simulated import MONTHLY, STOREKIT, advance, configuration, in_store, wait
from support import PLAN, PRODUCT

START = 1_792_490_400_000
"""2026-10-20T10:00:00Z"""


@pytest.fixture
def client(thread: str, tmp_path: Path) -> Iterator[kassa.Client]:
    with kassa.Client(storage=tmp_path / "state", thread=thread) as opened:
        yield opened


def scripted(seed: int | str | None = 7, starts_at: int | None = START, **store: Any) -> dict[str, Any]:
    config = configuration()
    config["backend"]["catalogue"] = {**config["backend"]["catalogue"], "starts_at": starts_at}
    config["store"] |= {"seed": seed, **store}
    return config


def storekit(folder: Path, **changes: Any) -> Path:
    """The file of the example, with other settings."""
    document = json.loads(STOREKIT.read_text())
    document["settings"] = {**document.get("settings", {}), **changes}
    file = folder / "other.storekit"
    file.write_text(json.dumps(document))
    return file


# The same every time


def run(thread: str, config: dict[str, Any]) -> str:
    """A fresh client, half a year of a subscription, and the event log as text."""
    with kassa.Client(storage=":memory:", thread=thread) as fresh:
        fresh.configure(config)
        if not fresh.purchase(PLAN).purchased:
            in_store(fresh, "approve")
        for action in ({"action": "fail_billing", "grace": True}, {"action": "recover_billing"}):
            advance(fresh, 70)
            fresh.simulate({"target": "store", **action})
        in_store(fresh, "price_increase", product_id=MONTHLY, price="11.99", consent=False)
        advance(fresh, 40)
        log = in_store(fresh, "events")["events"]
        assert all(line["event"] != "finished" for line in log)
        return json.dumps(log)


def test_the_same_script_gives_the_same_event_log(thread: str) -> None:
    first = run(thread, scripted())
    assert first.count("renewed") >= 3
    assert '"2026-10-20T10:00:00.000Z"' in first
    assert run(thread, scripted()) == first
    others = [
        run(thread, scripted(8)),
        run(thread, scripted("seven")),
        run(thread, scripted(starts_at=START + 1)),
        run(thread, scripted(sheet="ask_to_buy")),
    ]
    assert len({first, *others}) == 5
    assert run(thread, scripted("seven")) == others[1]


def test_without_a_seed_numbers_differ(thread: str) -> None:
    assert run(thread, scripted(None)) != run(thread, scripted(None))


def test_what_is_bought_at_a_date_of_the_past_counts_there(client: kassa.Client) -> None:
    client.configure(scripted(starts_at=1_600_000_000_000))
    client.purchase(PLAN)
    assert client.has_access(PRODUCT)
    advance(client, 20)
    assert client.has_access(PRODUCT)
    in_store(client, "cancel_subscription")
    advance(client, 20)
    wait(client, lambda: not client.has_access(PRODUCT))


# The clock


def test_store_and_sandbox_have_one_clock(client: kassa.Client) -> None:
    client.configure(configuration())
    client.purchase(PLAN).raise_for_outcome()
    before = client.simulate({"action": "advance", "ms": 0})["now"]
    after = in_store(client, "advance", days=31)["now"]
    assert 31 * 86_400_000 <= after - before < 31 * 86_400_000 + 60_000
    assert client.simulate({"action": "advance", "ms": 0})["now"] >= after
    wait(client, lambda: len(in_store(client, "state")["transactions"]) == 2)


def test_no_clock_is_moved_beyond_the_year_9999(client: kassa.Client) -> None:
    config = configuration()
    config["backend"]["base_url"] = "https://192.0.2.1/"
    del config["backend"]["catalogue"], config["checkout"]
    with pytest.raises(kassa.NetworkError):
        client.configure(config)
    with pytest.raises(kassa.InvalidArgumentError, match="beyond the year 9999"):
        client.simulate({"action": "advance", "ms": 253_402_300_799_999})
    with pytest.raises(kassa.InvalidArgumentError, match="must be 0 to 253402300799999"):
        client.simulate({"action": "advance", "ms": 1 << 50})
    assert client.simulate({"action": "advance", "ms": 1})["now"] < 4_000_000_000_000


# The storefront


def test_a_configured_storefront_wins(thread: str, tmp_path: Path) -> None:
    def country(storefront: str | None) -> str:
        config = configuration()
        config["store"] |= {"storefront": storefront}
        with kassa.Client(storage=tmp_path / "state", thread=thread) as opened:
            opened.configure(config)
            found: str = opened.store_call("storefront")["storefront"]["country_code"]
            if storefront == "GB":
                in_store(opened, "set_storefront", country="FR")
            return found

    assert [country(each) for each in ("DE", "JPN", None, "GB", "GB", None, "US")] == [
        *("DE", "JP", "JP", "GB", "FR", "FR", "US")
    ]


def test_prices_beside_the_plans_follow(client: kassa.Client) -> None:
    client.configure(configuration())

    def price() -> str | None:
        return next(plan for plan in client.plans() if plan.id == PLAN).apple_display_price

    assert price() == "€8.99"
    in_store(client, "price_increase", product_id=MONTHLY, price="10.99", consent=False)
    wait(client, lambda: price() == "€10.99")
    in_store(client, "clear")
    wait(client, lambda: price() == "€8.99")


def test_what_is_cleared_is_gone(client: kassa.Client) -> None:
    client.configure(configuration(receipts=False))
    for plan, product in ((PLAN, PRODUCT), ("plan_lifetime", PRODUCT)):
        client.purchase(plan, method="store").raise_for_outcome()
        assert client.has_access(product)
    events = client.events()
    in_store(client, "clear")
    wait(client, lambda: not client.has_access(PRODUCT))
    assert not client.is_subscribed
    client.poll(0.3)
    while (event := events.take(timeout=0)) is not None:
        assert event.raw.get("code") != "storekit_transaction_unverified"
    assert in_store(client, "state")["transactions"] == []
    client.purchase(PLAN, method="store").raise_for_outcome()
    assert client.has_access(PRODUCT)


def test_what_another_app_sold_grants_nothing(client: kassa.Client, thread: str, tmp_path: Path) -> None:
    config = configuration(receipts=False)
    config["store"]["bundle_id"] = "com.example.one"
    client.configure(config)
    client.purchase(PLAN, method="store").raise_for_outcome()
    assert client.has_access(PRODUCT)
    other = configuration(receipts=False)
    other["store"]["bundle_id"] = "com.example.two"
    client.configure(other)
    assert not client.has_access(PRODUCT)
    assert [each.rule for each in client.entitlements()] == ["wrong_bundle_id"]
    client.configure(config)
    assert client.has_access(PRODUCT)
    client.close()
    for document, counts in ((other, False), (config, True)):
        with kassa.Client(storage=tmp_path / "state", thread=thread) as again:
            again.configure(document)
            assert again.has_access(PRODUCT) == counts


# Mistakes


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"storefront": "XX"}, r'store\.storefront must be a country of ISO 3166 .* \(got "XX"\)'),
        ({"storefront": ""}, r'\(got ""\)'),
        ({"storefront": "ZZZ"}, r'\(got "ZZZ"\)'),
        ({"seed": 1.5}, r"store\.seed must be a whole number or a text"),
        ({"storekit_file": "/dev/null"}, r'store\.storekit_file: "/dev/null" is no regular file'),
        ({"storekit_file": "/"}, r'store\.storekit_file: "/" is a directory'),
        ({"storekit_file": "/nowhere"}, r'store\.storekit_file: "/nowhere" does not exist'),
    ],
)
def test_a_wrong_configuration_is_refused_with_its_value(
    client: kassa.Client, changes: dict[str, Any], problem: str
) -> None:
    config = configuration()
    config["store"] |= changes
    with pytest.raises(kassa.KassaError, match=problem) as caught:
        client.configure(config)
    assert caught.value.code == "invalid_configuration"


def test_a_pipe_and_a_giant_are_no_files(client: kassa.Client, tmp_path: Path) -> None:
    pipe, giant = tmp_path / "pipe", tmp_path / "giant"
    os.mkfifo(pipe)
    with giant.open("wb") as file:
        file.truncate((16 << 20) + 1)
    for path, problem in ((pipe, "is no regular file"), (giant, "is too long: at most 16777216 bytes are read")):
        config = configuration()
        config["store"] |= {"storekit_file": str(path)}
        with pytest.raises(kassa.KassaError, match=problem):
            client.configure(config)


def test_an_action_of_the_store_without_its_target(client: kassa.Client) -> None:
    client.configure(configuration())
    with pytest.raises(kassa.InvalidArgumentError, match='add "target":"store"'):
        client.simulate({"action": "renew"})
    with pytest.raises(kassa.InvalidArgumentError, match="did you mean"):
        client.simulate({"action": "renwe", "target": "store"})


def test_the_host_may_be_unable_to_show_a_sheet(client: kassa.Client) -> None:
    client.configure(configuration(sheet="host"))
    for reply, code, message in (
        ({"error": {"code": "permission_denied", "message": "no window"}}, "permission_denied", "no window"),
        ({"error": {"message": "no window"}}, "store_failed", "no window"),
        ({"decision": "perhaps"}, "store_failed", "decision must be one of"),
    ):
        asked = client.events()
        operation = client.start.purchase(PLAN, method="store")
        sheet: kassa.Request | None = None
        while sheet is None:
            event = asked.take(timeout=10)
            sheet = event if isinstance(event, kassa.Request) else None
        assert (sheet.service, sheet.method) == ("store", "sheet")
        client.respond(sheet.id, reply)
        with pytest.raises(kassa.KassaError, match=message) as caught:
            operation.wait(timeout=10)
        assert caught.value.code == code


# Long absences


def test_closing_does_not_wait_for_hundreds_of_renewals(thread: str, tmp_path: Path) -> None:
    config = configuration(receipts=False)
    config["store"]["storekit_file"] = str(storekit(tmp_path, _timeRate=1005))
    with kassa.Client(storage=tmp_path / "state", thread=thread) as opened:
        opened.configure(config)
        opened.purchase(PLAN).raise_for_outcome()
        opened.start.simulate({"action": "advance", "days": 30})
        # In host mode all work is done within calls, and none takes long.
        for _ in range(50):
            began = time.monotonic()
            opened._take(0)
            assert time.monotonic() - began < 1
        began = time.monotonic()
        opened.close()
        assert time.monotonic() - began < 2
    # What nobody heard of comes with the next start.
    with kassa.Client(storage=tmp_path / "state", thread=thread) as again:
        again.configure(config)
        renewals = len(in_store(again, "state")["transactions"])
        assert renewals > 500
        wait(again, lambda: all(each["finished"] for each in in_store(again, "state")["transactions"][:400]), 60)
