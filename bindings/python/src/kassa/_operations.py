"""Operations that are started without waiting: `client.start`."""

from __future__ import annotations

from types import GenericAlias

from ._core import overload
from ._results import (
    read_all_products,
    read_attributes,
    read_configured,
    read_document,
    read_login,
    read_plans,
    read_products,
    read_purchase,
    read_report,
    read_restored,
    read_synced_purchases,
    read_synced_work,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, Generic, TypeVar

    from ._core import Started
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
    from .client import Client

    Result = TypeVar("Result")
else:
    # Importing `typing` would take longer than the library takes to answer; type checkers read the lines above.
    Result, Generic = None, {None: object}


class Operation(Generic[Result]):
    """An operation under way. It goes on whether or not somebody waits for it."""

    if not TYPE_CHECKING:
        __class_getitem__ = classmethod(GenericAlias)

    def __init__(self, client: Client, started: Started, read: Callable[[Mapping[str, Any]], Result]) -> None:
        self._client = client
        self._started = started
        self._read = read

    @property
    def number(self) -> int:
        """The operation's number in its client."""
        return self._started.number

    @property
    def done(self) -> bool:
        """Its completion was read from the queue, by any wait or iterator of this client."""
        return self._started.completion is not None

    def wait(self, timeout: float | None = None) -> Result:
        """Waits for the result, or raises the operation's error.

        TimeoutError after `timeout` seconds; the operation goes on, and can be waited for again.
        """
        return self._read(self._client._completion(self._started, timeout))

    def cancel(self) -> bool:
        """Asks the operation to end early. False if it has ended."""
        return self._client.cancel(self.number)

    def __repr__(self) -> str:
        return f"<kassa.Operation {self.number}{' done' if self.done else ''}>"


class Start:
    """The operations of a client, started without waiting. Arguments and results are those of `Client`."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def configure(self, config: Mapping[str, Any] | None = None, **keys: Any) -> Operation[str]:
        """See `Client.configure`. What is cached answers questions as soon as this returns."""
        return Operation(self._client, self._client._configure(config, keys), read_configured)

    def refresh_plans(self) -> Operation[list[Plan]]:
        """See `Client.refresh_plans`."""
        return Operation(self._client, self._client._refresh_plans(), read_plans)

    @overload
    def get_products(self, slugs: None = None) -> Operation[list[Product]]: ...

    @overload
    def get_products(self, slugs: Iterable[str]) -> Operation[list[Product | None]]: ...

    def get_products(
        self, slugs: Iterable[str] | None = None
    ) -> Operation[list[Product]] | Operation[list[Product | None]]:
        """See `Client.get_products`."""
        started = self._client._get_products(slugs)
        if slugs is None:
            return Operation(self._client, started, read_all_products)
        return Operation(self._client, started, read_products)

    def purchase(self, plan_or_product: str, method: str | None = None, **options: Any) -> Operation[PurchaseResult]:
        """See `Client.purchase`."""
        return Operation(self._client, self._client._purchase(plan_or_product, method, options), read_purchase)

    def log_in(self, app_user_id: str, attributes: Mapping[str, Any] | None = None) -> Operation[LoginResult]:
        """See `Client.log_in`."""
        return Operation(self._client, self._client._log_in(app_user_id, attributes), read_login)

    def set_attributes(
        self, set: Mapping[str, Any] | None = None, *, set_once: Mapping[str, Any] | None = None
    ) -> Operation[AttributesResult]:
        """See `Client.set_attributes`."""
        return Operation(self._client, self._client._set_attributes(set, set_once), read_attributes)

    def restore_purchases(self) -> Operation[RestoreResult]:
        """See `Client.restore_purchases`."""
        return Operation(self._client, self._client._restore_purchases(), read_restored)

    def report_transaction(self, transaction: str | Mapping[str, Any]) -> Operation[ReportResult]:
        """See `Client.report_transaction`."""
        return Operation(self._client, self._client._report_transaction(transaction), read_report)

    def sync_purchases(self) -> Operation[SyncPurchasesResult]:
        """See `Client.sync_purchases`."""
        return Operation(self._client, self._client._sync_purchases(), read_synced_purchases)

    def sync_pending_work(self) -> Operation[SyncPendingWorkResult]:
        """See `Client.sync_pending_work`."""
        return Operation(self._client, self._client._sync_pending_work(), read_synced_work)

    def store_call(self, method: str, params: Mapping[str, Any] | None = None) -> Operation[Mapping[str, Any]]:
        """See `Client.store_call`."""
        return Operation(self._client, self._client._store_call(method, params), read_document)

    def simulate(self, action: Mapping[str, Any]) -> Operation[Mapping[str, Any]]:
        """See `Client.simulate`."""
        return Operation(self._client, self._client._simulate(action), read_document)
