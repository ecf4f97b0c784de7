"""Holds Tests/scenarios.tsv against the tests: a scenario that is listed has a test, under the name that is listed,
and a Swift test that says at the front of its name which scenarios it shows is listed for each of them.

Each line is "id<TAB>file<TAB>test name"; a scenario may have several lines. A Swift test is listed by its function,
and names its scenarios in its display name, or in its function where it has none. Where the collection of scenarios
lies beside the repository, every id must be known there.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LISTING = ROOT / "Tests" / "scenarios.tsv"
COLLECTION = ROOT.parent / "shared" / "scenarios.md"

SWIFT_TEST = re.compile(r'@Test\b(?:\(\s*"(?P<display>(?:[^"\\]|\\.)*)")?.*?\bfunc (?P<function>\w+)', re.DOTALL)
LEADING_IDS = re.compile(r"(?:S\d{3}[ ,:_]+)+")


def swift_tests(source: str) -> dict[str, list[str]]:
    """The tests in a Swift file by their functions, each with the scenarios that its name begins with."""
    tests = {}
    for test in SWIFT_TEST.finditer(source):
        ids = LEADING_IDS.match(test["display"] or test["function"])
        tests[test["function"]] = re.findall(r"S\d{3}", ids[0]) if ids else []
    return tests


def has_test(path: Path, name: str) -> bool:
    """Whether the file has a test of that name; of other languages than Swift only the text is looked at."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".swift":
        return name in swift_tests(source)
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", source) is not None


def complaints(listing: str, known: set[str] | None) -> list[str]:
    """What is wrong with the listing, one text per fault."""
    found = []
    listed = set()
    for number, line in enumerate(listing.splitlines(), start=1):
        if not line or line.startswith("#"):
            continue
        columns = line.split("\t")
        if len(columns) != 3:
            found.append(f"line {number}: needs id, file and test name, with tabs between")
            continue
        scenario, file, test = columns
        listed.add((scenario, file, test))
        path = ROOT / file
        if known is not None and scenario not in known:
            found.append(f"line {number}: {scenario} is not a known scenario")
        if not path.is_file():
            found.append(f"line {number}: {scenario}: there is no {file}")
        elif not has_test(path, test):
            found.append(f"line {number}: {scenario}: {file} has no test named {test}")
    for path in sorted((ROOT / "Tests").rglob("*.swift")):
        file = path.relative_to(ROOT).as_posix()
        for test, scenarios in swift_tests(path.read_text(encoding="utf-8")).items():
            missing = [scenario for scenario in scenarios if (scenario, file, test) not in listed]
            found += [f"not listed: {scenario}\t{file}\t{test}" for scenario in missing]
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
