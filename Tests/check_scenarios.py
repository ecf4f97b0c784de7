"""Holds Tests/scenarios.tsv against the tests: a scenario that is listed has a test, under the name that is listed.

Each line is "id<TAB>file<TAB>test name"; a scenario may have several lines. Where the collection of scenarios lies
beside the repository, every id must be known there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LISTING = ROOT / "Tests" / "scenarios.tsv"
COLLECTION = ROOT.parent / "shared" / "scenarios.md"


def complaints(listing: str, known: set[str] | None) -> list[str]:
    """What is wrong with the listing, one text per fault."""
    found = []
    for number, line in enumerate(listing.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != 3:
            found.append(f"line {number}: needs id, file and test name, with tabs between")
            continue
        scenario, file, test = columns
        path = ROOT / file
        if known is not None and scenario not in known:
            found.append(f"line {number}: {scenario} is not a known scenario")
        if not path.is_file():
            found.append(f"line {number}: {scenario}: there is no {file}")
        elif not re.search(rf"(?<!\w){re.escape(test)}(?!\w)", path.read_text(encoding="utf-8")):
            found.append(f"line {number}: {scenario}: {file} has no test named {test}")
    return found


def main() -> int:
    known = None
    if COLLECTION.is_file():
        known = set(re.findall(r"^- \*\*(S\d{3})\*\*", COLLECTION.read_text(encoding="utf-8"), re.MULTILINE))
    else:
        print("The collection of scenarios is not here: ids are not checked against it.")
    listing = LISTING.read_text(encoding="utf-8")
    found = complaints(listing, known)
    for complaint in found:
        print(f"{LISTING.name}: {complaint}", file=sys.stderr)
    listed = {line.split("\t")[0] for line in listing.splitlines() if line and not line.startswith("#")}
    print(f"{len(listed)} scenarios are listed with their tests.")
    return 1 if found or not listed else 0


if __name__ == "__main__":
    sys.exit(main())
