"""The kill test in short, and that it notices what it must; outboxes that are long or shared."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from stage import HERE, ROOT, Play, Programs, Service

ROUTE = "/sdk/sync-transaction"
DEBUG = ROOT / ".build" / "debug"
# The service looks Google's purchases up one by one, so `make crash` has five times as many.
CROWD = int(os.environ.get("KASSA_CROWD", "1000"))


def crash(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(HERE / "crash.py"), "--quiet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def count(done: subprocess.CompletedProcess[str], what: str) -> int:
    found = re.search(rf"{what}: (\d+)", done.stdout)
    assert found is not None, done.stdout + done.stderr
    return int(found[1])


@pytest.mark.timeout(300)
def test_s009_s013_s066_s067_nothing_is_lost_wherever_the_process_dies() -> None:
    done = crash("--kills", "200")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(300)
@pytest.mark.parametrize("sync", ["log@report", "log@buy", "log", "database", "directory", "parent"])
def test_s067_a_sync_that_is_left_out_is_noticed(sync: str) -> None:
    scenarios = "purchase,switch" if sync == "log@buy" else "report"
    done = crash("--kills", "400", "--ignore", sync, "--scenarios", scenarios)
    assert done.returncode == 1, done.stdout + done.stderr
    wrong = ["lost receipts", "accepted under another owner", "finished although the host's"]
    assert sum(count(done, what) for what in wrong) > 0, done.stdout


@pytest.mark.timeout(300)
@pytest.mark.skipif(not (DEBUG / "libkassa.so").exists(), reason="swift build makes the library that can be wrong")
@pytest.mark.parametrize(
    ("fault", "scenario", "wrong"),
    [
        ("finish_first", "purchase", ["finished before acceptance"]),
        # With a report goes the word that the transaction is the host's: the first of the two to show ends the test.
        ("send_unwritten", "report", ["lost receipts", "finished although the host's"]),
    ],
)
def test_an_order_that_is_wrong_is_noticed(fault: str, scenario: str, wrong: list[str]) -> None:
    done = crash("--kills", "400", "--library", str(DEBUG), "--fault", fault, "--scenarios", scenario)
    assert done.returncode == 1, done.stdout + done.stderr
    assert sum(count(done, what) for what in wrong) > 0, done.stdout


def test_the_library_that_is_shipped_cannot_be_wrong_on_request() -> None:
    assert b"KASSA_FAULT" not in (ROOT / "build" / "libkassa.so").read_bytes()


# Long and shared outboxes


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Programs:
    return Programs.build(tmp_path_factory.mktemp("programs"), ROOT / "build")


@pytest.fixture
def service(programs: Programs) -> Iterator[Service]:
    service = Service(programs.sandbox)
    yield service
    service.stop()


def finish(process: subprocess.Popen[str]) -> None:
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors


def queue(service: Service, programs: Programs, folder: Path, length: int) -> Play:
    """An outbox of that many receipts."""
    play = Play("queue", "q", folder / "play")
    play.folder.mkdir()
    for number in range(1, length + 1):
        service.register(f"tq-{number}", "com.example.app.coins.100", "consumable", "apple")
    service.keep_waiting(ROUTE)
    finish(play.start(programs, "queue", service.base_url, HOST_PLATFORM="apple", HOST_COUNT=str(length)))
    assert service.receipts() == []
    service.control(action="clear_faults")
    return play


def test_s070_two_processes_empty_one_outbox_and_send_nothing_twice(
    programs: Programs, service: Service, tmp_path: Path
) -> None:
    play = queue(service, programs, tmp_path, 1_000)
    both = [play.start(programs, "drain", service.base_url, HOST_PLATFORM="apple") for _ in range(2)]
    for process in both:
        finish(process)
    receipts = service.receipts()
    assert len(receipts) == 1_000
    assert {(row["distinct_id"], row["deliveries"]) for row in receipts} == {("alice-q", 1)}
    assert [line for line in play.ledger() if line.startswith("diagnostic") and "backlog" not in line] == []


def test_s070_a_sender_that_dies_hands_over(programs: Programs, service: Service, tmp_path: Path) -> None:
    play = queue(service, programs, tmp_path, 400)
    first = play.start(programs, "drain", service.base_url, HOST_PLATFORM="apple")
    second = play.start(programs, "drain", service.base_url, HOST_PLATFORM="apple")
    while len(service.receipts()) < 100:
        time.sleep(0.02)
    first.kill()
    first.communicate(timeout=10)
    finish(second)
    deliveries = [row["deliveries"] for row in service.receipts()]
    assert len(deliveries) == 400
    # What was accepted and not written down before the end is sent again: one batch at most.
    assert sum(deliveries) <= 400 + 257
    assert max(deliveries) <= 2


def test_s078_a_crowd_of_unfinished_transactions(programs: Programs, service: Service, tmp_path: Path) -> None:
    play = Play("sweep", "s", tmp_path / "play")
    play.folder.mkdir()
    tokens = [f"ts-{number}" for number in range(1, CROWD + 1)]
    for token in tokens:
        service.register(token, "coins_100", "consumable")
        play.note(f"charged {token} coins -")
    trace = tmp_path / "trace"
    play.run(programs, "sweep", service.base_url, None, trace)
    ledger = play.ledger()
    assert "quiet" in ledger
    assert {line.split(" ")[1] for line in ledger if line.startswith("told ")} == set(tokens)
    assert {row["deliveries"] for row in service.receipts()} == {1}
    (memory,) = (int(line.split(" ")[1]) for line in ledger if line.startswith("memory "))
    assert memory < 60_000, f"{memory} KiB"
    under_way = 0
    for step in trace.read_text(encoding="utf-8").splitlines():
        if step.startswith("send sync-transaction"):
            under_way += 1
            assert under_way == 1, step
        elif step.startswith("answer sync-transaction"):
            under_way = 0
