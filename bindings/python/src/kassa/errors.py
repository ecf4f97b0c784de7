"""What goes wrong, as exceptions: one class for each family of error codes (docs/errors.md)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ._documents import PurchaseResult


class KassaError(Exception):
    """An operation or call failed. The base of every exception of this package.

    `str(error)` is the message, for people. Switch on the class, or on `code` for the exact word.
    """

    code: str
    """The word of docs/errors.md, such as `"payment_failed"`. Later versions may add words."""
    reason: str | None
    """A finer word, such as a decline code."""
    retryable: bool
    """The same call may succeed later without a change."""
    status: int | None
    """The HTTP status, where a service answered."""
    retry_after: float | None
    """Seconds to wait, where the service asked for it."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "internal",
        reason: str | None = None,
        retryable: bool = False,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.retryable = retryable
        self.status = status
        self.retry_after = retry_after

    @property
    def message(self) -> str:
        """What happened, with which input, and what to do."""
        return str(self)


class InvalidArgumentError(KassaError, ValueError):
    """A parameter is wrong; the message names it (`invalid_argument`)."""

    def __init__(self, message: str, *, code: str = "invalid_argument", **details: Any) -> None:
        super().__init__(message, code=code, **details)


class ConfigurationError(KassaError):
    """The configuration is wrong or does not allow the call (`invalid_configuration`, `unsupported`)."""


class NotConfiguredError(KassaError):
    """An operation before `configure` (`not_configured`)."""


class ForkedError(KassaError):
    """The client was inherited through `fork`: open another one in the child (`forked`)."""


class CancelledError(KassaError):
    """The operation was cancelled (`cancelled`). A cancelled purchase is an outcome instead."""


class ClosedError(KassaError):
    """The client is closed (`closed`)."""


class PurchaseError(KassaError):
    """A purchase could not be made (`purchase_in_progress`, `plan_not_found`, `checkout_failed`)."""


class PaymentError(PurchaseError):
    """The payment was declined; the message is the service's, `reason` the decline code (`payment_failed`)."""


class StoreError(PurchaseError):
    """A purchase in the store could not be made, or what it delivered is not believed.

    Codes: `plan_not_mapped`, `product_not_found`, `offer_unavailable`, `storekit_transaction_unverified`,
    `invalid_transaction`, `read_only_purchase_not_allowed`, `reconcile_transactions_failed`, `store_failed`,
    `unsupported_store`.
    """


class NetworkError(KassaError):
    """No usable answer from the service.

    Codes: `offline`, `timed_out`, `not_service_answer`, `rate_limited`, `service_unavailable`, `circuit_open`.
    """


class ServiceError(KassaError):
    """The service refused the request, or does not know what was asked for.

    Codes: `service_refused`, `not_found`, `already_identified`.
    """


class AuthorizationError(KassaError):
    """The credential does not suffice.

    Codes: `unauthorized`, `permission_denied`, `token_unavailable`, `outbound_paused`.
    """


class StorageError(KassaError):
    """The disk refused what must be durable (`storage`)."""


class InternalError(KassaError):
    """A fault of the library (`internal`)."""


FAMILIES: dict[str, type[KassaError]] = {
    "invalid_argument": InvalidArgumentError,
    "invalid_configuration": ConfigurationError,
    "unsupported": ConfigurationError,
    "not_configured": NotConfiguredError,
    "forked": ForkedError,
    "cancelled": CancelledError,
    "closed": ClosedError,
    "purchase_in_progress": PurchaseError,
    "plan_not_found": PurchaseError,
    "checkout_failed": PurchaseError,
    "plan_not_mapped": StoreError,
    "product_not_found": StoreError,
    "offer_unavailable": StoreError,
    "storekit_transaction_unverified": StoreError,
    "invalid_transaction": StoreError,
    "read_only_purchase_not_allowed": StoreError,
    "reconcile_transactions_failed": StoreError,
    "store_failed": StoreError,
    "unsupported_store": StoreError,
    "payment_failed": PaymentError,
    "offline": NetworkError,
    "timed_out": NetworkError,
    "not_service_answer": NetworkError,
    "rate_limited": NetworkError,
    "service_unavailable": NetworkError,
    "circuit_open": NetworkError,
    "outbound_paused": AuthorizationError,
    "service_refused": ServiceError,
    "not_found": ServiceError,
    "already_identified": ServiceError,
    "unauthorized": AuthorizationError,
    "permission_denied": AuthorizationError,
    "token_unavailable": AuthorizationError,
    "storage": StorageError,
    "internal": InternalError,
}


def error_from(document: Mapping[str, Any]) -> KassaError:
    """The exception for an error document. A code that this version does not know is a plain `KassaError`."""
    code = document["code"]
    retry_after_ms = document.get("retry_after_ms")
    return FAMILIES.get(code, KassaError)(
        document["message"],
        code=code,
        reason=document.get("reason"),
        retryable=document["retryable"],
        status=document.get("status"),
        retry_after=None if retry_after_ms is None else retry_after_ms / 1000,
    )


class PurchaseNotCompleted(KassaError):
    """`PurchaseResult.raise_for_outcome()`: the purchase ended without a failure, but not as purchased."""

    result: PurchaseResult
    """The result, with its outcome."""

    def __init__(self, result: PurchaseResult) -> None:
        super().__init__(
            f"the purchase of {result.plan_id or result.product_slug} ended as {result.outcome}", code=result.outcome
        )
        self.result = result


class PurchaseCancelled(PurchaseNotCompleted):
    """The user left the checkout, it timed out, or the operation was cancelled."""


class PurchasePending(PurchaseNotCompleted):
    """The payment settles later, or waits for an approval: a change, or the event `TransactionUpdated`, tells of it."""


class PurchaseDisabled(PurchaseNotCompleted):
    """The configuration says `"enabled": false`."""


class VerificationError(KassaError):
    """Signed data was not believed (`Verification.raise_for_refusal`); `reason` is the word of docs/receipts.md."""

    def __init__(self, message: str, *, code: str = "unverified", **details: Any) -> None:
        super().__init__(message, code=code, **details)


OUTCOMES: dict[str, type[PurchaseNotCompleted]] = {
    "cancelled": PurchaseCancelled,
    "pending": PurchasePending,
    "disabled": PurchaseDisabled,
}
