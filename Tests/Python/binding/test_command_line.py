"""`python -m kassa`."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import kassa
import pytest
import samples
import schemas
from kassa import __main__ as command_line
from support import COMPANY, KEY, PLAN, PRODUCT, Run, Sandbox


@pytest.fixture
def command(run_python: Run, tmp_path: Path) -> Run:
    """Runs a command against the sandbox in the process, with a directory of its own."""

    def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        common = ["--company-id", COMPANY, "--base-url", "embedded:", "--storage", str(tmp_path / "state")]
        return run_python("-m", "kassa", name, *common, *arguments, env={"KASSA_API_KEY": KEY})

    return run


def test_the_whole_story(command: Run) -> None:
    listed = command("plans")
    assert listed.returncode == command_line.DONE
    assert listed.stdout.splitlines()[0].split() == ["PLAN", "PRODUCT", "PRICE", "TITLE"]
    assert any(line.startswith(PLAN) and "monthly" in line for line in listed.stdout.splitlines())

    assert command("status").returncode == command_line.NO_ACCESS
    bought = command("buy", PLAN)
    assert (bought.returncode, bought.stderr) == (command_line.DONE, "")
    assert bought.stdout.startswith(f"{PLAN}: purchased, receipt pay_")
    assert "Logged in as user-1" in command("login", "user-1").stdout
    status = command("status")
    assert status.returncode == command_line.DONE
    assert "User: user-1" in status.stdout
    assert "mem_" in status.stdout
    explained = command("explain", PRODUCT)
    assert explained.returncode == command_line.DONE
    assert f"{PRODUCT}: yes (granted)" in explained.stdout
    assert command("restore").returncode == command_line.DONE
    assert command("logout").returncode == command_line.DONE
    assert "User: a guest" in command("status").stdout


def test_json_prints_documents(command: Run) -> None:
    for line in command("plans", "--json").stdout.splitlines():
        schemas.check("plan", json.loads(line))
    schemas.check("purchase", json.loads(command("buy", PLAN, "--json").stdout))
    schemas.check("membership", json.loads(command("status", "--json").stdout))
    schemas.check("explanation", json.loads(command("explain", PRODUCT, "--json").stdout))
    assert json.loads(command("login", "user-1", "--json").stdout)["app_user_id"] == "user-1"
    assert json.loads(command("restore", "--json").stdout)["outcome"] == "completed"


def test_errors_have_codes(command: Run) -> None:
    wrong = command("buy", "plan_of_nobody")
    assert (wrong.returncode, wrong.stdout) == (command_line.FAILED, "")
    assert wrong.stderr.endswith("(plan_not_found)\n")
    error = json.loads(command("buy", "plan_of_nobody", "--json").stderr)["error"]
    assert error["code"] == "plan_not_found"
    assert command("plans", "--base-url", "http://127.0.0.1:9").returncode == command_line.NO_NETWORK
    assert command("plans", "--product-id", "pro").returncode == command_line.FAILED


@pytest.mark.parametrize("arguments", [[], ["buy"], ["sell", "plan_1"], ["plans"]])
def test_wrong_usage_is_2(run_python: Run, arguments: list[str]) -> None:
    done = run_python("-m", "kassa", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: kassa" in done.stderr


def test_help_names_the_exit_codes(run_python: Run) -> None:
    text = run_python("-m", "kassa", "--help").stdout
    assert "exit codes:" in text
    assert run_python("-m", "kassa", "--version").stdout == f"kassa {kassa.__version__}\n"


@pytest.mark.parametrize(("typed", "code"), [("\n", command_line.DONE), ("\x04", command_line.NOT_BOUGHT)])
def test_buying_shows_the_address_and_waits_for_the_person(
    sandbox: Sandbox, tmp_path: Path, typed: str, code: int
) -> None:
    """On a terminal; Enter says that it is paid, Ctrl-D that it is not."""
    paid: list[str] = []
    browser = tmp_path / "browser"
    browser.write_text('#!/bin/sh\necho "$1" >> "$0.opened"\n')
    browser.chmod(0o755)
    where = ["--base-url", sandbox.base_url, "--storage", str(tmp_path / "state")]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kassa", "buy", PLAN, "--company-id", COMPANY, "--api-key", KEY, *where],
        env={**os.environ, "BROWSER": str(browser), "PYTHONPATH": str(Path(kassa.__file__).parents[1])},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = ""
    while True:
        try:
            shown += os.read(ours, 4096).decode()
        except OSError:
            break
        if "Press Enter" in shown and not paid:
            url = shown.split("Pay here: ")[1].split()[0]
            paid.append(url)
            if typed == "\n":
                sandbox.control({"action": "complete_checkout", "url": url})
            os.write(ours, typed.encode())
    assert process.wait(30) == code, shown
    assert (tmp_path / "browser.opened").read_text().split() == paid
    assert "Asking the service" in shown
    assert ("purchased" if code == command_line.DONE else "cancelled") in shown


def test_without_a_terminal_there_is_no_progress(command: Run) -> None:
    assert command("plans").stderr == ""


def test_prices_are_said_as_people_say_them() -> None:
    assert command_line.price(kassa.Plan.of(samples.PLAN)) == "$9.99 monthly"
    once = {**samples.PLAN, "plan_type": "one_time", "renewal_period": None}
    assert command_line.price(kassa.Plan.of(once)) == "$9.99"


def test_a_table_without_rows_is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    command_line.show_table(("A", "B"), [])
    assert capsys.readouterr().out == ""
    command_line.show_table(("A", "B"), [("long", "x"), ("s", "y")])
    assert capsys.readouterr().out == "A     B\nlong  x\ns     y\n"
