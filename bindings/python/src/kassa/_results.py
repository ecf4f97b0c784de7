"""What each operation gives: its completion, read as its result, or its error raised."""

from __future__ import annotations

from .errors import error_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ._documents import (
        AttributesResult,
        LoginResult,
        Plan,
        PurchaseResult,
        ReportResult,
        RestoreResult,
        SyncPendingWorkResult,
        SyncPurchasesResult,
    )
    from ._people import Product

    Completion = Mapping[str, Any]


def _result(completion: Completion) -> Any:
    if "error" in completion:
        raise error_from(completion["error"])
    return completion["result"]


def read_configured(completion: Completion) -> str:
    source: str = _result(completion)["source"]
    return source


def read_plans(completion: Completion) -> list[Plan]:
    from ._documents import Plan

    return [Plan.of(plan) for plan in _result(completion)["plans"]]


def read_products(completion: Completion) -> list[Product | None]:
    from ._people import Product

    return [None if product is None else Product.of(product) for product in _result(completion)["products"]]


def read_all_products(completion: Completion) -> list[Product]:
    return [product for product in read_products(completion) if product is not None]


def read_purchase(completion: Completion) -> PurchaseResult:
    from ._documents import PurchaseResult

    return PurchaseResult.of(_result(completion))


def read_login(completion: Completion) -> LoginResult:
    from ._documents import LoginResult

    return LoginResult.of(_result(completion))


def read_restored(completion: Completion) -> RestoreResult:
    from ._documents import RestoreResult

    return RestoreResult.of(_result(completion))


def read_attributes(completion: Completion) -> AttributesResult:
    from ._documents import AttributesResult

    return AttributesResult.of(_result(completion))


def read_report(completion: Completion) -> ReportResult:
    from ._documents import ReportResult

    return ReportResult.of(_result(completion))


def read_synced_purchases(completion: Completion) -> SyncPurchasesResult:
    from ._documents import SyncPurchasesResult

    return SyncPurchasesResult.of(_result(completion))


def read_synced_work(completion: Completion) -> SyncPendingWorkResult:
    from ._documents import SyncPendingWorkResult

    return SyncPendingWorkResult.of(_result(completion))


def read_document(completion: Completion) -> Mapping[str, Any]:
    result: Mapping[str, Any] = _result(completion)
    return result
