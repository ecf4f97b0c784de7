"""The built library, the sandbox as a server, and the strict reading of every document that reaches a test."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import kassa
import pytest
import schemas
from kassa import _core

ROOT = Path(__file__).resolve().parents[3]
PYTHON_PATH = ROOT / "bindings" / "python" / "src"
COMPANY, KEY, PLAN, PRODUCT = "biz_sandbox", "sandbox_key", "plan_monthly", "prod_pro"
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
        elif document is not None:
            schemas.check_event(document)
        return document

    monkeypatch.setattr(_core.Core, "_ask", checked)


def configuration(base_url: str = "embedded:", presenter: str = "simulated", **keys: Any) -> dict[str, Any]:
    """A configuration for the sandbox; `keys` replace or add whole sections, `backend` single keys."""
    backend = {"kind": "whop", "company_id": COMPANY, "api_key": KEY, "base_url": base_url, **keys.pop("backend", {})}
    config = {"backend": backend, "checkout": {"presenter": presenter}, **keys}
    schemas.check("configuration", config)
    return config


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


class Sandbox:
    """kassa-sandbox as a server, until `stop`."""

    def __init__(self, *arguments: str) -> None:
        program = os.environ.get("KASSA_SANDBOX") or str(ROOT / ".build" / "debug" / "kassa-sandbox")
        self._process = subprocess.Popen([program, "--port", "0", *arguments], stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.base_url = self._process.stdout.readline().strip().rpartition(" ")[2]

    def control(self, action: Mapping[str, Any]) -> Any:
        body = json.dumps(action).encode()
        request = Request(f"{self.base_url}/sandbox/control", body, {"Content-Type": "application/json"})
        with urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def pay(self, request: kassa.Request) -> dict[str, Any]:
        """What a presenter and its user do: pay on the checkout page and come back."""
        self.control({"action": "complete_checkout", "url": request.params["url"]})
        return {"outcome": "returned"}

    def stop(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=10)


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    server = Sandbox()
    yield server
    server.stop()


Run = Callable[..., "subprocess.CompletedProcess[str]"]


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
