"""Kills a host at every step of what it does with its purchases, starts it again, and counts what was lost.

    crash.py [--kills N] [--each N] [--seed N] [--library FOLDER] [--ignore SYNC] [--fault NAME] [--scenarios A,B]

Prints the number of kills for each step and what went wrong, and ends with 1 if anything did. `--each N` goes on until
every step has had N kills, `--kills N` until there were so many in all. `--ignore` and `--fault` are for the test of
the test: a sync that does not count (shim.c), or a library that is wrong on purpose (Fault.swift); it stops at the
first finding.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from judge import Verdict, accepted, judge, judge_wreck
from stage import ROOT, Blow, Play, Programs, Stage

SCENARIOS = ("purchase", "report", "restore", "switch")
# Plays that show which steps there are.
REHEARSALS = 4
# A step that most plays do not come to, such as the second half of an answer, is given up after so many tries for each
# kill that is due.
PATIENCE = 10


def moment(step: str) -> str:
    """The step that a traced line belongs to: the writes of one commit are one."""
    return step.rpartition(" #")[0] if step.startswith("write ") else step


class Plan:
    """Which step is next: the one with the fewest kills, each scenario in turn. Used by several threads."""

    def __init__(self, steps: dict[str, list[str]], each: int, kills: int, seed: int) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._each, self._kills = each, kills
        self._lines: dict[tuple[str, str], list[str]] = {}
        for scenario, lines in steps.items():
            for line in lines:
                self._lines.setdefault((scenario, moment(line)), []).append(line)
        self.due = dict.fromkeys(self._lines, 0)
        self.tries: Counter[tuple[str, str]] = Counter()
        self.kills = 0
        self.stopped = False

    def next(self) -> tuple[str, list[Blow], str] | None:
        """A scenario, where it dies, and who turns the loop. A second blow is for the start after that."""
        with self._lock:
            left = [key for key in self.due if self._is_due(key)]
            enough = self.kills >= self._kills if self._kills else not left
            if self.stopped or enough:
                return None
            fewest = min(self.tries[key] for key in left or self.due)
            key = self._random.choice([key for key in left or self.due if self.tries[key] == fewest])
            self.tries[key] += 1
            scenario, blows = key[0], [self._blow(key)]
            if scenario == "recovery":
                first = self._random.choice([key for key in self._lines if key[0] != "recovery"])
                scenario, blows = first[0], [self._blow(first), *blows]
            return scenario, blows, self._random.choice(["host", "host", "library"])

    def _blow(self, key: tuple[str, str]) -> Blow:
        power = self._random.choices(["kept", "gone", "some"], [2, 2, 3])[0]
        when = self._random.choice(["before", "after"])
        return Blow(self._random.choice(self._lines[key]), when, power, self._random.getrandbits(48))

    def _is_due(self, key: tuple[str, str]) -> bool:
        return self.due[key] < self._each and self.tries[key] < self._each * PATIENCE

    def killed(self, scenario: str, step: str) -> None:
        with self._lock:
            self.due[scenario, moment(step)] += 1
            self.kills += 1

    @property
    def seldom(self) -> list[str]:
        return [f"{scenario}: {step}" for (scenario, step), count in self.due.items() if count < self._each]


class Crash:
    """The plays of one run, on several stages at once."""

    def __init__(self, options: argparse.Namespace, work: Path) -> None:
        self._programs = Programs.build(work, options.library)
        self._switches = {"CRASH_IGNORE": options.ignore, "KASSA_FAULT": options.fault}
        self._switches = {name: value for name, value in self._switches.items() if value}
        self._stops_early = bool(self._switches)
        self._scenarios = options.scenarios
        self._lock = threading.Lock()
        self._work = work
        self.verdict = Verdict()
        self.examples: list[str] = []
        self._rehearse(options)

    def _rehearse(self, options: argparse.Namespace) -> None:
        """Plays everything to its end, and notes the steps that every play came to."""
        stage, steps = Stage(self._programs, "r"), {}
        try:
            for scenario in (*self._scenarios, "recovery"):
                traces = [self._trace(stage, scenario, number) for number in range(REHEARSALS)]
                steps[scenario] = [step for step in traces[0] if all(step in trace for trace in traces)]
        finally:
            stage.close()
        self.plan = Plan(steps, options.each, options.kills, options.seed)

    def _trace(self, stage: Stage, scenario: str, number: int) -> list[str]:
        trace = self._work / f"trace-{scenario}-{number}"
        first = "purchase" if scenario == "recovery" else scenario
        play = stage.begin(first, "host", {} if self._stops_early else self._switches)
        if scenario == "recovery":
            blow = Blow("charged #1")
            play.run(self._programs, first, stage.service.base_url, blow)
        play.run(self._programs, scenario, stage.service.base_url, None, trace)
        if not self._stops_early and scenario != "recovery":
            self._judge(stage, play, [])
        stage.end(play)
        return trace.read_text(encoding="utf-8").splitlines()

    # One play after another

    def work(self, name: str) -> None:
        stage = Stage(self._programs, name)
        try:
            while (scene := self.plan.next()) is not None:
                if stage.is_worn:
                    stage.close()
                    name += "'"
                    stage = Stage(self._programs, name.replace("'", "x"))
                self._play(stage, *scene)
        except BaseException:
            self.plan.stopped = True
            raise
        finally:
            stage.close()

    def _play(self, stage: Stage, scenario: str, blows: list[Blow], thread: str) -> None:
        play = stage.begin(scenario, thread, self._switches)
        for start, blow in zip((scenario, "recovery"), blows):
            if start == "recovery":
                self._clear(stage, play)
            if play.run(self._programs, start, stage.service.base_url, blow):
                self.plan.killed(start, blow.step)
                self._note(judge_wreck(play.ledger(), accepted(stage.receipts_of(play))), play, blows)
        self._judge(stage, play, blows)
        stage.end(play)

    def _clear(self, stage: Stage, play: Play) -> None:
        """The service is well again, and the second part of the ledger begins."""
        stage.service.control(action="clear_faults")
        if "recovery" not in play.ledger():
            play.note("recovery")

    def _judge(self, stage: Stage, play: Play, blows: list[Blow]) -> None:
        self._clear(stage, play)
        play.run(self._programs, "recovery", stage.service.base_url)
        found = judge(play.scenario, play.number, play.ledger(), accepted(stage.receipts_of(play)))
        self._note(found, play, blows)

    def _note(self, found: Verdict, play: Play, blows: list[Blow]) -> None:
        if found.is_clean:
            return
        with self._lock:
            self.verdict.add(found)
            findings = {name: value for name, value in vars(found).items() if value}
            killed = ", ".join(f"{blow.when} {blow.step} ({blow.power})" for blow in blows) or "not killed"
            ledger = "\n    ".join(play.ledger())
            self.examples.append(f"{play.scenario}, {play.thread} thread, {killed}: {findings}\n    {ledger}")
            self.plan.stopped |= self._stops_early


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Kills a host at every step and counts what was lost.")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--library", type=Path, default=ROOT / "build")
    parser.add_argument("--ignore", default="")
    parser.add_argument("--fault", default="")
    parser.add_argument("--scenarios", type=lambda text: text.split(","), default=list(SCENARIOS))
    parser.add_argument("--quiet", action="store_true", help="do not list the steps")
    return parser.parse_args()


def main() -> int:
    asked = options()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kassa-crash-") as work:
        crash = Crash(asked, Path(work))
        with ThreadPoolExecutor(asked.workers) as pool:
            for worker in [pool.submit(crash.work, f"w{number}") for number in range(asked.workers)]:
                worker.result()
    report(crash, asked, time.monotonic() - start)
    return 0 if crash.verdict.is_clean and not (crash.plan.seldom and not asked.kills) else 1


def report(crash: Crash, asked: argparse.Namespace, seconds: float) -> None:
    verdict, plan = crash.verdict, crash.plan
    if not asked.quiet:
        for (scenario, step), count in plan.due.items():
            print(f"{count:5} {scenario}: {step}")
    for example in crash.examples[:5]:
        print(example)
    print(f"{plan.kills} kills at {len(plan.due)} steps in {seconds:.0f} s, seed {asked.seed}")
    print(f"lost receipts: {len(verdict.lost)}")
    print(f"accepted under another owner: {len(verdict.wrong_owner)}")
    print(f"finished before acceptance: {len(verdict.finished_early)}")
    print(f"updates delivered twice in one session: {len(verdict.told_twice)}")
    print(f"finished although the host's: {len(verdict.finished_for_host)}; storage faults: {len(verdict.damaged)}")
    if plan.seldom and not asked.kills:
        print(f"fewer than {asked.each} kills: {'; '.join(plan.seldom)}")


if __name__ == "__main__":
    sys.exit(main())
