"""Holds Kassa against a folder of published signed data with its verdicts: `verdicts.json` and `chains/chains.json`.

    verdicts.py FOLDER

Prints each case that differs, and ends with 1 if there is one. Also run by the tests.
"""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import kassa

Case = dict[str, Any]
KINDS = {"renewalInfo": "renewal_info", "appTransaction": "app_transaction"}
ENVIRONMENTS = {"Production": "production", "Sandbox": "sandbox", "Xcode": "xcode", "LocalTesting": "local_testing"}
# Our words for the reasons that the sources of the verdicts give. None: it names none.
REASONS: dict[str | None, set[str]] = {
    "INVALID_ENVIRONMENT": {"wrong_environment"},
    "WRONG_ENVIRONMENT": {"wrong_environment"},
    "INVALID_APP_IDENTIFIER": {"wrong_app_apple_id", "wrong_bundle_id"},
    "WRONG_BUNDLE_ID": {"wrong_bundle_id"},
    "INVALID_SIGNATURE": {"wrong_signature"},
    "INVALID_CERTIFICATE_PURPOSE": {"missing_marker"},
    "INVALID_CERTIFICATE": {"malformed_certificate"},
    "INVALID_JWS_FORMAT": {"malformed_text", "malformed_header"},
    "INVALID_CHAIN": {"untrusted_root", "expired_certificate"},
    "STALE_PAYLOAD": {"stale"},
    "(untrusted root)": {"untrusted_root"},
    "VERIFICATION_FAILURE": {"malformed_text", "missing_chain"},
    "(any verification error)": {"chain_too_short"},
}
# Where the source gives no reason, ours by file.
OWN_REASONS = {
    "generated/sig-padded.jws": "malformed_text",
    "generated/sig-noncanonical.jws": "malformed_text",
    "hostile/four-segments.jws": "malformed_text",
    "hostile/two-certificate-x5c.jws": "chain_too_short",
    "hostile/alg-rs256.jws": "wrong_algorithm",
    "hostile/payload-not-utf8.jws": "malformed_payload",
}
# A repeated member has two meanings, and so is refused, which its verdict allows.
REFUSED_FOR_SAFETY = {"hostile/duplicate-signed-date.jws": "malformed_payload"}
VALID = {
    "valid",
    "valid at its signedDate",
    "decodes (no chain check in environment Xcode)",
    "signature and chain valid",
    "valid if the last member wins",
}


def cases(folder: Path) -> list[Case]:
    found: list[Case] = json.loads((folder / "verdicts.json").read_text())["cases"]
    return found


def title(case: Case) -> str:
    return " ".join(str(case[key]) for key in ("file", "root", "environment", "bundleId", "appAppleId") if key in case)


def verify(folder: Path, case: Case) -> kassa.Verification:
    file, root, clock = case["file"], case["root"], case.get("clock")
    text = file.removeprefix("literal:") if file.startswith("literal:") else (folder / file).read_text().strip()
    environment = case.get("environment")
    return kassa.verify(
        text,
        KINDS.get(str(case["kind"]), str(case["kind"])),
        bundle_id=case.get("bundleId"),
        app_apple_id=case.get("appAppleId"),
        environments=[ENVIRONMENTS[environment]] if environment else list(ENVIRONMENTS.values()),
        roots=None if root is None else [(folder / root).read_bytes()],
        max_age=60 if clock else None,
        now=datetime.fromtimestamp((clock or 1_722_945_600_000) / 1000, timezone.utc),
    )


def complaint(folder: Path, case: Case) -> str | None:
    """What Kassa says otherwise than the verdict; None where they agree."""
    found = verify(folder, case)
    if case["file"] in REFUSED_FOR_SAFETY:
        return None if found.reason == REFUSED_FOR_SAFETY[case["file"]] else f"it is {found.reason}"
    if case["expect"] in VALID:
        return None if found.verified else f"refused: {found.reason}: {found.message}"
    if case["expect"] != "invalid":
        return f"unknown verdict {case['expect']!r}"
    if found.verified:
        return f"verified, and should be refused ({case.get('reason')})"
    own = OWN_REASONS.get(case["file"])
    if found.reason not in ({own} if own else REASONS[case.get("reason")]):
        return f"refused as {found.reason}, the source says {case.get('reason')}: {found.message}"
    return None


def chain_cases(folder: Path) -> tuple[dict[str, str], list[Case]]:
    document = json.loads((folder / "chains" / "chains.json").read_text())
    return document["certificates_base64_der"], document["cases"]


def chain_complaint(certificates: dict[str, str], case: Case) -> str | None:
    """The cases that are chains alone, without a signed text: a chain that holds gets as far as the signature."""

    def entry(name: str) -> str:
        return name.removeprefix("literal:") if name.startswith("literal:") else certificates[name]

    header = {"alg": "ES256", "x5c": [entry(name) for name in case["chain"]]}
    text = f"{encoded(header)}.{encoded({})}.{'A' * 86}"
    roots = [
        name.removeprefix("literal-bytes:").encode()
        if name.startswith("literal-bytes:")
        else b64decode(certificates[name])
        for name in case["roots"]
    ]
    wanted = {
        "ok": {"wrong_signature"},
        "INVALID_CHAIN_LENGTH": {"chain_too_short"},
        "INVALID_CERTIFICATE": {"malformed_certificate", "invalid_request"},
        # Dates are judged after the signature, so here they are not reached.
        "VERIFICATION_FAILURE": {"missing_marker", "untrusted_root", "wrong_signature"},
    }[case["expect"].split(" ")[0]]
    try:
        reason = kassa.verify(text, roots=roots).reason
    except kassa.InvalidArgumentError:
        reason = "invalid_request"
    return None if reason in wanted else f"it is {reason}, the source says {case['expect']}"


def encoded(document: Any) -> str:
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()


def main(folder: Path) -> int:
    certificates, chains = chain_cases(folder)
    found = [(title(case), complaint(folder, case)) for case in cases(folder)]
    found += [(case["name"], chain_complaint(certificates, case)) for case in chains]
    complaints = [f"{name}: {text}" for name, text in found if text]
    for text in complaints:
        print(text, file=sys.stderr)
    print(f"{len(found) - len(complaints)} of {len(found)} cases are judged as published.")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
