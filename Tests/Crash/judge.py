"""What a play came to: the host's ledger held against what the service has accepted. Reads nothing and asks nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

ANONYMOUS = "vh:anon:"
# What the library says of its storage only where something is wrong with it.
DAMAGE = {
    "storage_reset",
    "storage_failed",
    "open_failed",
    "queue_read_failed",
    "queue_lock_failed",
    "operation_failed",
}


@dataclass
class Verdict:
    """Transactions that went wrong, each with a word on how."""

    lost: list[str] = field(default_factory=list)
    wrong_owner: list[str] = field(default_factory=list)
    finished_early: list[str] = field(default_factory=list)
    told_twice: list[str] = field(default_factory=list)
    # Finished although the host keeps that for itself.
    finished_for_host: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    def add(self, other: Verdict) -> None:
        for name, findings in vars(other).items():
            getattr(self, name).extend(findings)

    @property
    def is_clean(self) -> bool:
        return not any(vars(self).values())


@dataclass
class Accepted:
    """One transaction as the service has it: when it was first accepted, as whose, and how often for each."""

    at: int
    owners: dict[str, int]


def accepted(receipts: Iterable[Mapping[str, Any]]) -> dict[str, Accepted]:
    """By token, from the sandbox's log of receipts."""
    found: dict[str, Accepted] = {}
    for row in receipts:
        token = str(row["transaction_id"]).removeprefix("GPA.")
        one = found.setdefault(token, Accepted(row["accepted_at"], {}))
        one.at = min(one.at, row["accepted_at"])
        one.owners[row["distinct_id"]] = row["deliveries"]
    return found


def words(ledger: Iterable[str], first: str) -> list[list[str]]:
    return [line.split(" ") for line in ledger if line.split(" ", 1)[0] == first]


def judge_wreck(ledger: list[str], receipts: Mapping[str, Accepted]) -> Verdict:
    """Right after the process was killed: whatever has been finished must have been accepted."""
    verdict = Verdict()
    for _, token, *_ in words(ledger, "finished"):
        if token not in receipts:
            verdict.finished_early.append(f"{token}: finished, and the service has never accepted it")
    return verdict


def judge(scenario: str, number: str, ledger: list[str], receipts: Mapping[str, Accepted]) -> Verdict:
    """After everything was made up for.

    The scenarios are in host.c. Whoever recovers is somebody else, carol: hers becomes only what had not been put down
    to anybody.
    """
    verdict = judge_wreck(ledger, receipts)
    reported = {line[1]: line[2] for line in words(ledger, "reported")}
    restored = {line[1]: line[2] for line in words(ledger, "restored")}
    charged = [line[1] for line in words(ledger, "charged")]
    for token in dict.fromkeys([*charged, *reported]):
        if token not in receipts:
            verdict.lost.append(f"{token}: charged{' and reported' * (token in reported)}, never accepted")
    for token, owner in restored.items():
        if token in receipts and owner not in receipts[token].owners:
            verdict.lost.append(f"{token}: restored for {owner}, accepted for {[*receipts[token].owners]} only")
    for token, receipt in receipts.items():
        for owner in receipt.owners:
            if not may_own(owner, token, scenario, number, ledger, reported):
                verdict.wrong_owner.append(f"{token}: accepted as {owner}'s")
    for _, token, time in words(ledger, "finished"):
        if token in receipts and int(time) < receipts[token].at:
            verdict.finished_early.append(
                f"{token}: finished {receipts[token].at - int(time)} ms before it was accepted"
            )
    verdict.finished_for_host += finished_after_report(ledger)
    verdict.told_twice += told_twice(ledger)
    if "quiet" not in ledger:
        verdict.lost.append("something was still waiting at the end")
    verdict.damaged += [" ".join(line) for line in words(ledger, "diagnostic") if line[1] in DAMAGE]
    return verdict


def may_own(owner: str, token: str, scenario: str, number: str, ledger: list[str], reported: Mapping[str, str]) -> bool:
    if token in reported:
        return owner.startswith(ANONYMOUS) if reported[token] == "anonymous" else owner == reported[token]
    if scenario in ("purchase", "switch") and token.endswith("-1"):
        return owner == f"alice-{number}"
    if scenario == "restore" and f"told {token}" in ledger[: second_start(ledger)]:
        return owner in (f"alice-{number}", f"bob-{number}")
    return True


def second_start(ledger: list[str]) -> int:
    """Where the process that recovers begins: its line is the driver's."""
    return ledger.index("recovery") if "recovery" in ledger else len(ledger)


def finished_after_report(ledger: list[str]) -> list[str]:
    found = []
    hosts: set[str] = set()
    for what, token, *_ in (line.split(" ") for line in ledger if " " in line):
        if what == "reported":
            hosts.add(token)
        elif what == "finished" and token in hosts:
            found.append(f"{token}: finished, although the host has reported it")
    return found


def told_twice(ledger: list[str]) -> list[str]:
    found = []
    told: Counter[str] = Counter()
    for line in ledger:
        if line == "session":
            told.clear()
        elif line.startswith("told "):
            token = line.split(" ")[1]
            told[token] += 1
            if told[token] == 2:
                found.append(f"{token}: told of twice in one session")
    return found
