"""Selling in a store: the same scenarios on a host's own store, the example's toy shop, and on the simulated one."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kassa
import pytest
from support import PLAN, PRODUCT, ROOT, configuration, example

host_store = example("host_store")

MAPPINGS = {"plan_mappings": [{"whop_id": PLAN, "apple_id": "monthly"}]}
SHOP_FILE = {
    "products": [],
    "subscriptionGroups": [
        {
            "id": "1",
            "localizations": [],
            "name": "Pro",
            "subscriptions": [
                {
                    "displayPrice": "9.99",
                    "familyShareable": False,
                    "groupNumber": 1,
                    "internalID": "2",
                    "localizations": [],
                    "productID": "monthly",
                    "recurringSubscriptionPeriod": "P1M",
                    "referenceName": "Monthly",
                    "subscriptionGroupID": "1",
                    "type": "RecurringSubscription",
                }
            ],
        }
    ],
    "settings": {},
    "version": {"major": 4, "minor": 0},
}


class HostSeller:
    """A host's own store."""

    def __init__(self) -> None:
        self.shop = host_store.ToyShop()
        self.store = {
            "kind": "host",
            "platform": "google",
            "bundle_id": host_store.PACKAGE,
            "google_public_key": self.shop.public_key,
        }

    def open(self, client: kassa.Client, **keys: Any) -> None:
        host_store.Adapter(client, self.shop)
        client.configure(configuration(backend=MAPPINGS, store=self.store, **keys))

    def let_the_user_cancel(self, _: kassa.Client) -> None:
        self.shop.wallet = 0

    def refund(self, _: kassa.Client, receipt_id: str) -> None:
        self.shop.refund(next(token for token, bought in self.shop.purchases.items() if receipt_id in bought["json"]))


class SimulatedSeller:
    """The simulated App Store."""

    def __init__(self, directory: Path) -> None:
        path = directory / "shop.storekit"
        path.write_text(json.dumps(SHOP_FILE))
        self.store = {"kind": "simulated", "storekit_file": str(path)}

    def open(self, client: kassa.Client, **keys: Any) -> None:
        client.configure(configuration(backend=MAPPINGS, store=self.store, **keys))

    def let_the_user_cancel(self, client: kassa.Client) -> None:
        client.simulate({"target": "store", "action": "set_policy", "policy": "cancel"})

    def refund(self, client: kassa.Client, receipt_id: str) -> None:
        client.simulate({"target": "store", "action": "refund", "transaction_id": receipt_id})


Seller = Any


@pytest.fixture(params=["host", "simulated"])
def seller(request: pytest.FixtureRequest, tmp_path: Path) -> Seller:
    return HostSeller() if request.param == "host" else SimulatedSeller(tmp_path)


@pytest.fixture
def host() -> HostSeller:
    return HostSeller()


def until_changed(events: Iterator[kassa.Document]) -> None:
    next(event for event in events if isinstance(event, kassa.Changed) and event.what == "entitlements")


# On both


def test_a_purchase_grants_at_once(client: kassa.Client, seller: Seller) -> None:
    seller.open(client)
    result = client.purchase(PLAN, "store").raise_for_outcome()
    assert client.has_access(PRODUCT)
    assert client.is_subscribed
    assert (result.method, result.membership) == ("store", None)
    assert result.transaction is not None
    assert result.transaction.store_product_id == "monthly"
    assert (result.transaction.plan_id, result.transaction.product_id) == (PLAN, PRODUCT)
    assert result.receipt_id == result.transaction.id
    assert [entitlement.source for entitlement in client.entitlements()] == ["store"]


def test_a_user_who_leaves_the_sheet_has_bought_nothing(client: kassa.Client, seller: Seller) -> None:
    seller.open(client)
    seller.let_the_user_cancel(client)
    assert client.purchase(PLAN, "store").outcome == "cancelled"
    assert not client.has_access(PRODUCT)


def test_s123_a_refund_ends_access(client: kassa.Client, seller: Seller) -> None:
    seller.open(client)
    bought = client.purchase(PLAN, "store").raise_for_outcome()
    events = client.events()
    assert bought.receipt_id is not None
    seller.refund(client, bought.receipt_id)
    until_changed(events)
    assert not client.has_access(PRODUCT)
    assert [entitlement.status for entitlement in client.entitlements()] == ["revoked"]


def test_a_purchase_outlives_the_program(thread: str, seller: Seller, tmp_path: Path) -> None:
    for run in range(2):
        with kassa.Client(storage=tmp_path / "state", thread=thread) as client:
            seller.open(client)
            if run == 0:
                client.purchase(PLAN, "store").raise_for_outcome()
            assert client.has_access(PRODUCT)


def test_the_store_of_another_country_sells_by_default(client: kassa.Client, seller: Seller) -> None:
    if isinstance(seller, SimulatedSeller):
        seller.store["storefront"] = "DEU"
    seller.open(client)
    assert not client.supports_external_purchases
    storefront = client.explain(PRODUCT).storefront
    assert storefront is not None
    assert (storefront.country_code, storefront.source) == ("DE", "store")
    assert client.purchase(PLAN).raise_for_outcome().method == "store"


# On the host's own


def test_what_was_bought_is_finished_only_once_it_is_kept(client: kassa.Client, host: HostSeller) -> None:
    host.open(client)
    client.purchase(PLAN, "store").raise_for_outcome()
    # Nobody waits for it: the request is served with whatever the program does next.
    client.restore_purchases()
    assert [bought["done"] for bought in host.shop.purchases.values()] == [True]


def test_s005_an_answer_that_was_lost_after_the_charge_is_found_again(client: kassa.Client, host: HostSeller) -> None:
    host.open(client)
    host.shop.loses_answers = True
    with pytest.raises(kassa.NetworkError, match="no answer from the shop"):
        client.purchase(PLAN, "store")
    host.shop.loses_answers = False
    assert client.restore_purchases().restored
    assert client.has_access(PRODUCT)
    assert [bought["done"] for bought in host.shop.purchases.values()] == [True]


def test_a_forged_purchase_is_neither_granted_nor_finished(client: kassa.Client, host: HostSeller) -> None:
    other = host_store.ToyShop()
    host.shop.sign = other.sign
    host.open(client)
    events = client.events()
    with pytest.raises(kassa.StoreError, match="signature") as caught:
        client.purchase(PLAN, "store")
    assert (caught.value.code, caught.value.reason) == ("storekit_transaction_unverified", "wrong_signature")
    assert not client.has_access(PRODUCT)
    assert [bought["done"] for bought in host.shop.purchases.values()] == [False]
    diagnostics = [event.code for event in iter(lambda: events.take(0.2), None) if isinstance(event, kassa.Diagnostic)]
    assert diagnostics.count("storekit_transaction_unverified") == 1


def test_a_wrong_reply_is_named_with_its_place(client: kassa.Client, host: HostSeller) -> None:
    host.open(client)

    @client.on_request("store/purchase")
    def purchase(_: kassa.Request) -> dict[str, Any]:
        return {"outcome": "purchased", "transaction": {"store": "google", "type": "subs"}}

    with pytest.raises(kassa.StoreError, match=r"transaction\.product_id is missing") as caught:
        client.purchase(PLAN, "store")
    assert (caught.value.code, caught.value.reason) == ("store_failed", "invalid_reply")


def test_an_error_of_the_adapter_keeps_its_code(client: kassa.Client, host: HostSeller) -> None:
    host.open(client)

    @client.on_request("store/purchase")
    def purchase(_: kassa.Request) -> dict[str, Any]:
        raise kassa.KassaError("the shop is closed", code="service_unavailable")

    with pytest.raises(kassa.NetworkError, match="the shop is closed") as caught:
        client.purchase(PLAN, "store")
    assert caught.value.retryable


def test_a_program_without_an_adapter_is_told_so(client: kassa.Client, host: HostSeller) -> None:
    client.configure(configuration(backend=MAPPINGS, store=host.store))
    with pytest.raises(kassa.ConfigurationError, match="store/products"):
        client.purchase(PLAN, "store")


def test_a_store_that_nobody_can_check_is_not_asked_to_sell(client: kassa.Client, host: HostSeller) -> None:
    host.store = {"kind": "host", "platform": "steam"}
    host.open(client)
    with pytest.raises(kassa.StoreError, match="steam") as caught:
        client.purchase(PLAN, "store")
    assert caught.value.code == "unsupported_store"
    assert not host.shop.purchases


def test_what_is_left_of_a_store_that_nobody_can_check(client: kassa.Client, host: HostSeller) -> None:
    host.store = {"kind": "host", "platform": "steam"}
    host.open(client)
    assert client.store_call("storefront")["storefront"]["country_code"] == "DE"
    assert client.store_call("entitlements") == {"transactions": []}
    assert not client.restore_purchases().restored
    parameters = {"begin_refund": {"transaction_id": "1"}, "subscription_status": {"group_id": "g"}}
    for method in [
        "manage_subscriptions",
        "present_code_redemption",
        "can_make_payments",
        "begin_refund",
        "subscription_status",
        "app_transaction",
        "messages",
        "display_message",
    ]:
        with pytest.raises(kassa.StoreError, match="steam") as caught:
            client.store_call(method, parameters.get(method, {"id": "m1"} if method == "display_message" else {}))
        assert caught.value.code == "unsupported_store"
    assert [plan.apple_display_price for plan in client.plans() if plan.id == PLAN] == [None]


@pytest.mark.parametrize("method", ["storefront", "entitlements"])
def test_a_question_without_parameters_takes_none(client: kassa.Client, host: HostSeller, method: str) -> None:
    host.open(client)
    with pytest.raises(kassa.InvalidArgumentError, match=r"params\.bogus is not a known key"):
        client.store_call(method, {"bogus": 1})


@pytest.mark.parametrize("has_key", [True, False])
def test_google_without_its_key_is_warned_of_once(client: kassa.Client, host: HostSeller, has_key: bool) -> None:
    if not has_key:
        del host.store["google_public_key"]
    events = client.events()
    host.open(client)
    host.open(client)
    codes = [event.code for event in iter(lambda: events.take(0.2), None) if isinstance(event, kassa.Diagnostic)]
    assert codes == ([] if has_key else ["google_public_key_missing"])
    if not has_key:
        with pytest.raises(kassa.StoreError, match="google_public_key") as caught:
            client.purchase(PLAN, "store")
        assert caught.value.reason == "not_verified"


def test_two_consumables_are_two_purchases(client: kassa.Client, host: HostSeller) -> None:
    host_store.Adapter(client, host.shop)
    mappings = {"plan_mappings": [{"whop_id": "plan_lifetime", "apple_id": "coins"}]}
    client.configure(configuration(backend=mappings, store=host.store))
    receipts = set()
    for _ in range(2):
        receipts.add(client.purchase("plan_lifetime", "store").raise_for_outcome().receipt_id)
        client.restore_purchases()  # serves the request that uses it up
        assert not host.shop.purchases
    assert receipts == {"GPA.1", "GPA.2"}
    assert {entitlement.id for entitlement in client.entitlements()} == receipts


@pytest.mark.parametrize(("plan", "options"), [("plan_lifetime", {"quantity": 2}), (PLAN, {"offer": {"id": "spring"}})])
def test_the_example_sells_nothing_else_than_was_ordered(
    client: kassa.Client, host: HostSeller, plan: str, options: dict[str, Any]
) -> None:
    host_store.Adapter(client, host.shop)
    mappings = [*MAPPINGS["plan_mappings"], {"whop_id": "plan_lifetime", "apple_id": "coins"}]
    client.configure(configuration(backend={"plan_mappings": mappings}, store=host.store))
    with pytest.raises(kassa.ConfigurationError) as caught:
        client.purchase(plan, "store", **options)
    assert caught.value.code == "unsupported"
    assert not host.shop.purchases


def test_another_quantity_counts_and_is_told_of(client: kassa.Client, host: HostSeller) -> None:
    adapter = host_store.Adapter(client, host.shop)
    mappings = {"plan_mappings": [{"whop_id": "plan_lifetime", "apple_id": "coins"}]}
    client.configure(configuration(backend=mappings, store=host.store))
    events = client.events()

    @client.on_request("store/purchase")
    def one_too_few(_: kassa.Request) -> dict[str, Any]:
        return {"outcome": "purchased", "transaction": adapter.transaction(host.shop.buy("coins", None))}

    bought = client.purchase("plan_lifetime", "store", quantity=2).raise_for_outcome()
    assert bought.transaction is not None
    assert bought.transaction.quantity == 1
    told = next(event for event in events if isinstance(event, kassa.Diagnostic))
    assert told.code == "quantity_differs"
    assert (told.details["ordered"], told.details["bought"]) == (2, 1)


def test_what_play_lists_no_more_ends_as_the_adapter_says(
    client: kassa.Client, host: HostSeller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(host_store.CATALOGUE, "life", ("non_consumable", "For ever", 9_990_000))
    adapter = host_store.Adapter(client, host.shop)
    mappings = {"plan_mappings": [{"whop_id": "plan_lifetime", "apple_id": "life"}]}
    client.configure(configuration(backend=mappings, store=host.store))
    client.purchase("plan_lifetime", "store").raise_for_outcome()
    kept = {token: adapter.transaction(bought) for token, bought in host.shop.purchases.items()}
    listed = dict(host.shop.purchases)
    host.shop.purchases.clear()
    # Of itself the list does not end what is no subscription.
    assert client.restore_purchases().restored

    def owned(_: kassa.Request) -> dict[str, Any]:
        lost = [
            {**document, "revoked_at": 1, "revocation_reason": "not_listed"}
            for token, document in kept.items()
            if token not in host.shop.purchases
        ]
        return {"transactions": [*map(adapter.transaction, host.shop.purchases.values()), *lost]}

    client.on_request("store/entitlements")(owned)
    assert not client.restore_purchases().restored
    assert not client.is_subscribed
    host.shop.purchases.update(listed)
    assert client.restore_purchases().restored


def test_what_is_bought_elsewhere_is_told_of(client: kassa.Client, host: HostSeller) -> None:
    host.open(client)
    events = client.events()
    host.shop.listener(host.shop.buy("monthly", None))
    updated = next(event for event in events if isinstance(event, kassa.TransactionUpdated))
    assert updated.transaction.plan_id == PLAN
    assert client.has_access(PRODUCT)


def test_an_intent_is_told_of_where_the_program_wants_it(client: kassa.Client, host: HostSeller) -> None:
    host.open(client, purchase_intents="manual")
    events = client.events()
    assert client.notify({"type": "purchase_intent", "product_id": "monthly"})
    intent = next(event for event in events if isinstance(event, kassa.PurchaseIntent))
    assert client.purchase(intent.name, **intent.options).purchased


def test_a_message_is_passed_on(client: kassa.Client, host: HostSeller) -> None:
    host.open(client)
    events = client.events()
    assert client.notify({"type": "store_message", "message": {"id": "m1", "reason": "billing_issue"}})
    message = next(event for event in events if isinstance(event, kassa.StoreMessage))
    assert message.message["id"] == "m1"


def test_what_is_said_before_configure_is_kept_up_to_a_number(client: kassa.Client, host: HostSeller) -> None:
    events = client.events()
    assert client.notify({"type": "junk"})
    assert all(client.notify({"type": "foreground"}) for _ in range(99))
    assert events.take(0.2) is None
    assert [client.notify({"type": "foreground"}) for _ in range(2)] == [False, False]
    host.open(client)
    found = [event for event in iter(lambda: events.take(0.2), None) if isinstance(event, kassa.Diagnostic)]
    assert [event.code for event in found] == ["notification_refused"] * 2
    assert "100 events" in found[0].message
    assert "junk" in found[1].message


def test_what_is_no_event_is_refused_with_its_place(client: kassa.Client, host: HostSeller) -> None:
    host.open(client)
    events = client.events()
    assert not client.notify({"type": "purchase_intent", "product": "monthly"})
    refused = next(event for event in events if isinstance(event, kassa.Diagnostic))
    assert refused.code == "notification_refused"
    assert 'did you mean "product_id"?' in refused.message


def test_the_store_is_asked_what_only_it_knows(client: kassa.Client, host: HostSeller) -> None:
    host.open(client)
    assert client.store_call("can_make_payments") == {"can_make_payments": True}
    assert client.start.store_call("storefront").wait(10)["storefront"]["country_code"] == "DE"
    with pytest.raises(kassa.InvalidArgumentError, match="transaction_id is missing"):
        client.store_call("begin_refund")
    with pytest.raises(kassa.InvalidArgumentError, match="begin_refund"):
        client.store_call("begin_refunds")
    with pytest.raises(kassa.ConfigurationError, match="store/messages"):
        client.store_call("messages")


def test_the_asyncio_client_sells_as_well(host: HostSeller) -> None:
    async def sell() -> None:
        async with kassa.AsyncClient(storage=":memory:") as client:
            host_store.Adapter(client, host.shop)
            await client.configure(configuration(backend=MAPPINGS, store=host.store))
            assert (await client.purchase(PLAN, "store", offer="none")).purchased
            assert client.has_access(PRODUCT)
            assert (await client.store_call("can_make_payments"))["can_make_payments"]
            events = client.events()
            assert client.notify({"type": "store_message", "message": {"id": "m1", "reason": "generic"}})
            assert isinstance(await asyncio.wait_for(events.__anext__(), 10), kassa.StoreMessage)

    asyncio.run(sell())


def test_apple_pay_is_the_hosts(client: kassa.Client) -> None:
    client.configure(configuration(presenter="host"))
    asked = []

    @client.on_request("checkout/apple_pay")
    def pay(request: kassa.Request) -> dict[str, Any]:
        asked.append(request.params)
        return {"outcome": "cancelled"}

    assert client.purchase(PLAN, "apple_pay", label="subscribe").outcome == "cancelled"
    assert (asked[0]["label"], asked[0]["plan_id"]) == ("subscribe", PLAN)


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ({"outcome": "failed", "message": "no luck"}, "payment_failed"),
        ({"error": {"message": "no luck"}}, "checkout_failed"),
        ({"error": {"code": "unsupported", "message": "no luck"}}, "unsupported"),
    ],
)
def test_apple_pay_fails_as_its_page_says(client: kassa.Client, reply: dict[str, Any], code: str) -> None:
    page = (ROOT / "docs" / "apple-pay.md").read_text()
    assert code == "unsupported" or re.search(rf"^\| `{{\"{next(iter(reply))}.*`{code}`", page, re.M)
    client.configure(configuration(presenter="host"))
    client.on_request("checkout/apple_pay")(lambda _: reply)
    with pytest.raises(kassa.KassaError, match="no luck") as caught:
        client.purchase(PLAN, "apple_pay")
    assert caught.value.code == code


def test_apple_pay_without_an_answer_is_unsupported(client: kassa.Client) -> None:
    client.configure(configuration(presenter="host"))
    with pytest.raises(kassa.ConfigurationError) as caught:
        client.purchase(PLAN, "apple_pay")
    assert caught.value.code == "unsupported"
