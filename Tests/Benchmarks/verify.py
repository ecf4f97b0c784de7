"""Measures verification of App Store signed data, in turns with its yardsticks, and prints lines for run.sh.

    verify.py PROGRAM DIRECTORY

PROGRAM is verify.c, built; texts are made in DIRECTORY, under chains like Apple's own: a signer on P-256, issuers on
P-384 with SHA-384. The yardsticks are `openssl speed`, the bare signature checks of the same chains, and Apple's own
server library.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "Python"))

import signed_data
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from signed_data import Chain, Part

ROUNDS = 12
MILLISECONDS = 1000
# More chains than the library keeps, so that none is known when its turn comes again.
FRESH = 48


def make(directory: Path) -> tuple[list[Path], list[str], bytes]:
    """Requests of kassa_verify as files, their texts, and the root: one intermediate, and a signer for each."""
    chance = random.Random(7)
    keys = [ec.generate_private_key(ec.SECP384R1()) for _ in range(2)]
    root = Part("Bench Root", ec.SECP384R1(), key=keys[0])
    chain = Chain(root, Part("Bench Intermediate", ec.SECP384R1(), key=keys[1]), hash=hashes.SHA384())
    requests, texts = [], []
    for number in range(FRESH):
        own = replace(chain)
        own.certificates[1:], own.root_der = chain.certificates[1:], chain.root_der
        texts.append(own.sign(signed_data.transaction(chance)))
        request = {
            "text": texts[-1],
            "kind": "transaction",
            "bundle_id": signed_data.APP,
            "environments": ["sandbox"],
            "roots": [b64encode(chain.root_der).decode()],
        }
        requests.append(directory / f"request-{number}.json")
        requests[-1].write_text(json.dumps(request), encoding="utf-8")
    return requests, texts, chain.root_der


def run(program: str, what: str, requests: list[Path]) -> float:
    command = [program, what, *map(str, requests), str(MILLISECONDS)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def openssl_speed() -> float:
    """One bare P-256 verification, in nanoseconds."""
    command = ["openssl", "speed", "-seconds", "1", "-mr", "ecdsap256"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"^\+F4:\d+:256:[\d.e+-]+:([\d.e+-]+)$", output, re.MULTILINE)
    assert found is not None, output
    return float(found[1]) * 1e9 if float(found[1]) < 1 else 1e9 / float(found[1])


def apple(texts: list[str], root: bytes) -> float:
    verifier = SignedDataVerifier([root], False, Environment.SANDBOX, signed_data.APP)
    begin, done = time.process_time_ns(), 0
    while time.process_time_ns() - begin < MILLISECONDS * 1_000_000:
        verifier.verify_and_decode_signed_transaction(texts[done % len(texts)])
        done += 1
    return (time.process_time_ns() - begin) / done


def report(
    figure: str, gate: float, candidate: Callable[[], float], yardstick: Callable[[], float], factor: float = 1
) -> None:
    """The best round of each side counts: what else the machine does only ever adds, and not to both alike."""
    rounds = [(candidate(), yardstick()) for _ in range(ROUNDS)]
    ours, theirs = (min(values) for values in zip(*rounds))
    details = f"{ours / 1000:.1f} us against {theirs / 1000:.1f} us"
    print(f"{figure}\t{ours / theirs * factor:.2f}\t{gate:.2f}\t{details}")


def main(program: str, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    requests, texts, root = make(directory)
    one = requests[:1]
    report(
        "verify, known chain, against a P-256 verification of openssl speed",
        1 / 0.8,
        lambda: run(program, "kassa", one),
        openssl_speed,
    )
    report(
        "the same, 30 times, against Apple's library in Python",
        1,
        lambda: run(program, "kassa", one),
        lambda: apple(texts[:1], root),
        30,
    )
    report(
        "verify, fresh chain, against its own signature checks done bare",
        1 / 0.7,
        lambda: run(program, "kassa", requests),
        lambda: run(program, "bare", requests),
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
