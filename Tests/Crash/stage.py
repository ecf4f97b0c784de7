"""Where the plays are given: the built programs, a service that outlives them, and one run of the host."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
C = ["gcc", "-std=c99", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
# Of a whole play. It takes milliseconds, unless what it waits for has been lost.
LIMIT_S = 60


@dataclass
class Programs:
    shim: Path
    host: Path
    sandbox: Path

    @classmethod
    def build(cls, work: Path, library: Path) -> Programs:
        """`library` is the folder of libkassa.so."""
        shim, host = work / "shim.so", work / "host"
        subprocess.run([*C, "-fPIC", "-shared", "-o", shim, HERE / "shim.c", "-pthread"], check=True)
        linked = ["-L", str(library), f"-Wl,-rpath,{library}", "-lkassa", "-ljansson", "-ldl"]
        subprocess.run([*C, "-I", ROOT / "Include", "-o", host, HERE / "host.c", *linked], check=True)
        return cls(shim, host, Path(os.environ.get("KASSA_SANDBOX", ROOT / "build" / "kassa-sandbox")))


class Service:
    """kassa-sandbox as a server. It knows what is sold because it is told beforehand, as Google would know."""

    def __init__(self, program: Path) -> None:
        command = [str(program), "--port", "0", "--quiet"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.base_url = self._process.stdout.readline().strip().rpartition(" ")[2]
        address = urlsplit(self.base_url)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        text = None if body is None else json.dumps(body)
        self._connection.request(method, path, text, {"Content-Type": "application/json"})
        with self._connection.getresponse() as answer:
            document = json.loads(answer.read())
            if answer.status != 200:
                raise RuntimeError(f"{method} {path}: {answer.status} {document}")
            return document

    def control(self, **action: Any) -> Any:
        return self._ask("POST", "/sandbox/control", action)

    def register(self, token: str, product: str, kind: str, platform: str = "google") -> None:
        name = f"GPA.{token}" if platform == "google" else token
        transaction = {"id": name, "original_id": name, "store": platform, "proof": token}
        transaction |= {"store_product_id": product, "type": kind}
        self.control(
            action="register_store_transaction",
            transaction={**transaction, "environment": "production", "purchased_at": 1_792_490_400_000},
        )

    def fail_once(self, route: str) -> None:
        self.control(action="fault", kind="status", status=503, route=route)

    def keep_waiting(self, route: str) -> None:
        """The next request there gets no answer as long as anybody waits for one."""
        self.control(action="fault", kind="delay", ms=3_600_000, route=route)

    def receipts(self) -> list[dict[str, Any]]:
        state = self._ask("GET", "/sandbox/state")
        receipts: list[dict[str, Any]] = state["voidhash"]["receipts"]
        return receipts

    def stop(self) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.communicate(timeout=10)


@dataclass(frozen=True)
class Blow:
    """Where a process dies, and what becomes of what it had not synced."""

    step: str
    when: str = "before"
    power: str = "kept"
    seed: int = 1

    def environment(self) -> dict[str, str]:
        variables = {"CRASH_AT": self.step, "CRASH_WHEN": self.when, "CRASH_POWER": self.power}
        return {**variables, "CRASH_SEED": str(self.seed)}


@dataclass
class Play:
    """A scenario under way: its storage and its ledger, in a folder of its own."""

    scenario: str
    number: str
    folder: Path
    thread: str = "host"
    # For the shim and the library, as in "CRASH_IGNORE".
    switches: Mapping[str, str] = field(default_factory=dict)

    @property
    def storage(self) -> Path:
        return self.folder / "storage"

    def ledger(self) -> list[str]:
        path = self.folder / "ledger"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def note(self, line: str) -> None:
        with (self.folder / "ledger").open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def start(self, programs: Programs, scenario: str, base_url: str, **environment: str) -> subprocess.Popen[str]:
        """Without a shim, and not waited for."""
        command = self.command(programs, scenario, base_url)
        return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)

    def command(self, programs: Programs, scenario: str, base_url: str) -> list[str]:
        ledger = str(self.folder / "ledger")
        return [str(programs.host), scenario, base_url, str(self.storage), ledger, self.number, self.thread]

    def run(
        self, programs: Programs, scenario: str, base_url: str, blow: Blow | None = None, trace: Path | None = None
    ) -> bool:
        """Whether it was killed."""
        environment = {"LD_PRELOAD": str(programs.shim), "CRASH_DIR": str(self.storage), **self.switches}
        if blow is not None:
            environment |= blow.environment()
        if trace is not None:
            environment["CRASH_TRACE"] = str(trace)
        command = self.command(programs, scenario, base_url)
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode not in (0, -signal.SIGKILL):
            last = "\n".join(self.ledger()[-20:])
            raise RuntimeError(f"{scenario} {self.number} ended with {done.returncode}: {done.stderr}\n{last}")
        return done.returncode != 0


class Stage:
    """One service with its plays; made anew from time to time, since the service's memory grows."""

    def __init__(self, programs: Programs, name: str) -> None:
        self.programs = programs
        self._name = name
        self._plays = 0
        self.work = Path(tempfile.mkdtemp(prefix="kassa-crash-"))
        self.service = Service(programs.sandbox)
        # What an earlier run left: the catalogue is known, nobody has logged in.
        self._template = Play("queue", f"{name}-0", self.work / "template")
        self._template.folder.mkdir()
        command = self._template.command(programs, "queue", self.service.base_url)
        subprocess.run(command, env={"HOST_COUNT": "0"}, check=True, timeout=LIMIT_S)

    def begin(self, scenario: str, thread: str, switches: Mapping[str, str]) -> Play:
        self._plays += 1
        number = f"{self._name}-{self._plays}"
        play = Play(scenario, number, self.work / number, thread, switches)
        play.folder.mkdir()
        for index in (1, 2, 3):
            coins = scenario != "restore"
            kind = ("coins_100", "consumable") if coins else ("pro", "subscription")
            self.service.register(f"t{number}-{index}", *kind)
        if scenario != "report":
            # A report is played from nothing, which has the most to lose.
            shutil.copytree(self._template.storage, play.storage)
            self._make_somebody_else(play.storage)
        if scenario in ("report", "restore"):
            self.service.fail_once("/sdk/sync-transaction")
        return play

    @staticmethod
    def _make_somebody_else(storage: Path) -> None:
        with sqlite3.connect(storage / "kassa.db") as database:
            change = "UPDATE facts SET value = ? WHERE name = ?"
            database.execute(change, (f"vh:anon:{uuid.uuid4()}", "anonymous_id"))
            database.execute(change, (str(uuid.uuid4()), "device_id"))
        database.close()

    def receipts_of(self, play: Play) -> Sequence[Mapping[str, Any]]:
        prefix = f"GPA.t{play.number}-"
        return [row for row in self.service.receipts() if row["transaction_id"].startswith(prefix)]

    def end(self, play: Play) -> None:
        self.service.control(action="clear_faults")
        shutil.rmtree(play.folder, ignore_errors=True)

    @property
    def is_worn(self) -> bool:
        return self._plays >= 100

    def close(self) -> None:
        self.service.stop()
        shutil.rmtree(self.work, ignore_errors=True)
