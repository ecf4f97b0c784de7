"""The built library, the sandbox as a server, and the strict reading of every document that reaches a test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import kassa
import pytest
import schemas
from kassa import _core
from support import ROOT, Run, Sandbox, configuration

PYTHON_PATH = ROOT / "bindings" / "python" / "src"
ELEMENTS = {"kassa_plans": "plan", "kassa_memberships": "membership", "kassa_entitlements": "entitlement"}


def pytest_configure() -> None:
    """Names the built library, for this process and those that the tests start."""
    os.environ.setdefault("KASSA_LIBRARY", str(ROOT / "build" / "libkassa.so"))


@pytest.fixture(autouse=True)
def _every_document_is_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    ask = _core.Core._ask

    def checked(client: _core.Core, function: str, *arguments: Any) -> Any:
        document = ask(client, function, *arguments)
        if function in ELEMENTS:
            for element in document:
                schemas.check(ELEMENTS[function], element)
        elif function == "kassa_explain":
            schemas.check("explanation", document)
        elif function in ("kassa_person", "kassa_pending"):
            if document is not None:
                schemas.check(function.removeprefix("kassa_"), document)
        elif document is not None:
            schemas.check_event(document)
        return document

    monkeypatch.setattr(_core.Core, "_ask", checked)


@pytest.fixture(params=["library", "host"])
def thread(request: pytest.FixtureRequest) -> str:
    """Both ways of doing the work."""
    mode: str = request.param
    return mode


@pytest.fixture
def client(thread: str) -> Iterator[kassa.Client]:
    """A client that knows nothing yet."""
    with kassa.Client(storage=":memory:", thread=thread) as opened:
        yield opened


@pytest.fixture
def shop(client: kassa.Client) -> kassa.Client:
    """A client of the sandbox in this process; every checkout is paid at once."""
    client.configure(configuration())
    return client


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    server = Sandbox()
    yield server
    server.stop()


@pytest.fixture
def run_python(tmp_path: Path) -> Run:
    """Runs Python with the binding and a home of its own."""
    environment = {
        "HOME": str(tmp_path),
        "KASSA_LIBRARY": os.environ["KASSA_LIBRARY"],
        "PATH": os.defpath,
        "PYTHONPATH": str(PYTHON_PATH),
    }

    def run(*arguments: str, env: Mapping[str, str] | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *arguments],
            env={**environment, **(env or {})},
            **{"capture_output": True, "text": True, "timeout": 60, "check": False, **options},
        )

    return run
