"""Measures a start with 5,000 receipts in the outbox: the first answer, the memory, and how fast they are sent.

    outbox.py SANDBOX PROGRAMS DIRECTORY

PROGRAMS is the folder with first_answer, process_start, outbox and curl_loop, compiled. Prints lines as bench.h does.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import urllib.request
from pathlib import Path

COUNT, ROUNDS = 5_000, 5
ROUTE = "/sdk/sync-transaction"


def control(base_url: str, **action: object) -> None:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{base_url}/sandbox/control", json.dumps(action).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        response.read()


def register(base_url: str) -> None:
    for number in range(1, COUNT + 1):
        name = f"bench-{number}"
        transaction = {"id": name, "original_id": name, "store": "apple", "proof": name, "environment": "production"}
        product = {"store_product_id": "com.example.app.pro.lifetime", "type": "non_consumable", "purchased_at": 1}
        control(base_url, action="register_store_transaction", transaction={**transaction, **product})


def prepare(programs: Path, base_url: str, directory: Path) -> None:
    """`empty`, where the user has access and nothing waits, and `full`, where in addition everything does."""
    backend = {"kind": "voidhash", "publishable_key": "vh_pk_sandbox", "bundle_id": "com.example.app"}
    config = {"backend": {**backend, "base_url": base_url}, "observer_mode": True}
    (directory / "config.json").write_text(json.dumps(config), encoding="utf-8")
    outbox(programs, "fill", directory / "empty", "1", "1")
    shutil.copytree(directory / "empty", directory / "full")
    control(base_url, action="fault", kind="delay", ms=3_600_000, route=ROUTE)
    outbox(programs, "fill", directory / "full", "2", str(COUNT))
    control(base_url, action="clear_faults")


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
    command = [programs / "curl_loop", f"{base_url}/api/v1/sdk/sync-transaction", str(COUNT - 1)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout)


def report(figure: str, ratio: float, gate: float, details: str) -> None:
    print(f"{figure}\t{ratio:.2f}\t{gate:.2f}\t{details}", flush=True)


def main(sandbox: str, programs: Path, directory: Path) -> None:
    directory.mkdir(parents=True)
    command = [sandbox, "--quiet", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            base_url = server.stdout.readline().split()[-1]
            register(base_url)
            prepare(programs, base_url, directory)
            loop(programs, base_url)
            ratios, memories, times = [], [], []
            for _ in range(ROUNDS):
                milliseconds, memory = send(programs, directory, "full")
                bare = loop(programs, base_url)
                ratios.append(milliseconds / bare)
                times.append((milliseconds, bare))
                memories.append(memory - send(programs, directory, "empty")[1])
        finally:
            server.terminate()
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
