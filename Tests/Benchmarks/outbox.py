"""Measures a start with 5,000 receipts in the outbox: the first answer, the memory, and how fast they are sent.

    outbox.py SANDBOX PROGRAMS DIRECTORY

PROGRAMS is the folder with first_answer, process_start, outbox and curl_loop, compiled. Prints lines as bench.h does.
"""

from __future__ import annotations

import itertools
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

COUNT, ROUNDS = 5_000, 8
ROUTE = "/sdk/sync-transaction"


@contextmanager
def serve(sandbox: str, port: str, *names: str) -> Iterator[str]:
    """A service that has heard of no receipt yet, though the store has sold all of these."""
    command = [sandbox, "--quiet", "--port", port]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            base_url = server.stdout.readline().split()[-1]
            connection = HTTPConnection(urlsplit(base_url).netloc, timeout=30)
            product = {"store_product_id": "com.example.app.pro.lifetime", "type": "non_consumable", "purchased_at": 1}
            for name, number in itertools.product(names, range(1, COUNT + 1)):
                receipt = f"{name}-{number}"
                about = {"id": receipt, "original_id": receipt, "proof": receipt, "store": "apple", **product}
                transaction = {**about, "environment": "production"}
                control(connection, action="register_store_transaction", transaction=transaction)
            connection.close()
            yield base_url
        finally:
            server.terminate()


def control(connection: HTTPConnection, **action: object) -> None:
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/sandbox/control", json.dumps(action), headers)
    response = connection.getresponse()
    answer = response.read()
    assert response.status == 200, answer


def prepare(programs: Path, base_url: str, directory: Path) -> None:
    """`empty`, where the user has access and nothing waits, and `full`, where in addition everything does."""
    backend = {"kind": "voidhash", "publishable_key": "vh_pk_sandbox", "bundle_id": "com.example.app"}
    config = {"backend": {**backend, "base_url": base_url}, "observer_mode": True}
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")
    outbox(programs, "fill", directory / "empty", "1", "1")
    shutil.copytree(directory / "empty", directory / "full")
    connection = HTTPConnection(urlsplit(base_url).netloc, timeout=30)
    control(connection, action="fault", kind="delay", ms=3_600_000, route=ROUTE)
    outbox(programs, "fill", directory / "full", "2", str(COUNT))
    connection.close()


def outbox(programs: Path, verb: str, storage: Path, *numbers: str) -> str:
    command = [programs / "outbox", verb, storage, storage.parent / "config.json", *numbers]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout


def send(programs: Path, directory: Path, name: str) -> tuple[float, float]:
    """Milliseconds and KiB, of a copy."""
    copy = directory / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(directory / name, copy)
    milliseconds, memory = map(float, outbox(programs, "send", copy).split())
    return milliseconds, memory


def loop(programs: Path, base_url: str) -> float:
    command = [programs / "curl_loop", f"{base_url}/api/v1{ROUTE}", str(COUNT - 1)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


def report(figure: str, ratio: float, gate: float, details: str) -> None:
    print(f"{figure}\t{ratio:.2f}\t{gate:.2f}\t{details}", flush=True)


def main(sandbox: str, programs: Path, directory: Path) -> None:
    directory.mkdir(parents=True)
    with serve(sandbox, "0", "bench") as base_url:
        prepare(programs, base_url, directory)
    # What waits is for this address.
    port = str(urlsplit(base_url).port)
    ratios, memories, times = [], [], []
    for number in range(ROUNDS):
        with serve(sandbox, port, "bench", "loop"):
            # Before the service has more to say of the person.
            usual = send(programs, directory, "empty")[1]
            # Each goes first as often as second.
            bare = loop(programs, base_url) if number % 2 else 0.0
            milliseconds, memory = send(programs, directory, "full")
            bare = bare or loop(programs, base_url)
            ratios.append(milliseconds / bare)
            times.append((milliseconds, bare))
            memories.append(memory - usual)
    ours, bare = (statistics.median(column) for column in zip(*times))
    details = f"{COUNT / ours * 1000:.0f} against {COUNT / bare * 1000:.0f} receipts a second"
    report("sending 5,000 queued receipts, against a loop of libcurl", statistics.median(ratios), 1 / 0.7, details)
    memory = statistics.median(memories)
    report("memory for 5,000 queued receipts, in 10 MB", memory * 1024 / 1e7, 1.0, f"{memory:.0f} KiB")
    # The server is gone: what waits stays.
    answer = [programs / "first_answer", directory / "full", directory / "config.json", "pro_lifetime"]
    without = [*answer[:1], directory / "empty", *answer[2:]]
    figure = "start to first answer with 5,000 queued receipts, against none"
    subprocess.run([programs / "process_start", figure, "1.1", "41", *answer, "--", *without], check=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
