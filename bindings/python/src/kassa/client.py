"""The blocking client."""

from __future__ import annotations

import math
import select
import threading
import time

from . import _library
from ._core import Core, Mailbox, overload, refusal_from, reply_from
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
from .errors import ClosedError, InternalError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeVar

    from typing_extensions import Self

    from ._core import Handler, Started
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
    from ._operations import Start
    from ._people import Product
    from ._values import Document

    Found = TypeVar("Found")

# How long the main thread waits at a time before it looks whether another thread has closed the client.
CLOSE_CHECK = 0.1
MAX_INT = 2**31 - 1

_shared: Client | None = None
_sharing = threading.Lock()


class Client(Core):
    """A client whose operations wait for their result.

    ::

        with kassa.Client("com.example.app") as client:
            client.configure(backend={"kind": "whop", "company_id": "biz_x", "api_key": "..."})
            client.purchase("plan_x").raise_for_outcome()
            print(client.has_access("prod_pro"))

    Every method may be called from any thread. Each operation takes a `timeout` in seconds: leaving early, by the
    `TimeoutError` that ends it or by Ctrl-C, cancels the operation. To start operations without waiting, see `start`.

    Requests of the library are answered by the handlers of `on_request`, in a thread that waits for an operation or
    reads `events()`; and with `thread="host"` all work is done there too, so a program that does neither for a while
    calls `poll`.
    """

    def _adopt(self, address: int) -> None:
        super()._adopt(address)
        self._reading = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def start(self) -> Start:
        """The operations, started without waiting: `client.start.purchase("plan_x")` returns an `Operation`."""
        from ._operations import Start

        return Start(self)

    def configure(self, config: Mapping[str, Any] | None = None, *, timeout: float | None = None, **keys: Any) -> str:
        """Sets what the client works with: a document (docs/documents.md, "Configuration"), its keys, or both.

        Returns `"network"`, or `"cache"` when offline with a cache. What is cached answers questions meanwhile.
        """
        return read_configured(self._finish(self._configure(config, keys), timeout))

    def refresh_plans(self, *, timeout: float | None = None) -> list[Plan]:
        """Loads the plans anew."""
        return read_plans(self._finish(self._refresh_plans(), timeout))

    @overload
    def get_products(self, slugs: None = None, *, timeout: float | None = None) -> list[Product]: ...

    @overload
    def get_products(self, slugs: Iterable[str], *, timeout: float | None = None) -> list[Product | None]: ...

    def get_products(
        self, slugs: Iterable[str] | None = None, *, timeout: float | None = None
    ) -> list[Product] | list[Product | None]:
        """Loads the products that the store sells to people: all by slug, or those named, in that order.

        None stands for a named one that the store does not sell; the diagnostics `product_not_found` and
        `product_type_mismatch` say why, once a call. Every call asks the store again. (Voidhash, `getProducts`.)
        """
        completion = self._finish(self._get_products(slugs), timeout)
        return read_all_products(completion) if slugs is None else read_products(completion)

    def purchase(
        self, plan_or_product: str, method: str | None = None, *, timeout: float | None = None, **options: Any
    ) -> PurchaseResult:
        """Buys a plan, or with the `voidhash` back end a product by its slug.

        `method` is `"whop"` (the web checkout), `"store"` or `"apple_pay"`; without it the web where external purchases
        are supported, else the store. `options` are those of `kassa_purchase`: `offer`, `quantity`,
        `simulate_ask_to_buy` and `confirm_in` for the store, `label` for Apple Pay. An `offer` is `"automatic"`,
        `"none"`, `{"id": ...}`, or one of `Product.offers`; one that cannot be applied is a `StoreError` with the code
        `offer_unavailable`, and buys nothing.

        Cancelled, pending and disabled purchases are results; `raise_for_outcome()` makes them exceptions. A declined
        payment is a `PaymentError`. A purchased product whose receipt still waits has `synced` False.
        """
        return read_purchase(self._finish(self._purchase(plan_or_product, method, options), timeout))

    def log_in(
        self, app_user_id: str, attributes: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> LoginResult:
        """Logs a user of your own account system in; guest purchases of this device are claimed for the user.

        With the `voidhash` back end the person becomes the user, with the `attributes`: texts, numbers, booleans and
        None; `"email"` and `"name"` go to the person's own fields. Without the network the switch stands, and the
        result is `deferred`. (Voidhash, `identify`.)
        """
        return read_login(self._finish(self._log_in(app_user_id, attributes), timeout))

    def set_attributes(
        self,
        set: Mapping[str, Any] | None = None,
        *,
        set_once: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> AttributesResult:
        """Writes attributes of the person: of `set` the newest write counts, of `set_once` the first.

        They are on disk before they are sent, and wait there for the network. (Voidhash, `setPersonAttributes`.)
        """
        return read_attributes(self._finish(self._set_attributes(set, set_once), timeout))

    def restore_purchases(self, *, timeout: float | None = None) -> RestoreResult:
        """Asks the store and the service for everything again, past every cache. Call it upon a user's action.

        A restore does not mean access: ask `has_perk` or `has_access`.
        """
        return read_restored(self._finish(self._restore_purchases(), timeout))

    def report_transaction(self, transaction: str | Mapping[str, Any], *, timeout: float | None = None) -> ReportResult:
        """Reports a transaction that the program's own billing has bought or restored (`voidhash`).

        The store's transaction id as text, Apple's signed text (JWS), or a document with `"id"` or `"jws"`,
        `"is_restore"`, and for Google Play `"purchase_token"`. It is on disk when this returns and sent in the
        background. It stays the program's to finish. (Voidhash, `reportTransaction`.)
        """
        return read_report(self._finish(self._report_transaction(transaction), timeout))

    def sync_purchases(self, *, timeout: float | None = None) -> SyncPurchasesResult:
        """Reports everything that the store still lists and the service does not have. Waits up to 10 seconds."""
        return read_synced_purchases(self._finish(self._sync_purchases(), timeout))

    def sync_pending_work(self, *, timeout: float | None = None) -> SyncPendingWorkResult:
        """Sends what waits without waiting for the next try. Takes up to 2 seconds, and goes on in the background."""
        return read_synced_work(self._finish(self._sync_pending_work(), timeout))

    def store_call(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> Mapping[str, Any]:
        """Asks the store for a sheet or an answer of its own, such as `"manage_subscriptions"` (docs/store.md)."""
        return read_document(self._finish(self._store_call(method, params), timeout))

    def simulate(self, action: Mapping[str, Any], *, timeout: float | None = None) -> Mapping[str, Any]:
        """Does something to the sandbox in this process (docs/sandbox.md), or to the simulated store
        (docs/simulated-store.md): beside the sandbox with `"target": "store"`.
        """
        return read_document(self._finish(self._simulate(action), timeout))

    def events(self) -> Events:
        """Every change, diagnostic and unhandled request from now on, for any number of iterators."""
        return Events(self)

    def poll(self, timeout: float = 0) -> None:
        """Does what is due for `timeout` seconds: answers requests, and with `thread="host"` all work.

        A game calls it once a frame; an event loop when `fileno()` becomes readable.
        """
        self._read_until(lambda: None, timeout)

    def _finish(self, started: Started, timeout: float | None) -> Mapping[str, Any]:
        """The completion of an operation that ends with this wait."""
        try:
            return self._completion(started, timeout)
        except BaseException:
            if not self.closed:
                self.cancel(started.number)
            raise

    def _completion(self, started: Started, timeout: float | None) -> Mapping[str, Any]:
        """The completion of an operation. TimeoutError after that time."""
        completion = self._read_until(lambda: started.completion, timeout)
        if completion is None:
            raise TimeoutError(f"operation {started.number} has not ended after {timeout} seconds")
        return completion

    def _read_until(self, find: Callable[[], Found | None], timeout: float | None) -> Found | None:
        """Reads the queue until `find` finds something; None after `timeout` seconds.

        Any number of threads may be in here. One of them reads, for all; the others sleep until it has sorted what it
        read, or stops reading.
        """
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            with self._changed:
                found = find()
                if found is not None:
                    return found
                self._client()
                remaining = max(0, deadline - time.monotonic())
                if self._reading:
                    if remaining == 0:
                        return None
                    self._changed.wait(None if remaining == math.inf else remaining)
                    continue
                self._reading = True
            event, handler = None, None
            try:
                event = self._take(remaining)
            finally:
                with self._changed:
                    self._reading = False
                    if event is not None:
                        handler = self._sort(event)
                    self._changed.notify_all()
            if event is not None and handler is not None:
                self._answer(event, handler)
            elif event is None and remaining == 0:
                return None

    def _take(self, seconds: float) -> Mapping[str, Any] | None:
        """The next document of the queue, within `seconds` or earlier None."""
        if threading.current_thread() is not threading.main_thread():
            return self._next_event(milliseconds(seconds))
        # Python raises KeyboardInterrupt when a call returns, and would lose what the call returned. So the main thread
        # waits outside the library, on the descriptor, and takes without waiting.
        event = self._next_event(0)
        if event is None and seconds > 0:
            readable = select.poll()
            readable.register(self.fileno(), select.POLLIN)
            readable.poll(milliseconds(min(seconds, CLOSE_CHECK)))
            event = self._next_event(0)
        return event

    def _answer(self, event: Mapping[str, Any], handler: Handler) -> None:
        from ._documents import Request

        request = Request.of(event)
        try:
            self.respond(request.id, reply_from(handler(request)))
        except BaseException as error:
            self._refuse(request.id, *refusal_from(error))
            if not isinstance(error, Exception):
                raise


def shared() -> Client:
    """The client of the process, opened with default options on first use and again after it was closed."""
    global _shared
    with _sharing:
        if _shared is None or _shared.closed:
            address = _library.load().functions.kassa_shared()
            if address is None:
                raise InternalError("the shared client cannot be opened")
            _shared = Client.__new__(Client)
            _shared._adopt(address)
        return _shared


class Events:
    """The events of a client from now on, for a `for` loop; it ends when the client is closed.

    It yields `Changed`, `Diagnostic`, `Request`, `RequestCancelled`, and what a store said: `TransactionUpdated`,
    `PurchaseIntent`, `StoreMessage`; of several changes of one kind that were not
    read yet, the newest. Reading it does the client's work as any wait does.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._mailbox = Mailbox()
        with client._changed:
            client._mailboxes.add(self._mailbox)

    def take(self, timeout: float | None = None) -> Document | None:
        """The next event; None if there is none within `timeout` seconds, or ever (`None` waits without end)."""
        try:
            return self._client._read_until(self._mailbox.take, timeout)
        except ClosedError:
            return None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Document:
        event = self.take()
        if event is None:
            raise StopIteration
        return event


def milliseconds(seconds: float) -> int:
    """For the library: rounded up, so that no wait is too short; -1 for no end."""
    return -1 if seconds == math.inf else min(math.ceil(seconds * 1000), MAX_INT)
