"""Runs the programs of the README, taken from its own text, against an installed library.

PREFIX is where it was installed. Each program has fewer than 30 lines, and the C one is examples/c/quickstart.c.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PREFIX = Path(os.environ["PREFIX"])


def program(language: str) -> str:
    """The README's first block in a language that is a whole program."""
    blocks: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    marker = "int main" if language == "c" else "import kassa"
    return next(block for block in blocks if marker in block)


def expect(name: str, holds: bool, details: str = "") -> bool:
    print(f"{'ok' if holds else 'not ok'} - {name}")
    if not holds:
        print("".join(f"# {line}\n" for line in details.splitlines()), end="")
    return holds


def run(command: list[str], **environment: str) -> tuple[bool, str]:
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=60)
    return done.returncode == 0, done.stdout + done.stderr


def main() -> int:
    c, python = program("c"), program("python")
    results = [
        expect("both programs have fewer than 30 lines", max(c.count("\n"), python.count("\n")) < 30),
        expect("the C program is examples/c/quickstart.c", c == (ROOT / "examples/c/quickstart.c").read_text()),
    ]
    with tempfile.TemporaryDirectory() as directory:
        source, binary = Path(directory) / "readme.c", Path(directory) / "readme"
        source.write_text(c, encoding="utf-8")
        flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{PREFIX}/include", f"-L{PREFIX}/lib"]
        built, output = run(["gcc", *flags, "-o", str(binary), str(source), "-lkassa", "-ljansson"])
        results.append(expect("the README's C program compiles", built, output))
        if built:
            well, output = run([str(binary)], LD_LIBRARY_PATH=f"{PREFIX}/lib")
            results.append(expect("the README's C program runs", well and "You have access." in output, output))
        well, output = run(
            [sys.executable, "-c", python],
            KASSA_LIBRARY=f"{PREFIX}/lib/libkassa.so",
            PYTHONPATH=str(ROOT / "bindings/python/src"),
        )
        results.append(expect("the README's Python program runs", well and "You have access." in output, output))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
