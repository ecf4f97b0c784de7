"""`kassa.verify`: from Python's values to the request document, and back."""

from __future__ import annotations

from base64 import b64encode
from datetime import datetime, timedelta

from . import _library
from ._documents import Verification
from ._values import EPOCH
from .errors import InvalidArgumentError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def verify(
    text: str,
    kind: str,
    bundle_id: str | None,
    app_apple_id: int | None,
    environments: list[str],
    roots: list[bytes] | None,
    max_age: timedelta | float | None,
    now: datetime | None,
) -> Verification:
    """See `kassa.verify`."""
    request: dict[str, Any] = {"text": text, "kind": kind, "environments": environments, "read_transaction": True}
    if bundle_id is not None:
        request["bundle_id"] = bundle_id
    if app_apple_id is not None:
        request["app_apple_id"] = app_apple_id
    if roots is not None:
        request["roots"] = [b64encode(root).decode() for root in roots]
    if max_age is not None:
        request["max_age_s"] = int(max_age.total_seconds() if isinstance(max_age, timedelta) else max_age)
    if now is not None:
        request["now"] = milliseconds(now)
    library = _library.load()
    with library.lend(request) as lent:
        found = Verification.of(library.take(library.functions.kassa_verify(lent)))
    if found.reason == "invalid_request":
        raise InvalidArgumentError(found.message or "")
    return found


def milliseconds(moment: datetime) -> int:
    """A moment as the library counts it. One without a time zone could be anywhere, and is refused."""
    if moment.tzinfo is None:
        raise InvalidArgumentError("now must have a time zone")
    return (moment - EPOCH) // timedelta(milliseconds=1)
