"""The programs of examples/python, run as a reader would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import COMPANY, KEY, ROOT, Run, Sandbox

EXAMPLES = ROOT / "examples" / "python"


def test_paywall(run_python: Run) -> None:
    typed = "1\nlogin user-1\nlogout\nlogin user-1\nrestore\n99\nsing\nquit\n"
    done = run_python(str(EXAMPLES / "paywall.py"), input=typed)
    assert (done.returncode, done.stderr) == (0, "")
    for said in [
        "Guest. Not subscribed.",
        "Bought with whop. Receipt: pay_",
        "user-1. Subscribed - thank you!",
        "Restored.",
    ]:
        assert said in done.stdout
    assert "There is no such plan." in done.stdout
    assert "What?" in done.stdout


def test_paywall_with_a_server(run_python: Run, sandbox: Sandbox) -> None:
    options = ["--base-url", sandbox.base_url, "--company-id", COMPANY, "--api-key", KEY]
    done = run_python(str(EXAMPLES / "paywall.py"), *options, input="")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Guest. Not subscribed." in done.stdout


def test_paywall_with_a_simulated_store(run_python: Run) -> None:
    options = ["--store", str(EXAMPLES.parent / "products.storekit"), "--region", "DE"]
    done = run_python(str(EXAMPLES / "paywall.py"), *options, input="1\n3\nrestore\nquit\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Monthly              $9.99 / €8.99 in the store" in done.stdout
    assert "Lifetime             $249.00 / €199.99 in the store" in done.stdout
    assert "Bought with store. Receipt: 2" in done.stdout
    assert 'Sorry: plan_mappings names no store product for "plan_weekly"' in done.stdout
    assert "Guest. Subscribed - thank you!" in done.stdout
    assert "Restored." in done.stdout


def test_paywall_with_a_simulated_store_in_the_us(run_python: Run) -> None:
    options = ["--store", str(EXAMPLES.parent / "products.storekit"), "--region", "US"]
    mapping = ["--map", "plan_weekly=com.example.app.monthly"]
    done = run_python(str(EXAMPLES / "paywall.py"), *options, *mapping, input="1\nquit\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Weekly               $3.49 / $8.99 in the store" in done.stdout
    assert "Bought with whop. Receipt: pay_" in done.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--store", "broken.storekit"], 'broken.storekit": line 2, column 0 is not valid JSON'),
        (["--store", "wrong.storekit"], 'wrong.storekit": products[0].type is missing'),
        (["--store", "nothing.storekit"], "nothing.storekit"),
        (["--store", "good.storekit", "--map", "plan_x"], "argument --map: must be PLAN=PRODUCT (got 'plan_x')"),
        (["--store", "good.storekit", "--map", "x=a"], 'plan_mappings[0].whop_id must start with "plan_" (got "x")'),
        (["--store", "good.storekit", "--region", "UK"], '(got "UK")'),
        (["--region", "Germany"], '(got "Germany")'),
        (["--base-url", "nonsense"], '(got "nonsense")'),
    ],
)
def test_the_paywall_says_what_is_wrong_with_its_options(
    run_python: Run, tmp_path: Path, options: list[str], said: str
) -> None:
    (tmp_path / "broken.storekit").write_text('{"products":\n')
    (tmp_path / "wrong.storekit").write_text('{"version":{"major":4,"minor":0},"products":[{"productID":7}]}')
    (tmp_path / "good.storekit").write_text((EXAMPLES.parent / "products.storekit").read_text())
    done = run_python(str(EXAMPLES / "paywall.py"), *options, input="quit\n", cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].startswith("paywall.py: ")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_asyncio_events(run_python: Run) -> None:
    done = run_python(str(EXAMPLES / "asyncio_events.py"))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert "entitlements changed (purchase); access: True" in lines
    assert any(line.endswith("access: False") for line in lines[lines.index("bought plan_monthly") :])
    assert lines[-1] == "done"


def test_token_backend_and_client(run_python: Run, sandbox: Sandbox) -> None:
    backend = subprocess.Popen(
        [sys.executable, str(EXAMPLES / "token_backend.py"), "--port", "0", "--base-url", sandbox.base_url],
        env={**os.environ, "WHOP_API_KEY": KEY, "WHOP_COMPANY_ID": COMPANY},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert backend.stdout is not None
        url = backend.stdout.readline().split()[-1]
        options = [COMPANY, "--backend", url, "--base-url", sandbox.base_url]
        done = run_python(str(EXAMPLES / "token_client.py"), *options)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("fetching a token (first)\n")
        assert done.stdout.endswith("0 active memberships\n")
    finally:
        backend.terminate()
        backend.communicate(timeout=10)


def test_voidhash_shop(run_python: Run) -> None:
    typed = "2\n4 nope\nlogin ada\nlogout\nlogin ada\nrestore\nrefund\n4 welcome_back\n1\n9\nsing\nquit\n"
    done = run_python(str(EXAMPLES / "voidhash_shop.py"), input=typed)
    assert (done.returncode, done.stderr) == (0, "")
    rest = done.stdout
    for said in [
        "Guest. No premium.",
        "2  pro_annual     Pro            $49.99 a year, $4.17 a month",
        "4  pro_monthly    Pro            $9.99 a month\n       for new subscribers: free for 1 week",
        "Bought pro_annual. The service has it.",
        "Guest. Premium!\n  premium: active, by subscription",
        'Sorry: "pro_monthly" has no offer "nope"; nothing was bought',
        "ada. Premium!",
        "Guest. No premium.",
        "ada. Premium!",
        "Restored.",
        "ada. No premium.\n  premium: expired, by subscription",
        "welcome_back: $4.99 for 3 months",
        "Bought pro_monthly. The service has it.",
        "ada. Premium!",
        "Bought coins_100. The service has it.",
        "What?",
        "What?",
    ]:
        assert said in rest
        rest = rest.split(said, 1)[1]


def test_observer(tmp_path: Path) -> None:
    program = tmp_path / "observer"
    library = Path(os.environ["KASSA_LIBRARY"]).parent
    source = EXAMPLES.parent / "c" / "observer.c"
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{ROOT / 'Include'}"]
    link = [f"-L{library}", f"-Wl,-rpath,{library}", "-lkassa", "-ljansson"]
    subprocess.run([*command, "-o", str(program), str(source), *link], check=True)
    done = subprocess.run(
        [str(program), str(tmp_path / "state")], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    sold = re.search(r"sold com\.example\.app\.pro\.monthly as transaction (\d{20})\.", done.stdout)
    assert sold is not None
    assert f"Kassa: reported {sold[1]}." in done.stdout
    assert "(read_only_purchase_not_allowed)" in done.stdout
    assert done.stdout.index("premium: no") < done.stdout.index("grant: premium, active\n  premium: yes")
    # Started again, it is still known who asks, and what they may use.
    again = subprocess.run(
        [str(program), str(tmp_path / "state")], capture_output=True, text=True, timeout=60, check=False
    )
    assert again.returncode == 0
    assert again.stdout.startswith("  waiting receipts: 0\n  grant: premium, active\n  premium: yes\n")


def test_the_program_of_the_voidhash_page(run_python: Run) -> None:
    page = (ROOT / "docs" / "voidhash.md").read_text()
    program = re.search(r"```py\n(.*?)```", page, re.DOTALL)
    assert program is not None
    done = run_python("-c", program[1], cwd=EXAMPLES.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["100 coins $0.99", "Pro $49.99", "Pro for ever $149.99", "Pro $9.99", "True"]


def test_every_example_says_how_to_run_it() -> None:
    for path in EXAMPLES.glob("*.py"):
        documentation = re.match(r'"""(.*?)"""', path.read_text(), re.DOTALL)
        assert documentation is not None, path
        assert f"{Path(path).name}" in documentation[1], path


def test_host_store(run_python: Run) -> None:
    done = run_python(str(EXAMPLES / "host_store.py"))
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "may pay: True\n"
        "bought plan_monthly, receipt GPA.1; access: True\n"
        "refunded; access: False\n"
        "no answer from the shop; access: False\n"
        "restored: True; access: True\n"
    )
