"""Documents as dataclasses: exact, whole, and open for what later versions add."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import kassa
import pytest
import samples
import schemas
from hypothesis import given
from hypothesis import strategies as st
from kassa import _documents, _values

SAMPLES: list[tuple[str, type[kassa.Document], samples.Json]] = [
    ("money", kassa.Money, samples.MONEY),
    ("plan", kassa.Plan, samples.PLAN),
    ("membership", kassa.Membership, samples.MEMBERSHIP),
    ("entitlement", kassa.Entitlement, samples.ENTITLEMENT),
    ("explanation", kassa.Explanation, samples.EXPLANATION),
    ("purchase", kassa.PurchaseResult, samples.PURCHASE),
    ("purchase", kassa.PurchaseResult, samples.PRODUCT_PURCHASE),
    ("entitlement", kassa.Entitlement, samples.GRANT_ENTITLEMENT),
    ("person", kassa.Person, samples.PERSON),
    ("product", kassa.Product, samples.PRODUCT),
    ("pending", kassa.Pending, samples.PENDING),
    ("changed", kassa.Changed, samples.CHANGED),
    ("diagnostic", kassa.Diagnostic, samples.DIAGNOSTIC),
    ("request", kassa.Request, samples.REQUEST),
    ("request_cancelled", kassa.RequestCancelled, samples.REQUEST_CANCELLED),
    ("transaction", kassa.Transaction, samples.TRANSACTION),
    ("owned_transaction", kassa.OwnedTransaction, samples.TRANSACTION_UPDATED["transaction"]),
    ("transaction_updated", kassa.TransactionUpdated, samples.TRANSACTION_UPDATED),
    ("purchase_intent", kassa.PurchaseIntent, samples.PURCHASE_INTENT),
    ("purchase_intent", kassa.PurchaseIntent, samples.PRODUCT_INTENT),
    ("store_message", kassa.StoreMessage, samples.STORE_MESSAGE),
]
DOCUMENTS = pytest.mark.parametrize(("schema", "kind", "sample"), SAMPLES, ids=[name for name, _, _ in SAMPLES])


@DOCUMENTS
def test_a_class_has_every_field_of_its_schema(schema: str, kind: type[kassa.Document], sample: samples.Json) -> None:
    schemas.check(schema, sample)
    declared = {field.name.rstrip("_") for field in dataclasses.fields(kind)} - {"raw"}
    fields = schemas.schemas()[schema]["properties"]
    # The type of an event is its class.
    assert declared == {field for field in fields if "const" not in fields[field]}


@DOCUMENTS
def test_a_document_is_frozen_and_keeps_what_it_has_no_place_for(
    schema: str, kind: type[kassa.Document], sample: samples.Json
) -> None:
    document = kind.of({**sample, "hue": "teal", "sandbox": True})
    assert document.raw["hue"] == "teal", schema
    assert document.sandbox
    assert not kind.of(sample).sandbox
    assert document == kind.of(sample)
    with pytest.raises(dataclasses.FrozenInstanceError):
        document.raw = {}  # type: ignore[misc]


def test_nested_documents_are_read() -> None:
    plan = kassa.Plan.of(samples.PLAN)
    assert plan.renewal_period is not None
    assert (plan.renewal_period.kind, plan.renewal_period.days) == ("monthly", 30)
    assert str(plan.initial_price_money) == "$9.99"
    explanation = kassa.Explanation.of(samples.EXPLANATION)
    assert explanation.considered[0].from_ == "cache"
    assert explanation.clock.server_time is None
    assert explanation.offline.confirmed_at == datetime(2026, 10, 26, 7, 33, 20, tzinfo=timezone.utc)


@pytest.mark.parametrize("status", ["active", "frozen_by_future_rules"])
def test_s131_words_that_are_unknown_stay_as_they_are(status: str) -> None:
    membership = kassa.Membership.of({**samples.MEMBERSHIP, "status": status, "renewal_period_end": None})
    assert membership.status == status
    assert membership.renewal_period_end is None


def test_s131_an_event_of_an_unknown_type_is_a_plain_document() -> None:
    event = _documents.event_from({"type": "eclipse", "at": 1})
    assert type(event) is kassa.Document
    assert event.raw == {"type": "eclipse", "at": 1}


@pytest.mark.parametrize("amount", ["39.99", "114.99", "0.30000000000000004", "9800", "1.234", "0.055", "-5.00"])
def test_s039_amounts_are_exact(amount: str) -> None:
    money = kassa.Money.of({**samples.MONEY, "amount": amount})
    assert str(money.amount) == amount
    assert money.amount == Decimal(amount)


@given(st.integers(-62_135_596_800_000, 253_402_300_799_999))
def test_times_are_exact_to_the_millisecond(milliseconds: int) -> None:
    moment = _values.read_time(milliseconds)
    assert (moment - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1) == milliseconds
    assert moment.tzinfo is timezone.utc


@pytest.mark.parametrize(("milliseconds", "year"), [(2**63 - 1, 9999), (-(2**63), 1)])
def test_times_outside_the_calendar_are_its_ends(milliseconds: int, year: int) -> None:
    assert _values.read_time(milliseconds).year == year


def test_a_purchase_that_succeeded_raises_nothing() -> None:
    result = kassa.PurchaseResult.of(samples.PURCHASE)
    assert result.purchased
    assert result.raise_for_outcome() is result
    assert result.membership is not None
    assert result.membership.id == "mem_1"


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        ("cancelled", kassa.PurchaseCancelled),
        ("pending", kassa.PurchasePending),
        ("disabled", kassa.PurchaseDisabled),
        ("postponed_by_comet", kassa.PurchaseNotCompleted),
    ],
)
def test_other_outcomes_raise_when_asked(outcome: str, kind: type[kassa.PurchaseNotCompleted]) -> None:
    result = kassa.PurchaseResult.of({**samples.PURCHASE, "outcome": outcome, "receipt_id": None, "membership": None})
    with pytest.raises(kassa.PurchaseNotCompleted, match="plan_monthly") as caught:
        result.raise_for_outcome()
    assert type(caught.value) is kind
    assert caught.value.result is result
    assert caught.value.code == outcome


def test_a_missing_field_is_an_error_and_not_a_guess() -> None:
    document: dict[str, Any] = dict(samples.MEMBERSHIP)
    del document["status"]
    with pytest.raises(KeyError, match="status"):
        kassa.Membership.of(document)
