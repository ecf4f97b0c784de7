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
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._documents import (
        Changed,
        Clock,
        Diagnostic,
        Document,
        Entitlement,
        Explanation,
        LoginResult,
        Membership,
        Money,
        Offline,
        Plan,
        PurchaseResult,
        RenewalPeriod,
        Request,
        RequestCancelled,
        RestoreResult,
    )
    from ._operations import Operation, Start
    from .aio import AsyncClient, AsyncEvents

__all__ = [
    "AsyncClient",
    "AsyncEvents",
    "AuthorizationError",
    "CancelledError",
    "Changed",
    "Client",
    "Clock",
    "ClosedError",
    "ConfigurationError",
    "Diagnostic",
    "Document",
    "Entitlement",
    "Events",
    "Explanation",
    "ForkedError",
    "InternalError",
    "InvalidArgumentError",
    "KassaError",
    "LoginResult",
    "Membership",
    "Money",
    "NetworkError",
    "NotConfiguredError",
    "Offline",
    "Operation",
    "PaymentError",
    "Plan",
    "PurchaseCancelled",
    "PurchaseDisabled",
    "PurchaseError",
    "PurchaseNotCompleted",
    "PurchasePending",
    "PurchaseResult",
    "RenewalPeriod",
    "Request",
    "RequestCancelled",
    "RestoreResult",
    "ServiceError",
    "Start",
    "StorageError",
    "StoreError",
    "shared",
    "version",
]

__version__ = "0.1.0"


def version() -> str:
    """The version of the library that is loaded."""
    from . import _library

    text: bytes = _library.load().functions.kassa_version()
    return text.decode()


def __getattr__(name: str) -> Any:
    """Loads what the first answer does not need on first use: asyncio and dataclasses would double the start."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    module = {"AsyncClient": "aio", "AsyncEvents": "aio", "Operation": "_operations", "Start": "_operations"}
    return getattr(import_module(f".{module.get(name, '_documents')}", __name__), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
