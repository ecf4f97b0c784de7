"""Kassa: an entitlement and purchase client.

`Client` blocks, `AsyncClient` is for asyncio; both load plans, buy, log in and out, restore, and answer "may this user
use this?" at once, online or offline. See `Client` for a first program, docs/documents.md for what a configuration may
say, and `python -m kassa --help` for the command line.
"""

from __future__ import annotations

from .client import Client, Events, shared
from .errors import (
    AuthorizationError,
    CancelledError,
    ClosedError,
    ConfigurationError,
    ForkedError,
    InternalError,
    InvalidArgumentError,
    KassaError,
    NetworkError,
    NotConfiguredError,
    PaymentError,
    PurchaseCancelled,
    PurchaseDisabled,
    PurchaseError,
    PurchaseNotCompleted,
    PurchasePending,
    ServiceError,
    StorageError,
    StoreError,
    VerificationError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, timedelta
    from typing import Any

    from ._documents import (
        AttributesResult,
        Changed,
        Clock,
        Diagnostic,
        Entitlement,
        Explanation,
        KnownStorefront,
        LoginResult,
        Membership,
        Offline,
        OwnedTransaction,
        Pending,
        PendingTransaction,
        PendingWrite,
        Plan,
        PurchaseIntent,
        PurchaseResult,
        RenewalPeriod,
        ReportResult,
        Request,
        RequestCancelled,
        RestoreResult,
        StoreMessage,
        SyncPendingWorkResult,
        SyncPurchasesResult,
        Transaction,
        TransactionOffer,
        TransactionUpdated,
        Verification,
    )
    from ._operations import Operation, Start
    from ._people import (
        CurrentSubscription,
        Grant,
        Offer,
        OfferPhase,
        Person,
        PersonPurchase,
        Product,
        ProductSubscription,
        Subscription,
        Subscriptions,
    )
    from ._values import Document, Money, Period
    from .aio import AsyncClient, AsyncEvents

__all__ = [
    "AsyncClient",
    "AsyncEvents",
    "AttributesResult",
    "AuthorizationError",
    "CancelledError",
    "Changed",
    "Client",
    "Clock",
    "ClosedError",
    "ConfigurationError",
    "CurrentSubscription",
    "Diagnostic",
    "Document",
    "Entitlement",
    "Events",
    "Explanation",
    "ForkedError",
    "Grant",
    "InternalError",
    "InvalidArgumentError",
    "KassaError",
    "KnownStorefront",
    "LoginResult",
    "Membership",
    "Money",
    "NetworkError",
    "NotConfiguredError",
    "Offer",
    "OfferPhase",
    "Offline",
    "Operation",
    "OwnedTransaction",
    "PaymentError",
    "Pending",
    "PendingTransaction",
    "PendingWrite",
    "Period",
    "Person",
    "PersonPurchase",
    "Plan",
    "Product",
    "ProductSubscription",
    "PurchaseCancelled",
    "PurchaseDisabled",
    "PurchaseError",
    "PurchaseIntent",
    "PurchaseNotCompleted",
    "PurchasePending",
    "PurchaseResult",
    "RenewalPeriod",
    "ReportResult",
    "Request",
    "RequestCancelled",
    "RestoreResult",
    "ServiceError",
    "Start",
    "StorageError",
    "StoreError",
    "StoreMessage",
    "Subscription",
    "Subscriptions",
    "SyncPendingWorkResult",
    "SyncPurchasesResult",
    "Transaction",
    "TransactionOffer",
    "TransactionUpdated",
    "Verification",
    "VerificationError",
    "shared",
    "verify",
    "version",
]

__version__ = "0.1.0"


def version() -> str:
    """The version of the library that is loaded."""
    from . import _library

    text: bytes = _library.load().functions.kassa_version()
    return text.decode()


def verify(
    text: str,
    kind: str = "transaction",
    *,
    bundle_id: str | None = None,
    app_apple_id: int | None = None,
    environments: Iterable[str] = ("production",),
    roots: Iterable[bytes] | None = None,
    max_age: timedelta | float | None = None,
    now: datetime | None = None,
) -> Verification:
    """Verifies App Store signed data, without a client. Look at `verified`, or call `raise_for_refusal()`.

    `kind` is `transaction`, `renewal_info`, `app_transaction` or `notification`; `environments` are those that are
    allowed, of `production`, `sandbox`, `xcode` and `local_testing`. `roots` are certificates in DER in place of
    Apple's own, `max_age` (in seconds, or a `timedelta`) bounds how long ago it was signed, `now` stands for the
    present in tests. docs/receipts.md has the rules and every `reason`.

        kassa.verify(signed, bundle_id="com.example.app").raise_for_refusal().transaction
    """
    from . import _verification

    return _verification.verify(
        text, kind, bundle_id, app_apple_id, list(environments), None if roots is None else list(roots), max_age, now
    )


def __getattr__(name: str) -> Any:
    """Loads what the first answer does not need on first use: asyncio and dataclasses would double the start."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    for module in ("_values", "_people", "_documents", "_operations", "aio"):
        found = getattr(import_module(f".{module}", __name__), name, None)
        if found is not None:
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
