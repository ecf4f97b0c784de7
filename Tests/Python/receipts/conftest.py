"""The built library, and the strict reading of every reply."""

from __future__ import annotations

import os
from typing import Any

import kassa
import pytest
import schemas
from support import ROOT


def pytest_configure() -> None:
    """Names the built library."""
    os.environ.setdefault("KASSA_LIBRARY", str(ROOT / "build" / "libkassa.so"))


@pytest.fixture(autouse=True)
def _every_reply_is_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    read = kassa.Verification.of

    def checked(raw: Any) -> kassa.Verification:
        schemas.check("verification", raw)
        return read(raw)

    monkeypatch.setattr(kassa.Verification, "of", checked)
