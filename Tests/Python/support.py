"""What the tests of the binding share: the sandbox's names, configurations, and kassa-sandbox as a server."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import kassa
import schemas

ROOT = Path(__file__).resolve().parents[2]
COMPANY, KEY, PLAN, PRODUCT = "biz_sandbox", "sandbox_key", "plan_monthly", "prod_pro"

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def configuration(base_url: str = "embedded:", presenter: str = "simulated", **keys: Any) -> dict[str, Any]:
    """A configuration for the sandbox; `keys` replace or add whole sections, `backend` single keys."""
    backend = {"kind": "whop", "company_id": COMPANY, "api_key": KEY, "base_url": base_url, **keys.pop("backend", {})}
    config = {"backend": backend, "checkout": {"presenter": presenter}, **keys}
    schemas.check("configuration", config)
    return config


def example(name: str) -> Any:
    """A program of examples/python as a module: some of them are also what the tests play with."""
    found = importlib.util.spec_from_file_location(name, ROOT / "examples" / "python" / f"{name}.py")
    assert found is not None
    assert found.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def sandbox_program() -> Path:
    """Where kassa-sandbox is: KASSA_SANDBOX, else what `make build` or `swift build` left."""
    named = os.environ.get("KASSA_SANDBOX")
    built = ROOT / "build" / "kassa-sandbox"
    return Path(named) if named else built if built.exists() else ROOT / ".build" / "debug" / "kassa-sandbox"


class Sandbox:
    """kassa-sandbox as a server, until `stop`."""

    def __init__(self, *arguments: str) -> None:
        command = [str(sandbox_program()), "--port", "0", "--quiet", *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
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
