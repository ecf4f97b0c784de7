"""How documents become values: the base of all dataclasses, and the small ones that others are made of."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from typing_extensions import Self

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def read_time(milliseconds: int) -> datetime:
    """Milliseconds since 1970 as a `datetime` in UTC. What lies outside its years becomes its first or last moment."""
    try:
        return EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return (datetime.max if milliseconds > 0 else datetime.min).replace(tzinfo=timezone.utc)


@dataclass(frozen=True)
class Document:
    """What every document has."""

    raw: Mapping[str, Any] = field(repr=False, compare=False)
    """The document as the library sent it."""

    @property
    def sandbox(self) -> bool:
        """It comes from the sandbox in this process."""
        return self.raw.get("sandbox") is True

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> Self:
        """The value for a document. Fields without a place here stay in `raw`."""
        return cls(raw, **{declared.name: read(raw, declared) for declared in dataclasses.fields(cls)[1:]})


def read(raw: Mapping[str, Any], declared: dataclasses.Field[Any]) -> Any:
    """The value of a field, read as its declared type says. (`from_` is the document's `from`.)"""
    key = declared.name.rstrip("_")
    # What has a default may be absent.
    value = raw[key] if declared.default is dataclasses.MISSING else raw.get(key, declared.default)
    if value is None:
        return None
    return READERS.get(str(declared.type).removesuffix(" | None"), keep)(value)


def keep(value: Any) -> Any:
    """Text, numbers and booleans are what they are in JSON."""
    return value


@dataclass(frozen=True)
class Money(Document):
    """An exact amount. `str()` is the text for people."""

    amount: Decimal
    """In major units: `Decimal("9.99")`."""
    amount_micros: int | None
    """The same in millionths; None if it is not a whole number of them."""
    currency: str
    """Upper case, `"USD"`; ISO 4217 and what the service adds, such as `"BTC"`."""
    formatted: str
    """Text for people in the configured locale. Never parse it."""

    def __str__(self) -> str:
        return self.formatted


@dataclass(frozen=True)
class Period(Document):
    """A stretch of the calendar: `1 month`, `2 week`."""

    unit: str
    """`day`, `week`, `month` or `year`."""
    count: int


# How the value of a field is read, by the field's declared type; each module adds its own types.
READERS: dict[str, Callable[[Any], Any]] = {
    "datetime": read_time,
    "Decimal": Decimal,
    "Money": Money.of,
    "Period": Period.of,
    "tuple[str, ...]": tuple,
}


def read_all(kind: type[Document]) -> Callable[[Any], Any]:
    """Reads a list of documents of one kind; what is null stays None."""
    return lambda values: tuple(None if value is None else kind.of(value) for value in values)
