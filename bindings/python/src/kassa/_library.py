"""The shared library: where it is, what it exports, and how text and documents cross.

Everything else in this package calls the library through `load()`.
"""

from __future__ import annotations

import ctypes
import json
import os

from .errors import InvalidArgumentError, error_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

Client = ctypes.c_void_p
Document = ctypes.c_void_p
DocumentOut = ctypes.POINTER(ctypes.c_void_p)
# A string that the library allocated: as an address, because it must be freed after it was read.
OwnedText = ctypes.c_void_p
Text = ctypes.c_char_p
Operation = ctypes.c_uint64

# Every function of kassa.h but kassa_set_wakeup, which would call Python from a foreign thread: the binding listens on
# the event descriptor instead. name: (result, arguments).
PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "kassa_version": (Text, ()),
    "kassa_free": (None, (ctypes.c_void_p,)),
    "kassa_json_parse": (Document, (Text, ctypes.c_size_t, DocumentOut)),
    "kassa_json_dump": (OwnedText, (Document,)),
    "kassa_json_release": (None, (Document,)),
    "kassa_verify": (Document, (Document,)),
    "kassa_open": (Client, (Document, DocumentOut)),
    "kassa_shared": (Client, ()),
    "kassa_close": (None, (Client,)),
    "kassa_is_initialized": (ctypes.c_bool, (Client,)),
    "kassa_is_subscribed": (ctypes.c_bool, (Client,)),
    "kassa_has_access": (ctypes.c_bool, (Client, Text)),
    "kassa_has_perk": (ctypes.c_bool, (Client, Text)),
    "kassa_supports_external_purchases": (ctypes.c_bool, (Client,)),
    "kassa_device_id": (OwnedText, (Client,)),
    "kassa_app_user_id": (OwnedText, (Client,)),
    "kassa_plans": (Document, (Client,)),
    "kassa_memberships": (Document, (Client,)),
    "kassa_entitlements": (Document, (Client,)),
    "kassa_person": (Document, (Client,)),
    "kassa_pending": (Document, (Client,)),
    "kassa_explain": (Document, (Client, Text)),
    "kassa_revision": (ctypes.c_uint64, (Client,)),
    "kassa_configure": (Operation, (Client, Document)),
    "kassa_refresh_plans": (Operation, (Client,)),
    "kassa_get_products": (Operation, (Client, Document)),
    "kassa_purchase": (Operation, (Client, Text, Document)),
    "kassa_log_in": (Operation, (Client, Text, Document)),
    "kassa_set_attributes": (Operation, (Client, Document, Document)),
    "kassa_log_out": (None, (Client,)),
    "kassa_restore_purchases": (Operation, (Client,)),
    "kassa_report_transaction": (Operation, (Client, Document)),
    "kassa_sync_purchases": (Operation, (Client,)),
    "kassa_sync_pending_work": (Operation, (Client,)),
    "kassa_store_call": (Operation, (Client, Text, Document)),
    "kassa_simulate": (Operation, (Client, Document)),
    "kassa_cancel": (ctypes.c_bool, (Client, Operation)),
    "kassa_next_event": (Document, (Client, ctypes.c_int)),
    "kassa_wait": (Document, (Client, Operation, ctypes.c_int)),
    "kassa_event_fd": (ctypes.c_int, (Client,)),
    "kassa_respond": (ctypes.c_bool, (Client, ctypes.c_uint64, Document)),
    "kassa_notify": (ctypes.c_bool, (Client, Document)),
}


def candidates() -> list[str]:
    """Where the library may be, best first: inside the wheel, `KASSA_LIBRARY`, the system's library path."""
    inside = os.path.join(os.path.dirname(__file__), "libkassa.so")
    named = os.environ.get("KASSA_LIBRARY")
    return [*([inside] if os.path.exists(inside) else []), *([named] if named else []), "libkassa.so.1"]


def utf8(name: str, text: str) -> bytes:
    """`text` for C, which ends at NUL: text that would arrive shortened or not at all is refused here."""
    if not isinstance(text, str):
        raise InvalidArgumentError(f"{name} must be a str, not {type(text).__name__}")
    if "\0" in text:
        raise InvalidArgumentError(f"{name} contains a NUL character")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError(f"{name} is not valid Unicode text: {error}") from None


class _Library:
    """The loaded library; `functions.kassa_...` are its functions, with their prototypes."""

    def __init__(self, path: str) -> None:
        self.functions = ctypes.CDLL(path)
        for name, (result, arguments) in PROTOTYPES.items():
            function = getattr(self.functions, name)
            function.restype = result
            function.argtypes = arguments

    def text(self, address: int | None) -> str | None:
        """Reads and frees a string that the library returned."""
        if address is None:
            return None
        try:
            return ctypes.string_at(address).decode()
        finally:
            self.functions.kassa_free(address)

    def take(self, document: int | None) -> Any:
        """Reads and releases a document that the library returned; None for NULL."""
        if document is None:
            return None
        try:
            return json.loads(self.text(self.functions.kassa_json_dump(document)) or "null")
        finally:
            self.functions.kassa_json_release(document)

    def lend(self, document: Mapping[str, Any] | list[Any] | str | None) -> _Lent:
        """`document` as the library's own value, for the length of a `with` block."""
        return _Lent(self, document)

    def parse(self, text: bytes) -> int:
        """The library's own value for JSON text; the caller releases it."""
        problem = ctypes.c_void_p()
        return self._checked(self.functions.kassa_json_parse(text, len(text), ctypes.byref(problem)), problem)

    def open(self, options: Mapping[str, Any]) -> int:
        """A new client of the library."""
        problem = ctypes.c_void_p()
        with self.lend(options) as lent:
            return self._checked(self.functions.kassa_open(lent, ctypes.byref(problem)), problem)

    def _checked(self, address: int | None, problem: ctypes.c_void_p) -> int:
        """`address`, unless it is NULL: then the error document says why."""
        if address is None:
            raise error_from(self.take(problem.value))
        return address


class _Lent:
    def __init__(self, library: _Library, document: Mapping[str, Any] | list[Any] | str | None) -> None:
        self._library = library
        self._address = None if document is None else self._parse(document)

    def _parse(self, document: Mapping[str, Any] | list[Any] | str) -> int:
        try:
            text = json.dumps(document, allow_nan=False, ensure_ascii=False).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidArgumentError(f"the document cannot be written as JSON: {error}") from None
        return self._library.parse(text)

    def __enter__(self) -> int | None:
        return self._address

    def __exit__(self, *_: object) -> None:
        self._library.functions.kassa_json_release(self._address)


_loaded: _Library | None = None


def load() -> _Library:
    """The library, loaded on first use. ImportError if it is nowhere."""
    global _loaded
    if _loaded is None:
        problems = []
        for path in candidates():
            try:
                _loaded = _Library(path)
                break
            except OSError as error:
                problems.append(str(error))
        else:
            raise ImportError(
                "libkassa was not found. Install a kassa wheel for this platform or libkassa itself, or set "
                f"KASSA_LIBRARY to the path of libkassa.so. Tried: {'; '.join(problems)}"
            )
    return _loaded
