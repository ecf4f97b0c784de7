"""Prints C source that implements every function of a header with a body that does nothing.

python3 shadow.py Include/kassa.h
"""

from __future__ import annotations

import re
import sys
from pathlib import Path


def declarations(header: str) -> list[str]:
    """The function declarations of a C header, without the semicolon, each on one line."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    statements = (" ".join(statement.split()) for statement in text.replace('extern "C" {', "").split(";"))
    return [statement for statement in statements if re.search(r"\bkassa_\w+\(", statement)]


def body(declaration: str) -> str:
    return "{ }" if declaration.startswith("void kassa_") else "{ return 0; }"


def main() -> None:
    path = Path(sys.argv[1])
    print(f'#include "{path.name}"\n')
    for declaration in declarations(path.read_text(encoding="utf-8")):
        print(f"{declaration}\n{body(declaration)}\n")


if __name__ == "__main__":
    main()
