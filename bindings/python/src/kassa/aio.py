"""The asyncio client."""

from __future__ import annotations

import asyncio
import functools
import inspect

from ._core import Core, Mailbox, Started, overload, refusal_from, reply_from
from ._documents import Request
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
from .errors import ClosedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from typing_extensions import Self

    from ._core import Handler
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
    from ._values import Document


class AsyncClient(Core):
    """A client whose operations are coroutines.

    ::

        async with kassa.AsyncClient("com.example.app") as client:
            await client.configure(backend={"kind": "whop", "company_id": "biz_x", "api_key": "..."})
            (await client.purchase("plan_x")).raise_for_outcome()
            print(client.has_access("prod_pro"))

    It listens on the library's descriptor in the event loop that runs when it is first used, and belongs to that loop;
    no thread, no callback from outside. With `thread="host"` the loop does the library's work too. Cancelling a task
    cancels the operation it waits for. The questions, and `close`, are those of `Client`: plain calls that do not
    block.

    Handlers of `on_request` may be functions or coroutine functions.
    """

    def _adopt(self, address: int) -> None:
        super()._adopt(address)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._descriptor = self.fileno()
        self._answers: dict[int, asyncio.Task[None]] = {}

    def close(self) -> None:
        """Closes the client: operations end as `ClosedError`, iterators end. Takes milliseconds as a rule."""
        if not self.closed and self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._descriptor)
            for answer in self._answers.values():
                answer.cancel()
        super().close()

    async def __aenter__(self) -> Self:
        self._listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def configure(self, config: Mapping[str, Any] | None = None, **keys: Any) -> str:
        """Sets what the client works with: a document (docs/documents.md, "Configuration"), its keys, or both.

        Returns `"network"`, or `"cache"` when offline with a cache. What is cached answers questions meanwhile.
        """
        return read_configured(await self._finish(self._configure(config, keys)))

    async def refresh_plans(self) -> list[Plan]:
        """Loads the plans anew."""
        return read_plans(await self._finish(self._refresh_plans()))

    @overload
    async def get_products(self, slugs: None = None) -> list[Product]: ...

    @overload
    async def get_products(self, slugs: Iterable[str]) -> list[Product | None]: ...

    async def get_products(self, slugs: Iterable[str] | None = None) -> list[Product] | list[Product | None]:
        """Loads the products that the store sells to people: all by slug, or those named, in that order.

        None stands for a named one that the store does not sell; the diagnostics `product_not_found` and
        `product_type_mismatch` say why, once a call. Every call asks the store again. (Voidhash, `getProducts`.)
        """
        completion = await self._finish(self._get_products(slugs))
        return read_all_products(completion) if slugs is None else read_products(completion)

    async def purchase(self, plan_or_product: str, method: str | None = None, **options: Any) -> PurchaseResult:
        """Buys a plan, or with the `voidhash` back end a product by its slug.

        `method` is `"whop"` (the web checkout), `"store"` or `"apple_pay"`; without it the web where external purchases
        are supported, else the store. `options` are those of `kassa_purchase`: `offer`, `quantity`,
        `simulate_ask_to_buy` and `confirm_in` for the store, `label` for Apple Pay. An `offer` is `"automatic"`,
        `"none"`, `{"id": ...}`, or one of `Product.offers`; one that cannot be applied is a `StoreError` with the code
        `offer_unavailable`, and buys nothing.

        Cancelled, pending and disabled purchases are results; `raise_for_outcome()` makes them exceptions. A declined
        payment is a `PaymentError`. A purchased product whose receipt still waits has `synced` False.
        """
        return read_purchase(await self._finish(self._purchase(plan_or_product, method, options)))

    async def log_in(self, app_user_id: str, attributes: Mapping[str, Any] | None = None) -> LoginResult:
        """Logs a user of your own account system in; guest purchases of this device are claimed for the user.

        With the `voidhash` back end the person becomes the user, with the `attributes`: texts, numbers, booleans and
        None; `"email"` and `"name"` go to the person's own fields. Without the network the switch stands, and the
        result is `deferred`. (Voidhash, `identify`.)
        """
        return read_login(await self._finish(self._log_in(app_user_id, attributes)))

    async def set_attributes(
        self, set: Mapping[str, Any] | None = None, *, set_once: Mapping[str, Any] | None = None
    ) -> AttributesResult:
        """Writes attributes of the person: of `set` the newest write counts, of `set_once` the first.

        They are on disk before they are sent, and wait there for the network. (Voidhash, `setPersonAttributes`.)
        """
        return read_attributes(await self._finish(self._set_attributes(set, set_once)))

    async def restore_purchases(self) -> RestoreResult:
        """Asks the store and the service for everything again, past every cache. Call it upon a user's action.

        A restore does not mean access: ask `has_perk` or `has_access`.
        """
        return read_restored(await self._finish(self._restore_purchases()))

    async def report_transaction(self, transaction: str | Mapping[str, Any]) -> ReportResult:
        """Reports a transaction that the program's own billing has bought or restored (`voidhash`).

        The store's transaction id as text, Apple's signed text (JWS), or a document with `"id"` or `"jws"`,
        `"is_restore"`, and for Google Play `"purchase_token"`. It is on disk when this returns and sent in the
        background. It stays the program's to finish. (Voidhash, `reportTransaction`.)
        """
        return read_report(await self._finish(self._report_transaction(transaction)))

    async def sync_purchases(self) -> SyncPurchasesResult:
        """Reports everything that the store still lists and the service does not have. Waits up to 10 seconds."""
        return read_synced_purchases(await self._finish(self._sync_purchases()))

    async def sync_pending_work(self) -> SyncPendingWorkResult:
        """Sends what waits without waiting for the next try. Takes up to 2 seconds, and goes on in the background."""
        return read_synced_work(await self._finish(self._sync_pending_work()))

    async def store_call(self, method: str, params: Mapping[str, Any] | None = None) -> Mapping[str, Any]:
        """Asks the store for a sheet or an answer of its own, such as `"manage_subscriptions"` (docs/store.md)."""
        return read_document(await self._finish(self._store_call(method, params)))

    async def simulate(self, action: Mapping[str, Any]) -> Mapping[str, Any]:
        """Does something to the sandbox in this process (docs/sandbox.md), or to the simulated store
        (docs/simulated-store.md): beside the sandbox with `"target": "store"`.
        """
        return read_document(await self._finish(self._simulate(action)))

    def events(self) -> AsyncEvents:
        """Every change, diagnostic and unhandled request from now on, for any number of iterators."""
        self._listen()
        return AsyncEvents(self)

    def _listen(self) -> asyncio.AbstractEventLoop:
        """Reads the queue in the running event loop, from the first call on."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            loop.add_reader(self._descriptor, self._read)
            self._loop = loop
        if self._loop is not loop:
            raise RuntimeError("the client belongs to another event loop")
        return loop

    def _read(self) -> None:
        """Sorts what the queue holds. (With `thread="host"`, this is also where the library works.)"""
        while not self.closed:
            event = self._next_event(0)
            if event is None:
                return
            with self._changed:
                handler = self._sort(event)
            if handler is not None:
                request = Request.of(event)
                self._answers[request.id] = asyncio.ensure_future(self._answer(request, handler))
            elif event["type"] == "request_cancelled" and event["id"] in self._answers:
                self._answers[event["id"]].cancel()

    async def _answer(self, request: Request, handler: Handler) -> None:
        try:
            value = handler(request)
            self.respond(request.id, reply_from(await value if inspect.isawaitable(value) else value))
        except Exception as error:
            if not self.closed:
                self._refuse(request.id, *refusal_from(error))
        finally:
            del self._answers[request.id]

    async def _finish(self, started: Started) -> Mapping[str, Any]:
        """The completion of an operation that ends with this wait."""
        ended = self._listen().create_future()
        started.wake = functools.partial(settle, ended)
        try:
            await ended
        except asyncio.CancelledError:
            if not self.closed:
                self.cancel(started.number)
            raise
        if started.completion is None:
            raise ClosedError("the client was closed", code="closed")
        return started.completion


class AsyncEvents:
    """The events of a client from now on, for `async for`; it ends when the client is closed.

    It yields `Changed`, `Diagnostic`, `Request`, `RequestCancelled`, and what a store said: `TransactionUpdated`,
    `PurchaseIntent`, `StoreMessage`; of several changes of one kind that were not
    read yet, the newest.
    """

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._arrived = asyncio.Event()
        self._mailbox = Mailbox()
        self._mailbox.wake = self._arrived.set
        client._mailboxes.add(self._mailbox)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Document:
        while True:
            event = self._mailbox.take()
            if event is not None:
                return event
            if self._client.closed:
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()


def settle(future: asyncio.Future[None]) -> None:
    """Wakes who awaits `future`, unless its task was cancelled meanwhile."""
    if not future.done():
        future.set_result(None)
