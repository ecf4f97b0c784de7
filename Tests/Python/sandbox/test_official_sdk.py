"""Whop's official SDK for Python against the sandbox: every route that Kassa speaks, every shape, every error."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
import whop_sdk
from official_sdk import MODELS, check, check_complete, official_sdk
from support import COMPANY, PLAN, PRODUCT, Sandbox
from whop_sdk import Whop
from whop_sdk.core.api_error import ApiError


def buy(sandbox: Sandbox, plan: str = PLAN, **order: Any) -> str:
    """Buys and gives the membership's id."""
    result = sandbox.control({"action": "complete_checkout", "plan_id": plan, **order})
    assert result["outcome"] == "succeeded"
    membership: str = result["membership_id"]
    return membership


# Plans and products


def test_variants(whop: Whop) -> None:
    listed = list(whop.variants.list(account_id=COMPANY, first=3))
    assert [variant.id for variant in listed][:2] == ["plan_monthly", "plan_yearly"]
    assert len(listed) == 8
    for variant in listed:
        check("PlanListItem", variant)
        check("Plan", whop.variants.retrieve(variant.id))
    yearly = listed[1]
    assert yearly.renewal_price == 99.9
    assert yearly.billing_period == 365
    assert yearly.initial_price_due.amount == "99.90"


def test_plans_are_variants_by_their_old_name(whop: Whop) -> None:
    listed = list(whop.plans.list(account_id=COMPANY, plan_types=["renewal"], visibilities=["visible"]))
    assert [plan.id for plan in listed] == ["plan_monthly", "plan_yearly", "plan_weekly", "plan_yen"]
    for plan in listed:
        check("PlanListItem", plan)
        check("Plan", whop.plans.retrieve(plan.id))


def test_variants_of_a_product_need_no_credential(sandbox: Sandbox) -> None:
    anybody = official_sdk(sandbox, token=None)
    listed = list(anybody.variants.list(product_ids=[PRODUCT], first=2, order="created_at", direction="asc"))
    assert [variant.id for variant in listed][-1] == PLAN
    for variant in listed:
        check("PlanListItem", variant)
        assert variant.member_count is None
    check("Plan", anybody.variants.retrieve("plan_hidden"))


def test_products(whop: Whop, sandbox: Sandbox) -> None:
    listed = list(whop.products.list(account_id=COMPANY, first=1))
    assert [product.id for product in listed] == ["prod_pro", "prod_desktop"]
    for product in listed:
        check_complete(product)
        check("Product", whop.products.retrieve(product.id))
    check("Product", official_sdk(sandbox, token=None).products.retrieve(PRODUCT))


# Memberships


def test_memberships_page_by_page(whop: Whop, sandbox: Sandbox) -> None:
    bought = [buy(sandbox, plan) for plan in ["plan_monthly", "plan_weekly", "plan_lifetime", "plan_desktop"] * 6]
    listed = list(whop.memberships.list(account_id=COMPANY, first=5))
    assert [membership.id for membership in listed] == bought[::-1]
    for membership in listed:
        check("Membership", membership)
    page = whop.memberships.list(statuses=["completed"], plan_id="plan_lifetime", first=4)
    assert page.has_next
    assert len(list(page)) == 6


def test_a_membership_through_its_life(whop: Whop, sandbox: Sandbox) -> None:
    membership = buy(sandbox)
    check("Membership", whop.memberships.retrieve(membership))

    changed = whop.memberships.update(membership, metadata={"seat": "12A"})
    check("Membership", changed)
    assert whop.memberships.update(membership, metadata={"row": "3"}).metadata == {"seat": "12A", "row": "3"}
    assert whop.memberships.update(membership, metadata={}).metadata == {}

    paused = whop.memberships.pause(membership)
    check("Membership", paused)
    assert paused.most_recent_action == "paused_at"
    resumed = whop.memberships.resume(membership)
    check("Membership", resumed)
    assert resumed.most_recent_action == "renewing_on"

    extended = whop.memberships.extend(membership, days=3)
    check("Membership", extended)
    assert extended.current_period_end is not None
    assert resumed.current_period_end is not None
    assert extended.current_period_end > resumed.current_period_end

    assert whop.memberships.cancel(membership, cancel_at_period_end=True).status == "active"
    canceled = whop.memberships.cancel(membership, reason="enough")
    check("Membership", canceled)
    assert (canceled.status, canceled.cancellation_reason) == ("canceled", "enough")


def test_a_one_time_membership_comes_back(whop: Whop, sandbox: Sandbox) -> None:
    membership = buy(sandbox, "plan_desktop")
    license_key = whop.memberships.retrieve(membership).license_key
    assert license_key is not None
    assert whop.memberships.retrieve(license_key).id == membership
    whop.memberships.cancel(membership)
    again = whop.memberships.reactivate(membership, days=3)
    check("Membership", again)
    assert again.status == "completed"


@pytest.mark.parametrize(
    ("plan", "card", "days", "status"),
    [
        ("plan_monthly", "4242424242424242", 400, "active"),
        ("plan_weekly", "4242424242424242", 6, "trialing"),
        ("plan_monthly", "4000000000000341", 31, "past_due"),
        ("plan_monthly", "4000000000000341", 35, "canceled"),
        ("plan_desktop", "4242424242424242", 365, "expired"),
    ],
)
def test_memberships_age(whop: Whop, sandbox: Sandbox, plan: str, card: str, days: int, status: str) -> None:
    membership = buy(sandbox, plan, card=card)
    sandbox.control({"action": "advance", "days": days})
    aged = whop.memberships.retrieve(membership)
    check("Membership", aged)
    assert aged.status == status


# Checkout and payments


def test_checkout_configurations(whop: Whop, sandbox: Sandbox) -> None:
    created = whop.checkout_configurations.create(
        account_id=COMPANY, plan_id=PLAN, metadata={"nonce": "1"}, redirect_url="https://example.com/back"
    )
    check("CheckoutConfiguration", created)
    assert created.purchase_url == f"{sandbox.base_url}/checkout/{PLAN}/?session={created.id}"
    retrieved = whop.checkout_configurations.retrieve(created.id)
    check("CheckoutConfiguration", retrieved)
    assert retrieved == type(retrieved)(**created.model_dump())
    assert official_sdk(sandbox, token=None).checkout_configurations.retrieve(created.id).metadata is None
    setup = whop.checkout_configurations.create(account_id=COMPANY, mode="setup", currency="usd")
    check("CheckoutConfiguration", setup)
    assert setup.purchase_url is None
    inline = whop.checkout_configurations.create(
        account_id=COMPANY,
        plan={"product_id": PRODUCT, "currency": "usd", "initial_price": 7.5},
        payment_method_configuration={"enabled": ["card"], "disabled": [], "include_platform_defaults": False},
    )
    check("CheckoutConfiguration", inline)
    listed = list(whop.checkout_configurations.list(account_id=COMPANY, first=1))
    assert [checkout.id for checkout in listed] == [inline.id, setup.id, created.id]
    for checkout in listed:
        check("CheckoutConfiguration", checkout)
    deleted = whop.checkout_configurations.delete(created.id)
    assert (deleted.id, deleted.deleted) == (created.id, True)
    with pytest.raises(whop_sdk.NotFoundError):
        whop.checkout_configurations.retrieve(created.id)


@pytest.mark.parametrize(
    ("order", "status", "progress"),
    [
        ({}, "paid", "succeeded"),
        ({"outcome": "declined"}, "open", "requires_confirmation"),
        ({"outcome": "pending"}, "pending", "processing"),
        ({"card": "5385 3083 6013 5181"}, "open", "requires_action"),
        ({"card": "5385 3083 6013 5181", "challenge": "Checkout1!"}, "paid", "succeeded"),
        ({"plan_id": "plan_free"}, "paid", "succeeded"),
        ({"plan_id": "plan_yen"}, "paid", "succeeded"),
    ],
)
def test_payments(whop: Whop, sandbox: Sandbox, order: dict[str, str], status: str, progress: str) -> None:
    sandbox.control({"action": "complete_checkout", "plan_id": PLAN, **order})
    (listed,) = list(whop.payments.list(account_id=COMPANY))
    check("Payment", listed)
    assert listed.status == status
    retrieved = whop.payments.retrieve(listed.id)
    check("Payment", retrieved)
    assert retrieved == listed
    reached = whop.payments.retrieve_status(listed.id)
    check("PaymentStatus", reached)
    assert reached.status == progress


def test_refunds(whop: Whop, sandbox: Sandbox) -> None:
    membership = buy(sandbox)
    (payment,) = list(whop.payments.list(membership_id=membership))
    part = whop.payments.refund(payment.id, partial_amount=4.5)
    check("Payment", part)
    assert part.substatus == "partially_refunded"
    whole = whop.payments.refund(payment.id)
    check("Payment", whole)
    assert whole.refunded_amount is not None
    assert (whole.substatus, whole.refunded_amount.amount) == ("refunded", "9.99")


# Credentials


def test_permissions(whop: Whop, sandbox: Sandbox) -> None:
    answer = whop.permissions.list(resource_id=COMPANY, actions="member:basic:read,iap:read")
    check_complete(answer)
    assert [(row.action, row.granted) for row in answer.data] == [("member:basic:read", True), ("iap:read", True)]
    limited = official_sdk(sandbox, "sandbox_iap_key").permissions.list(resource_id=COMPANY, actions="member:manage")
    assert [row.granted for row in limited.data] == [False]


def test_access_tokens(whop: Whop, sandbox: Sandbox) -> None:
    mine = buy(sandbox, email="mine@example.com")
    buy(sandbox, email="other@example.com")
    user = whop.memberships.retrieve(mine).user_id
    token = whop.access_tokens.create(account_id=COMPANY, user_id=user, scoped_actions=["member:basic:read"])
    check_complete(token)
    assert token.expires_at > dt.datetime.now(dt.timezone.utc)
    holder = official_sdk(sandbox, token.token)
    (membership,) = list(holder.memberships.list(user_id="me"))
    check("Membership", membership)
    assert (membership.id, membership.member is not None) == (mine, True)
    sandbox.control({"action": "advance", "ms": 3_600_000})
    with pytest.raises(whop_sdk.UnauthorizedError):
        holder.memberships.list()


def test_users_access(whop: Whop, sandbox: Sandbox) -> None:
    user = whop.memberships.retrieve(buy(sandbox)).user_id
    assert user is not None
    customer = whop.users.check_access(user, PRODUCT)
    check_complete(customer)
    assert (customer.has_access, customer.access_level) == (True, "customer")
    stranger = whop.users.check_access(user, "prod_desktop")
    assert (stranger.has_access, stranger.access_level) == (False, "no_access")
    assert whop.users.check_access("owner", PRODUCT).access_level == "admin"


# Errors

# For each status a call whose answer of that status has a class of its own in the SDK.
CALLS: dict[int, tuple[type[ApiError], Callable[[Whop], object]]] = {
    400: (whop_sdk.BadRequestError, lambda whop: whop.memberships.list()),
    401: (whop_sdk.UnauthorizedError, lambda whop: whop.memberships.list()),
    402: (whop_sdk.PaymentRequiredError, lambda whop: whop.media.generate(prompt="a cash register", type="image")),
    403: (whop_sdk.ForbiddenError, lambda whop: whop.memberships.list()),
    404: (whop_sdk.NotFoundError, lambda whop: whop.memberships.list()),
    409: (whop_sdk.ConflictError, lambda whop: whop.memberships.cancel("mem_1")),
    422: (whop_sdk.UnprocessableEntityError, lambda whop: whop.access_tokens.create()),
    429: (whop_sdk.TooManyRequestsError, lambda whop: whop.access_tokens.create()),
    500: (whop_sdk.InternalServerError, lambda whop: whop.access_tokens.create()),
    503: (
        whop_sdk.ServiceUnavailableError,
        lambda whop: whop.memberships.assign_affiliate("mem_1", commission_type="percentage", commission_value=1),
    ),
}


@pytest.mark.parametrize("status", CALLS)
def test_every_error_class(whop: Whop, sandbox: Sandbox, status: int) -> None:
    error, call = CALLS[status]
    sandbox.control({"action": "fault", "kind": "status", "status": status})
    with pytest.raises(error) as caught:
        call(whop)
    check_error(caught.value, status)


def test_errors_that_calls_earn(whop: Whop, sandbox: Sandbox) -> None:
    ended = buy(sandbox)
    whop.memberships.cancel(ended)
    nobody, app = official_sdk(sandbox, "nobody"), official_sdk(sandbox, "sandbox_iap_key")
    earned: list[tuple[int, Callable[[], object]]] = [
        (400, lambda: whop.payments.list(user_id="me")),
        (401, lambda: nobody.payments.list()),
        (401, lambda: official_sdk(sandbox, None).memberships.list()),
        (403, lambda: app.payments.retrieve("pay_1")),
        (403, lambda: app.memberships.retrieve(ended)),
        (404, lambda: whop.memberships.retrieve("mem_nobody")),
        (404, lambda: whop.variants.retrieve("plan_nobody")),
        (404, lambda: whop.access_tokens.create(user_id="user_nobody")),
        (409, lambda: whop.memberships.cancel(ended)),
        (409, lambda: whop.memberships.resume(ended)),
    ]
    for status, call in earned:
        with pytest.raises(CALLS[status][0]) as caught:
            call()
        check_error(caught.value, status)


def check_error(error: ApiError, status: int) -> None:
    """The envelope; what the service has nothing to say about, it leaves out."""
    assert error.status_code == status
    body = error.body if isinstance(error.body, dict) else error.body.model_dump(exclude_unset=True)
    assert set(body) == {"error"}
    declared = MODELS["PaymentRequiredErrorBodyError" if status == 402 else "BadRequestErrorBodyError"]
    required = {name for name, field in declared.items() if field["required"]}
    assert required <= set(body["error"]) <= set(declared)
    assert all(isinstance(value, str) for value in body["error"].values())


def test_a_rate_limit_is_waited_for(sandbox: Sandbox) -> None:
    patient = official_sdk(sandbox, max_retries=1)
    sandbox.control({"action": "fault", "kind": "rate_limited", "retry_after": 1, "retry_form": "seconds"})
    assert len(list(patient.variants.list(account_id=COMPANY))) == 8


def test_idempotency_keys(sandbox: Sandbox) -> None:
    again = official_sdk(sandbox, idempotency_key="one")
    first = again.checkout_configurations.create(account_id=COMPANY, plan_id=PLAN)
    assert again.checkout_configurations.create(account_id=COMPANY, plan_id=PLAN) == first
    with pytest.raises(ApiError) as caught:
        again.checkout_configurations.create(account_id=COMPANY, plan_id="plan_yearly")
    check_error(caught.value, 400)
