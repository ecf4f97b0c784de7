"""What the blocking and the asyncio client share: the handle, the questions, starting operations, sorting the queue.

Start to first answer must stay short, so the modules on that path import neither `typing` nor `dataclasses`, and
`_documents` is imported where a document is read.
"""

from __future__ import annotations

import os
import threading
import weakref

from . import _library
from .errors import ClosedError, ForkedError, InvalidArgumentError, KassaError, StorageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any, TypeVar

    from ._documents import Entitlement, Explanation, Membership, Pending, Plan, Request
    from ._people import Person
    from ._values import Document

    Handler = Callable[[Request], Any]
    Answering = TypeVar("Answering", bound=Handler)


if TYPE_CHECKING:
    from typing import overload as overload
else:

    def overload(function):
        """For type checkers only: importing `typing` takes longer than the library takes to answer."""
        return function


def nobody() -> None:
    """Nobody waits."""


class Started:
    """An operation that was started here, for as long as somebody holds it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.completion: Mapping[str, Any] | None = None
        self.wake: Callable[[], object] = nobody

    def complete(self, completion: Mapping[str, Any]) -> None:
        self.completion = completion
        self.wake()


class Mailbox:
    """The events of one reader. A slow reader finds one change for each "what": the newest."""

    def __init__(self) -> None:
        self.wake: Callable[[], object] = nobody
        self._events: dict[object, Mapping[str, Any]] = {}
        self._received = 0

    def put(self, event: Mapping[str, Any]) -> None:
        self._received += 1
        key = event["what"] if event["type"] == "changed" else self._received
        self._events.pop(key, None)
        self._events[key] = event
        self.wake()

    def take(self) -> Document | None:
        """The oldest event, or None."""
        if not self._events:
            return None
        from ._documents import event_from

        return event_from(self._events.pop(next(iter(self._events))))


class Core:
    """One client of the library. Every method may be called from any thread."""

    _address: int | None = None
    """The library's handle; None before it was opened and once it is closed."""

    def __init__(
        self,
        app_id: str | None = None,
        *,
        storage: str | os.PathLike[str] | None = None,
        thread: str = "library",
        log: str | None = None,
    ) -> None:
        """Opens a client.

        `app_id` names the application and so the default storage (else `KASSA_APP_ID`; without either, nothing
        survives this process). `storage` is a directory or `":memory:"`. `thread` is `"library"` (one thread of the
        library in the process) or `"host"` (none: work is done while this client waits or reads events). `log` is
        `"stderr"` for a line for each operation, without secrets.
        """
        directory = None if storage is None else os.fspath(storage)
        options = {"app_id": app_id, "storage": directory, "thread": thread, "log": log}
        self._adopt(_library.load().open({key: value for key, value in options.items() if value is not None}))

    def _adopt(self, address: int) -> None:
        self._library = _library.load()
        self._functions = self._library.functions
        self._address = address
        self._process = os.getpid()
        # Guards what follows; notified when any of it changes, and when the client is closed.
        self._changed = threading.Condition()
        self._handlers: dict[str, Handler] = {}
        # Weak: what nobody waits for or reads any more takes no memory.
        self._mailboxes: weakref.WeakSet[Mailbox] = weakref.WeakSet()
        self._operations: weakref.WeakValueDictionary[int, Started] = weakref.WeakValueDictionary()

    # Life

    @property
    def closed(self) -> bool:
        """`close` was called."""
        return self._address is None

    def close(self) -> None:
        """Closes the client: operations end as `ClosedError`, iterators end. Takes milliseconds as a rule."""
        address, self._address = self._address, None
        if address is None:
            return
        self._functions.kassa_close(address)
        # A lock that was inherited through fork may be held by a thread that does not exist here.
        if os.getpid() == self._process:
            with self._changed:
                self._changed.notify_all()
                readers: list[Started | Mailbox] = [*self._operations.values(), *self._mailboxes]
                for reader in readers:
                    reader.wake()

    def __del__(self) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<kassa.{type(self).__name__}{' closed' if self.closed else ''}>"

    def _client(self) -> int:
        """The library's handle, for a client that is usable here."""
        if self._address is None:
            raise ClosedError("the client is closed", code="closed")
        if os.getpid() != self._process:
            raise ForkedError("the client was inherited through fork; open another one here", code="forked")
        return self._address

    # Ask

    @property
    def is_initialized(self) -> bool:
        """Whether `configure` has completed, from the network or from the cache."""
        return bool(self._functions.kassa_is_initialized(self._client()))

    @property
    def is_subscribed(self) -> bool:
        """Whether any membership, store purchase or perk grants access now; if configured, to one of `product_ids`."""
        return bool(self._functions.kassa_is_subscribed(self._client()))

    def has_access(self, product_id: str) -> bool:
        """Whether the user may use this product now. Never blocks; online or offline.

        With the `voidhash` back end: whether the person has every perk of the product, named by slug or id.
        """
        return bool(self._functions.kassa_has_access(self._client(), _library.utf8("product_id", product_id)))

    def has_perk(self, perk: str) -> bool:
        """Whether the person who asks has this perk (`"premium"`) now. Never blocks; online or offline.

        Unlock features from this, not from a purchase's outcome. Always False with the `whop` back end.
        """
        return bool(self._functions.kassa_has_perk(self._client(), _library.utf8("perk", perk)))

    @property
    def supports_external_purchases(self) -> bool:
        """Whether a purchase may leave the store for the web checkout."""
        return bool(self._functions.kassa_supports_external_purchases(self._client()))

    @property
    def device_id(self) -> str:
        """The id of this installation. A secret: who knows it can claim guest purchases."""
        # NULL only for no client, which `_client` refuses.
        return self._library.text(self._functions.kassa_device_id(self._client())) or ""

    @property
    def app_user_id(self) -> str | None:
        """The user who is logged in."""
        return self._library.text(self._functions.kassa_app_user_id(self._client()))

    def plans(self) -> list[Plan]:
        """The plans, as the service lists them."""
        from ._documents import Plan

        return [Plan.of(plan) for plan in self._ask("kassa_plans")]

    def memberships(self) -> list[Membership]:
        """The memberships that are active now, newest first."""
        from ._documents import Membership

        return [Membership.of(membership) for membership in self._ask("kassa_memberships")]

    def entitlements(self) -> list[Entitlement]:
        """Every source of access, also those that ended, with the rule that decided."""
        from ._documents import Entitlement

        return [Entitlement.of(entitlement) for entitlement in self._ask("kassa_entitlements")]

    def person(self) -> Person | None:
        """The person who asks, as the service last told, with its age; None while nothing is known.

        Reading a stale one asks the service in the background; a `Changed` with `what` `"person"` tells of news. With
        the `whop` back end always None.
        """
        from ._people import Person

        document = self._ask("kassa_person")
        return None if document is None else Person.of(document)

    def pending(self) -> Pending:
        """What has yet to reach the service: receipts in the order in which they are sent, logins and attributes.

        `StorageError` if the disk cannot be read, which is not the same as nothing.
        """
        from ._documents import Pending

        document = self._ask("kassa_pending")
        if document is None:
            raise StorageError("what has yet to reach the service cannot be read from the disk", code="storage")
        return Pending.of(document)

    def explain(self, product_id: str) -> Explanation:
        """Why `has_access` answers what it does. With the `voidhash` back end also of a perk."""
        from ._documents import Explanation

        return Explanation.of(self._ask("kassa_explain", _library.utf8("product_id", product_id)))

    @property
    def revision(self) -> int:
        """A number that grows whenever an answer may have changed."""
        return int(self._functions.kassa_revision(self._client()))

    def _ask(self, function: str, *arguments: Any) -> Any:
        """The document that a query of the library returns."""
        return self._library.take(getattr(self._functions, function)(self._client(), *arguments))

    # Start

    def log_out(self) -> None:
        """Logs the user out, at once: now the unclaimed memberships of this device count.

        With the `voidhash` back end whoever asks from now on is somebody new. Receipts that wait stay their owner's.
        """
        self._functions.kassa_log_out(self._client())

    def cancel(self, operation: int) -> bool:
        """Asks an operation to end early. False if there is no such operation any more."""
        return bool(self._functions.kassa_cancel(self._client(), operation))

    def _configure(self, config: Mapping[str, Any] | None, keys: Mapping[str, Any]) -> Started:
        with self._library.lend({**(config or {}), **keys}) as lent:
            return self._start("kassa_configure", lent)

    def _refresh_plans(self) -> Started:
        return self._start("kassa_refresh_plans")

    def _get_products(self, slugs: Iterable[str] | None) -> Started:
        if isinstance(slugs, str):
            raise InvalidArgumentError(f"slugs must be a list of slugs: [{slugs!r}]")
        with self._library.lend(None if slugs is None else list(slugs)) as lent:
            return self._start("kassa_get_products", lent)

    def _purchase(self, plan_or_product: str, method: str | None, options: Mapping[str, Any]) -> Started:
        given = {"method": method, **options}
        # An offer may be one of the values that `get_products` gave.
        documents = {key: getattr(value, "raw", value) for key, value in given.items() if value is not None}
        with self._library.lend(documents) as lent:
            return self._start("kassa_purchase", _library.utf8("plan_or_product", plan_or_product), lent)

    def _log_in(self, app_user_id: str, attributes: Mapping[str, Any] | None) -> Started:
        with self._library.lend(attributes) as lent:
            return self._start("kassa_log_in", _library.utf8("app_user_id", app_user_id), lent)

    def _set_attributes(self, set: Mapping[str, Any] | None, set_once: Mapping[str, Any] | None) -> Started:
        with self._library.lend(set) as lent, self._library.lend(set_once) as lent_once:
            return self._start("kassa_set_attributes", lent, lent_once)

    def _restore_purchases(self) -> Started:
        return self._start("kassa_restore_purchases")

    def _report_transaction(self, transaction: str | Mapping[str, Any]) -> Started:
        if isinstance(transaction, int):
            raise InvalidArgumentError("transaction must be text, so that no digit of the id is lost")
        with self._library.lend(transaction) as lent:
            return self._start("kassa_report_transaction", lent)

    def _sync_purchases(self) -> Started:
        return self._start("kassa_sync_purchases")

    def _sync_pending_work(self) -> Started:
        return self._start("kassa_sync_pending_work")

    def _store_call(self, method: str, params: Mapping[str, Any] | None) -> Started:
        with self._library.lend(params) as lent:
            return self._start("kassa_store_call", _library.utf8("method", method), lent)

    def _simulate(self, action: Mapping[str, Any]) -> Started:
        with self._library.lend(action) as lent:
            return self._start("kassa_simulate", lent)

    def _start(self, function: str, *arguments: Any) -> Started:
        """Starts an operation."""
        # Locked until the number is noted: a thread that reads the queue may meet the completion before.
        with self._changed:
            number = int(getattr(self._functions, function)(self._client(), *arguments))
            if number == 0:
                raise InvalidArgumentError(f"{function} refused its arguments")
            started = self._operations[number] = Started(number)
            return started

    # Listen

    def fileno(self) -> int:
        """The descriptor that is readable while there is something to read or to do, for `select` and its relatives."""
        return int(self._functions.kassa_event_fd(self._client()))

    def respond(self, request_id: int, reply: Mapping[str, Any]) -> bool:
        """Answers a request of the library, now or later. False if there is no such request any more.

        The library waits 60 s for an answer, for a checkout as long as the configuration's `timeout_s`, and 30 min for
        what the store shows to its user.
        """
        with self._library.lend(reply) as lent:
            return bool(self._functions.kassa_respond(self._client(), request_id, lent))

    def notify(self, event: Mapping[str, Any]) -> bool:
        """Tells the library what happened outside.

        `{"type": "foreground"}` when the program comes back to the user, `{"type": "online"}` when the network does,
        or an event of the host's own store (docs/store.md). False for what is not understood; a diagnostic then says
        why. Before `configure` everything is kept and looked at then, up to 100 events; False means that it is lost.
        """
        with self._library.lend(event) as lent:
            return bool(self._functions.kassa_notify(self._client(), lent))

    def on_request(self, name: str) -> Callable[[Answering], Answering]:
        """Answers the library's requests called `name` with the decorated function::

            @client.on_request("auth/access_token")
            def fetch(request):
                return my_backend.get_token()

        It is called with the `Request` and returns the reply (docs/documents.md, "Requests to the host"; for an access
        token its text is enough), or raises: then the operation fails with its message, and with the code of what was
        raised if that is a `KassaError`.

        A request without such a function goes to the iterators of `events()`, to be answered with `respond`; without
        one of those either, it is answered with an error.
        """

        def register(handler: Answering) -> Answering:
            self._handlers[name] = handler
            return handler

        return register

    def _next_event(self, timeout_ms: int) -> Mapping[str, Any] | None:
        """Takes a document from the library's queue; None when there is none in that time."""
        document: Mapping[str, Any] | None = self._ask("kassa_next_event", timeout_ms)
        return document

    def _sort(self, event: Mapping[str, Any]) -> Handler | None:
        """Puts an event where its readers find it, with the lock held. Returns the handler if it is for one."""
        if event["type"] == "completed":
            started = self._operations.pop(event["op"], None)
            if started is not None:
                started.complete(event)
            return None
        if event["type"] == "request":
            name = f"{event['service']}/{event['method']}"
            handler = self._handlers.get(name)
            if handler is not None:
                return handler
            if not self._mailboxes:
                self._refuse(event["id"], f"this program has no handler for {name}", code="unsupported")
        for mailbox in self._mailboxes:
            mailbox.put(event)
        return None

    def _refuse(self, request_id: int, message: str, code: str | None = None) -> None:
        """Says that the host cannot."""
        error = {"message": message} if code is None else {"code": code, "message": message}
        self.respond(request_id, {"error": error})


def reply_from(value: Any) -> Mapping[str, Any]:
    """The reply for what a handler returned."""
    if isinstance(value, str):
        return {"token": value}
    if isinstance(value, dict):
        return value
    raise TypeError(f"the handler returned {type(value).__name__}, not a dict or an access token")


def refusal_from(error: BaseException) -> tuple[str, str | None]:
    """The message for what a handler raised, and its code."""
    return str(error) or type(error).__name__, error.code if isinstance(error, KassaError) else None
