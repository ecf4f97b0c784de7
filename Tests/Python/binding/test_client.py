"""The blocking client on the sandbox in this process."""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

import kassa
import pytest
from support import COMPANY, KEY, PLAN, PRODUCT, configuration

Shop = kassa.Client


def test_the_whole_story(client: kassa.Client) -> None:
    assert not client.is_initialized
    assert not client.plans()
    assert not client.memberships()
    assert not client.entitlements()
    assert not client.has_access(PRODUCT)
    assert client.configure(configuration()) == "network"
    assert client.is_initialized
    assert client.supports_external_purchases
    assert PLAN in {plan.id for plan in client.plans()}
    assert client.explain(PRODUCT).answer == "no"

    bought = client.purchase(PLAN, method="whop").raise_for_outcome()
    assert bought.plan_id == PLAN
    assert bought.receipt_id is not None
    # S130: what was bought is listed at once.
    assert client.has_access(PRODUCT)
    assert client.is_subscribed
    (membership,) = client.memberships()
    assert (membership.product_id, membership.is_active, membership.is_claimed) == (PRODUCT, True, False)
    assert membership.sandbox

    login = client.log_in("user-1", {"plan": "gold"})
    assert login.app_user_id == client.app_user_id == "user-1"
    assert login.claimed == (membership.id,)
    assert client.has_access(PRODUCT)

    client.log_out()
    assert client.app_user_id is None
    assert not client.has_access(PRODUCT)
    assert [source.rule for source in client.explain(PRODUCT).considered] == ["not_visible"]

    assert client.log_in("user-1").claimed == ()
    assert client.restore_purchases().restored
    assert client.has_access(PRODUCT)
    (entitlement,) = client.entitlements()
    assert (entitlement.id, entitlement.active, entitlement.from_) == (membership.id, True, "network")


def test_keys_and_documents_configure_alike(client: kassa.Client) -> None:
    config = configuration()
    assert client.configure(config) == "network"
    before = client.revision
    assert client.configure({"checkout": config["checkout"]}, backend=config["backend"]) == "network"
    assert client.revision >= before > 0


def test_plans_load_anew(shop: Shop) -> None:
    assert shop.refresh_plans() == shop.plans()


@pytest.mark.parametrize(
    ("outcome", "config"),
    [("disabled", {"enabled": False})],
)
def test_an_outcome_is_no_error_until_asked(client: kassa.Client, outcome: str, config: dict[str, Any]) -> None:
    client.configure(configuration(**config))
    result = client.purchase(PLAN)
    assert result.outcome == outcome
    with pytest.raises(kassa.PurchaseDisabled):
        result.raise_for_outcome()


def test_s093_a_new_purchase_within_the_failure_of_another_ends_once_too(client: kassa.Client) -> None:
    client.configure(configuration(checkout={"presenter": "simulated", "card": "4000 0000 0000 0002"}))
    failures: list[kassa.PaymentError] = []

    def buy(again: int) -> None:
        try:
            client.purchase(PLAN)
        except kassa.PaymentError as error:
            failures.append(error)
            if again:
                buy(again - 1)

    buy(again=2)
    assert len(failures) == 3
    assert all(error.code == "payment_failed" and error.reason for error in failures)
    assert not client.has_access(PRODUCT)


@pytest.mark.parametrize("amount", [39.99, 114.99, 0.3, 9800, 0.07])
def test_s039_prices_cross_exactly(client: kassa.Client, amount: float) -> None:
    plan = {"id": PLAN, "product_id": PRODUCT, "title": "One", "plan_type": "one_time", "initial_price": amount}
    catalogue = {
        "account": {"id": COMPANY, "title": "Shop", "route": "shop"},
        "products": [{"id": PRODUCT, "title": "Product"}],
        "plans": [plan],
        "api_keys": [{"key": KEY, "permissions": ["*"]}],
        "users": [],
    }
    client.configure(configuration(backend={"catalogue": catalogue}))
    (found,) = client.plans()
    assert found.initial_price == amount
    assert found.initial_price_money.amount == Decimal(str(amount))
    assert found.initial_price_money.amount_micros == int(Decimal(str(amount)) * 1_000_000)


def test_s018_s019_s023_access_ends_to_the_millisecond_and_is_told_once(shop: Shop) -> None:
    membership = shop.purchase(PLAN).membership
    assert membership is not None
    end = membership.renewal_period_end
    assert end is not None
    shop.simulate({"action": "cancel_membership", "membership_id": membership.id, "cancel_at_period_end": True})
    shop.restore_purchases()
    now = shop.explain(PRODUCT).clock.now
    shop.simulate({"action": "advance", "ms": (end - now) // timedelta(milliseconds=1) - 1500})
    events = shop.events()
    shop.refresh_plans()

    sides: set[bool] = set()
    deadline = time.monotonic() + 10
    while len(sides) < 2 and time.monotonic() < deadline:
        explanation = shop.explain(PRODUCT)
        (source,) = explanation.considered
        assert (source.rule, source.ends_at) == ("period_end", end)
        assert explanation.access == source.active == (explanation.clock.now < end)
        # Asked a moment later, it may have ended meanwhile, and never has it come back.
        assert explanation.access or not (shop.has_access(PRODUCT) or shop.is_subscribed or shop.memberships())
        sides.add(explanation.access)
        shop.poll()
    assert sides == {True, False}
    expiries = [each for each in drain(events) if isinstance(each, kassa.Changed) and each.cause == "expiry"]
    assert [each.what for each in expiries] == ["entitlements"]


IDS = ["", " ", "a/b", "..", "%2F", "\U0001f600", "\u202eabc", "a\0b", "e\u0301", "\u00e9", "x" * 10_240, "?#+_ &="]


@pytest.mark.parametrize("user", IDS)
def test_s087_an_id_works_byte_for_byte_or_is_refused(shop: Shop, user: str) -> None:
    try:
        login = shop.log_in(user)
    except kassa.InvalidArgumentError:
        assert user == "" or "\0" in user or len(user.encode()) > 500
        assert shop.app_user_id is None
    else:
        assert login.app_user_id == shop.app_user_id == user


@pytest.mark.parametrize("product", IDS)
def test_s087_any_product_may_be_asked_for(shop: Shop, product: str) -> None:
    if "\0" in product:
        with pytest.raises(kassa.InvalidArgumentError):
            shop.has_access(product)
    else:
        assert not shop.has_access(product)
        assert shop.explain(product).product_id == product


# Wrong calls


def test_operations_before_configure_fail(client: kassa.Client) -> None:
    for operation in (client.refresh_plans, client.restore_purchases, lambda: client.purchase(PLAN)):
        with pytest.raises(kassa.NotConfiguredError):
            operation()


def test_s091_a_misspelt_key_is_named_with_the_nearest(client: kassa.Client) -> None:
    config = configuration()
    with pytest.raises(kassa.ConfigurationError, match="offline") as caught:
        client.configure(config, ofline={"days": 3})
    assert caught.value.code == "invalid_configuration"
    assert not client.is_initialized


@pytest.mark.parametrize("action", [{"deep": float("nan")}, {"object": object()}])
def test_what_is_no_json_is_refused(shop: Shop, action: dict[str, Any]) -> None:
    with pytest.raises(kassa.InvalidArgumentError):
        shop.simulate(action)


def test_a_document_that_is_too_deep_is_refused(shop: Shop) -> None:
    deep: dict[str, Any] = {}
    for _ in range(900):
        deep = {"deeper": deep}
    with pytest.raises(kassa.KassaError):
        shop.simulate(deep)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [kassa.Client, kassa.AsyncClient])
def test_wrong_options_are_refused(kind: type[kassa.Client | kassa.AsyncClient]) -> None:
    with pytest.raises(kassa.InvalidArgumentError):
        kind("not/an/id")
    with pytest.raises(kassa.KassaError):
        kind(storage="/proc/nowhere")
    gc.collect()


def test_a_closed_client_says_so(client: kassa.Client) -> None:
    client.close()
    client.close()
    assert client.closed
    assert "closed" in repr(client)
    calls: list[Callable[[], object]] = [
        client.plans,
        client.refresh_plans,
        client.log_out,
        client.fileno,
        lambda: client.is_subscribed,
        lambda: client.has_access(PRODUCT),
        lambda: client.configure(configuration()),
    ]
    for call in calls:
        with pytest.raises(kassa.ClosedError):
            call()
    assert list(kassa.Events(client)) == []


# Operations under way


def test_operations_start_without_waiting(shop: Shop) -> None:
    first, second = shop.start.refresh_plans(), shop.start.restore_purchases()
    assert first.number != second.number
    assert not second.wait(10).restored
    assert first.done
    assert "done" in repr(first)
    assert first.wait() == first.wait() == shop.plans()
    assert not first.cancel()


@pytest.fixture
def endless(client: kassa.Client) -> kassa.Client:
    """A client whose checkout a person has to answer, and nobody does."""
    client.configure(configuration(presenter="host"))
    requests = client.events()
    client.__dict__["requests"] = requests
    return client


def test_a_wait_that_times_out_leaves_the_operation(endless: kassa.Client) -> None:
    purchase = endless.start.purchase(PLAN)
    with pytest.raises(TimeoutError):
        purchase.wait(0.05)
    assert not purchase.done
    with pytest.raises(kassa.PurchaseError) as caught:
        endless.purchase(PLAN)
    assert caught.value.code == "purchase_in_progress"
    assert purchase.cancel()
    assert purchase.wait(10).outcome == "cancelled"


def test_a_call_that_times_out_ends_its_operation(endless: kassa.Client) -> None:
    for _ in range(2):
        with pytest.raises(TimeoutError):
            endless.purchase(PLAN, timeout=0.05)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            purchase = endless.start.purchase(PLAN)
            try:
                purchase.wait(0.05)
            except TimeoutError:
                break
            except kassa.PurchaseError:
                continue
        purchase.cancel()
        assert purchase.wait(10).outcome == "cancelled"


def test_ctrl_c_ends_a_wait_and_its_operation(endless: kassa.Client) -> None:
    # Whoever starts the tests in the background has the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        endless.purchase(PLAN)
    assert time.monotonic() - began < 2


def test_closing_ends_the_waits_of_other_threads(endless: kassa.Client) -> None:
    ends: list[object] = []

    def wait(call: Callable[[], object]) -> None:
        try:
            ends.append(call())
        except kassa.KassaError as error:
            ends.append(error.code)

    events = endless.events()
    calls: list[Callable[[], object]] = [lambda: endless.purchase(PLAN), lambda: list(events)]
    threads = [threading.Thread(target=wait, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    endless.close()
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)
    assert "closed" in ends
    assert len(ends) == 2


# Requests


def test_s095_a_handler_answers_in_the_thread_that_waits(client: kassa.Client) -> None:
    seen: list[tuple[int, kassa.Request]] = []

    @client.on_request("checkout/present")
    def present(request: kassa.Request) -> dict[str, Any]:
        seen.append((threading.get_ident(), request))
        client.simulate({"action": "complete_checkout", "url": request.params["url"]})
        return {"outcome": "returned"}

    client.configure(configuration(presenter="host"))
    assert client.purchase(PLAN).purchased
    ((thread, request),) = seen
    assert thread == threading.get_ident()
    assert (request.service, request.method, request.params["plan_id"]) == ("checkout", "present", PLAN)


def test_a_handler_that_raises_fails_the_operation_with_its_message(client: kassa.Client) -> None:
    @client.on_request("checkout/present")
    def present(_: kassa.Request) -> dict[str, Any]:
        raise RuntimeError("the window has no screen")

    client.configure(configuration(presenter="host"))
    with pytest.raises(kassa.PurchaseError, match="no screen") as caught:
        client.purchase(PLAN)
    assert caught.value.code == "checkout_failed"


def test_a_handler_that_returns_no_reply_fails_the_operation(client: kassa.Client) -> None:
    client.on_request("checkout/present")(lambda _: None)
    client.configure(configuration(presenter="host"))
    with pytest.raises(kassa.PurchaseError, match="NoneType"):
        client.purchase(PLAN)


def test_a_request_that_nobody_reads_is_refused(client: kassa.Client) -> None:
    client.configure(configuration(presenter="host"))
    with pytest.raises(kassa.ConfigurationError, match="checkout/present") as caught:
        client.purchase(PLAN)
    assert caught.value.code == "unsupported"


def test_a_request_without_a_handler_goes_to_iterators(client: kassa.Client) -> None:
    client.configure(configuration(presenter="host"))
    events = client.events()
    purchase = client.start.purchase(PLAN)
    request = next(event for event in events if isinstance(event, kassa.Request))
    assert client.respond(request.id, {"outcome": "cancelled"})
    assert not client.respond(request.id, {"outcome": "cancelled"})
    assert purchase.wait(10).outcome == "cancelled"


def test_a_request_is_withdrawn_when_its_operation_ends(client: kassa.Client) -> None:
    client.configure(configuration(presenter="host"))
    events = client.events()
    purchase = client.start.purchase(PLAN)
    request = next(event for event in events if isinstance(event, kassa.Request))
    purchase.cancel()
    assert purchase.wait(10).outcome == "cancelled"
    assert kassa.RequestCancelled.of({"id": request.id}) in drain(events)


def test_an_access_token_is_asked_of_its_handler(client: kassa.Client) -> None:
    reasons: list[str] = []

    @client.on_request("auth/access_token")
    def token(request: kassa.Request) -> str:
        reasons.append(request.params["reason"])
        return "not a token of the sandbox"

    config = configuration()
    del config["backend"]["api_key"]
    config["backend"]["access_token"] = "host"
    with pytest.raises(kassa.AuthorizationError):
        client.configure(config)
    assert reasons[0] == "first"


# Events


def drain(events: kassa.Events) -> list[kassa.Document]:
    return list(iter(lambda: events.take(0.2), None))


def test_s133_every_iterator_sees_every_change_from_its_creation_on(shop: Shop) -> None:
    first, second = shop.events(), shop.events()
    shop.purchase(PLAN)
    late = shop.events()
    changes = [event for event in drain(first) if isinstance(event, kassa.Changed)]
    assert ("entitlements", "purchase") in {(change.what, change.cause) for change in changes}
    assert [event for event in drain(second) if isinstance(event, kassa.Changed)] == changes
    assert not [event for event in drain(late) if isinstance(event, kassa.Changed) and event.cause == "purchase"]


def test_s133_iterators_come_and_go_within_an_iteration(shop: Shop) -> None:
    events = shop.events()
    shop.purchase(PLAN)
    others: list[kassa.Events] = []
    for event in events:
        others.append(shop.events())
        shop.log_in(f"user-{len(others)}")
        if len(others) > 3:
            others.clear()
            break
        assert isinstance(event, kassa.Document)
    gc.collect()
    assert len(shop._mailboxes) == 1


def test_s134_changes_say_their_cause(shop: Shop) -> None:
    events = shop.events()
    shop.log_in("user-1")
    assert ("identity", "login") in {
        (each.what, each.cause) for each in drain(events) if isinstance(each, kassa.Changed)
    }
    shop.log_out()
    assert ("identity", "logout") in {
        (each.what, each.cause) for each in drain(events) if isinstance(each, kassa.Changed)
    }


def test_a_client_without_a_place_on_disk_says_so(monkeypatch: pytest.MonkeyPatch, thread: str) -> None:
    monkeypatch.delenv("KASSA_APP_ID", raising=False)
    with kassa.Client(thread=thread) as client:
        codes = {event.code for event in drain(client.events()) if isinstance(event, kassa.Diagnostic)}
    assert "storage_in_memory" in codes


def test_the_descriptor_is_readable_while_there_is_something_to_do(shop: Shop) -> None:
    purchase = shop.start.purchase(PLAN)
    readable = select.poll()
    readable.register(shop, select.POLLIN)
    while not purchase.done:
        assert readable.poll(10_000)
        shop.poll()
    assert purchase.wait().purchased


def test_poll_does_what_is_due(shop: Shop) -> None:
    purchase = shop.start.purchase(PLAN)
    deadline = time.monotonic() + 10
    while not purchase.done and time.monotonic() < deadline:
        shop.poll(0.01)
    assert purchase.wait(0).purchased


# Threads and memory


def test_s094_operations_survive_the_garbage_collector(shop: Shop) -> None:
    kept: list[kassa.Operation[Mapping[str, Any]]] = []
    for number in range(1000):
        operation = shop.start.simulate({"action": "clear_faults"})
        if number % 2:
            kept.append(operation)
        if number % 50 == 0:
            gc.collect()
    del operation
    assert all(operation.wait(30) == {"faults": 0} for operation in kept)
    kept.clear()
    gc.collect()
    assert len(shop._operations) == 0


def test_any_number_of_threads_may_wait_at_once(shop: Shop) -> None:
    problems: list[BaseException] = []
    stop = threading.Event()

    def work() -> None:
        try:
            for _ in range(20):
                assert not shop.restore_purchases().restored
            assert shop.refresh_plans() == shop.plans()
        except BaseException as error:
            problems.append(error)

    def listen() -> None:
        events = shop.events()
        while not stop.is_set():
            events.take(0.05)

    listeners = [threading.Thread(target=listen) for _ in range(2)]
    workers = [threading.Thread(target=work) for _ in range(8)]
    for thread in (*listeners, *workers):
        thread.start()
    for thread in workers:
        thread.join(60)
    stop.set()
    for thread in listeners:
        thread.join(5)
    assert problems == []
    assert not any(thread.is_alive() for thread in (*listeners, *workers))


def test_s098_opening_and_closing_leaves_nothing_behind(thread: str) -> None:
    def resources() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    with kassa.Client(storage=":memory:", thread=thread) as client:
        client.configure(configuration())
    before = resources()
    for _ in range(200):
        with kassa.Client(storage=":memory:", thread=thread) as client:
            client.configure(configuration())
    assert resources() == before


def test_a_client_that_is_forgotten_is_closed(thread: str) -> None:
    client = kassa.Client(storage=":memory:", thread=thread)
    descriptor = client.fileno()
    del client
    gc.collect()
    with pytest.raises(OSError):
        os.fstat(descriptor)


def test_the_shared_client_is_one_until_it_is_closed() -> None:
    first = kassa.shared()
    with contextlib.closing(first):
        assert kassa.shared() is first
    with contextlib.closing(kassa.shared()) as second:
        assert second is not first
        assert not second.closed
