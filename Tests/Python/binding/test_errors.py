"""Error codes and their exceptions."""

from __future__ import annotations

import kassa
import pytest
import samples
import schemas
from kassa import errors


def test_every_code_has_a_family() -> None:
    assert set(errors.FAMILIES) == set(schemas.schemas()["error"]["properties"]["code"]["examples"])


@pytest.mark.parametrize("code", errors.FAMILIES)
def test_a_code_becomes_its_exception(code: str) -> None:
    error = errors.error_from({"code": code, "message": "What happened.", "retryable": False})
    assert type(error) is errors.FAMILIES[code]
    assert isinstance(error, kassa.KassaError)
    assert (error.code, error.message, str(error)) == (code, "What happened.", "What happened.")
    assert (error.reason, error.status, error.retry_after, error.retryable) == (None, None, None, False)


def test_every_field_of_an_error_survives() -> None:
    schemas.check("error", samples.ERROR)
    error = errors.error_from({**samples.ERROR, "reason": "too_many"})
    assert (error.reason, error.status, error.retry_after, error.retryable) == ("too_many", 429, 1.5, True)


def test_s131_an_unknown_code_is_a_plain_error() -> None:
    error = errors.error_from({"code": "moonrise", "message": "Wait.", "retryable": True})
    assert type(error) is kassa.KassaError
    assert error.code == "moonrise"


def test_a_wrong_argument_is_a_value_error_too() -> None:
    assert issubclass(kassa.InvalidArgumentError, ValueError)


def test_every_exception_is_exported() -> None:
    families = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)}
    assert families == {getattr(kassa, kind.__name__) for kind in families}
