"""The sandbox as a server, for programs that know nothing of Kassa: Whop's official SDK, a browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from official_sdk import official_sdk
from support import Sandbox
from whop_sdk import Whop


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    server = Sandbox("--seed", "1", "--quiet")
    yield server
    server.stop()


@pytest.fixture
def whop(sandbox: Sandbox) -> Whop:
    return official_sdk(sandbox)
