"""Generates the table from which the library formats prices, and the file that its test compares with.

The data are Unicode CLDR's, read through Babel:

    pip install babel==2.19.0
    python scripts/generate_price_text.py            # write both files
    python scripts/generate_price_text.py --check    # fail if one of them is not what would be written
"""

from __future__ import annotations

import argparse
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from decimal import Decimal
from pathlib import Path
from unittest import mock

import babel
from babel import Locale, localedata, numbers
from babel.core import get_cldr_version, get_global
from babel.numbers import get_currency_precision, get_currency_symbol, list_currencies

BABEL_VERSION = "2.19.0"
ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "Sources/KassaPlatform/PriceTextTable.swift"
FIXTURE = ROOT / "Tests/KassaPlatform/Fixtures/price_text.tsv"

# ISO 4217 gives metals, funds and test codes no minor unit, so no number of digits to show them with is right.
WITHOUT_MINOR_UNIT = {"XAG", "XAU", "XBA", "XBB", "XBC", "XBD", "XDR", "XPD", "XPT", "XSU", "XTS", "XUA", "XXX"}
CURRENCIES = sorted(set(list_currencies()) - WITHOUT_MINOR_UNIT)

# Not halfway between two shown amounts: Babel would round to even there, the library rounds away from zero.
AMOUNT = Decimal("1234567.891")
NEGATIVE_AMOUNT = Decimal("-9.49")
FINAL_FALLBACK = "en"


@dataclass(frozen=True)
class Layout:
    """How a locale writes a price: `¤` stands for the currency's symbol, `#` for the number."""

    positive: str
    negative: str
    decimal: str
    group: str
    grouping: str


@dataclass(frozen=True)
class Row:
    """What the table says of one locale; an empty text is inherited from the parent."""

    parent: str
    layout: Layout
    symbols: dict[str, str]


def layout(locale: Locale) -> Layout:
    pattern = locale.currency_formats["standard"]
    symbols = locale.number_symbols["latn"]
    primary, secondary = pattern.grouping
    return Layout(
        positive=pattern.prefix[0] + "#" + pattern.suffix[0],
        negative=pattern.prefix[1] + "#" + pattern.suffix[1],
        decimal=symbols["decimal"],
        group=symbols["group"],
        grouping="0" if primary > 9 else f"{primary}{secondary}",
    )


def cldr_parent(name: str) -> str:
    exception = get_global("parent_exceptions").get(name)
    if exception:
        return str(exception)
    return name.rsplit("_", 1)[0] if "_" in name else "root"


def locale_parents() -> dict[str, str]:
    """Every locale without a variant, and every alias, with the locale from which it inherits."""
    names = [name for name in localedata.locale_identifiers() if not Locale.parse(name).variant]
    parents = {name: cldr_parent(name) for name in names}
    for name in names:
        # zh_TW is written in the script of zh_Hant_TW, which its language alone would not tell.
        language, *rest = name.split("_")
        if len(rest) == 2 and get_global("likely_subtags").get(f"{language}_{rest[1]}") == name:
            parents.setdefault(f"{language}_{rest[1]}", name)
    for alias, name in get_global("language_aliases").items():
        if len(alias) == 2 and name in parents:
            parents.setdefault(alias, name)
    return parents


def candidates(name: str) -> list[str]:
    """Where the library looks for a locale, in this order."""
    language, *rest = name.split("_")
    script = next((tag for tag in rest if len(tag) == 4), "")
    region = next((tag for tag in rest if len(tag) != 4), "")
    found = [[language, script, region], [language, script], [language, region], [language], [FINAL_FALLBACK]]
    return ["_".join(filter(None, tags)) for tags in found]


def is_script_of_language(name: str) -> bool:
    return len(name.split("_")) == 2 and len(name.split("_")[1]) == 4


class Table:
    """The rows that are needed: those of locales for which the library would otherwise find something else."""

    def __init__(self) -> None:
        self.parents = locale_parents()
        self.layouts: dict[str, Layout] = {}
        self.symbols: dict[str, dict[str, str]] = {}
        self.rows: dict[str, Row] = {}
        self.add_row("root", Layout("", "", "", "", ""), {code: code for code in CURRENCIES}, parent="")
        for name in sorted(self.parents, key=lambda name: (name != FINAL_FALLBACK, name.count("_"), name)):
            self.consider(name)

    def read(self, name: str) -> tuple[Layout, dict[str, str]]:
        if name not in self.layouts:
            locale = Locale.parse(self.babel_name(name))
            self.layouts[name] = layout(locale)
            self.symbols[name] = {code: get_currency_symbol(code, locale) for code in CURRENCIES}
        return self.layouts[name], self.symbols[name]

    def babel_name(self, name: str) -> str:
        return name if localedata.exists(name) else self.babel_name(self.parents[name])

    def row_of(self, name: str) -> str:
        """The row that the library uses for a locale."""
        return name if name == "root" else next(row for row in candidates(name) if row in self.rows)

    def consider(self, name: str) -> None:
        is_needed = name == FINAL_FALLBACK or is_script_of_language(name)
        if is_needed or self.read(self.row_of(name)) != self.read(name):
            parent = self.parents[name]
            if parent not in self.rows and parent != "root":
                self.consider(parent)
            parent = self.row_of(parent)
            self.add_row(name, *self.read(parent), parent)

    def add_row(self, name: str, inherited: Layout, inherited_symbols: dict[str, str], parent: str) -> None:
        own, symbols = self.read(name)
        pairs = zip(astuple(own), astuple(inherited), strict=True)
        self.rows[name] = Row(
            parent,
            Layout(*("" if mine == theirs else mine for mine, theirs in pairs)),
            {code: symbol for code, symbol in symbols.items() if symbol != inherited_symbols[code]},
        )


def row_text(name: str, row: Row) -> str:
    symbols = ";".join(code + symbol for code, symbol in row.symbols.items())
    fields = [name, row.parent, *astuple(row.layout), symbols]
    if any("|" in field for field in fields) or any(";" in symbol for symbol in row.symbols.values()):
        raise ValueError(f"{name}: a separator of the table occurs in the data")
    return "|".join(fields)


def swift_text(text: str) -> str:
    """Text for a Swift literal, with what cannot be seen written out."""
    return "".join(
        f"\\u{{{ord(char):x}}}" if char != " " and unicodedata.category(char)[0] in "CZ" else char
        for char in text.replace("\\", "\\\\")
    )


def wrapped(words: Iterable[str], width: int) -> list[str]:
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] += (" " if lines[-1] else "") + word
    return lines


def table_file(table: Table) -> str:
    digits = wrapped((f"{code}{get_currency_precision(code)}" for code in CURRENCIES), 100)
    rows = [swift_text(row_text(name, row)) for name, row in sorted(table.rows.items())]
    lines = [
        f"// Generated by scripts/generate_price_text.py from Unicode CLDR {get_cldr_version()} through Babel"
        f" {BABEL_VERSION}: do not edit.",
        "// CLDR's data are under the Unicode License v3, https://www.unicode.org/license.txt",
        "// swift-format-ignore-file",
        "",
        "enum PriceTextTable {",
        "  /// The currencies, each with the number of decimal places that it is shown with.",
        '  static let currencies = """',
        *("    " + line for line in digits),
        '    """',
        "",
        "  /// One locale a line: its name, its parent, the layouts of positive and negative prices (`¤` is the",
        "  /// symbol, `#` the number), the decimal and the group separator, the sizes of the last group and of those",
        "  /// before it (`0`: no groups), and codes with their symbols. What is empty or missing is the parent's.",
        '  static let locales = """',
        *("    " + row for row in rows),
        '    """',
        "}",
    ]
    return "\n".join(lines) + "\n"


def fingerprint(texts: Iterable[str]) -> str:
    """The 64-bit FNV-1a hash of the texts, each followed by a line feed."""
    value = 0xCBF29CE484222325
    for byte in "".join(text + "\n" for text in texts).encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def babel_text(amount: Decimal, code: str, locale: Locale) -> str:
    """What Babel makes of a price, but with the apostrophes that group the digits of Swiss prices.

    Babel takes them for quotation marks of the pattern and drops them, so they are another character meanwhile.
    """
    group_symbol = numbers.get_group_symbol
    with mock.patch.object(numbers, "get_group_symbol", lambda *a, **k: group_symbol(*a, **k).replace("'", "\ue000")):
        return numbers.format_currency(amount, code, locale=locale).replace("\ue000", "'")


def fixture_file(table: Table) -> str:
    lines = [
        "# Generated by scripts/generate_price_text.py: what Babel makes of an amount in every currency and locale.",
        "# A locale's line has the fingerprint of all its texts, the one of EUR, and a negative amount of USD.",
        f"amount\t{AMOUNT}",
        f"negative amount\t{NEGATIVE_AMOUNT}",
        "currencies\t" + " ".join(CURRENCIES),
    ]
    for name in sorted(table.parents):
        locale = Locale.parse(table.babel_name(name))
        texts = {code: babel_text(AMOUNT, code, locale) for code in CURRENCIES}
        negative = babel_text(NEGATIVE_AMOUNT, "USD", locale)
        lines.append("\t".join([name, fingerprint(texts.values()), texts["EUR"], negative]))
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Generate the table of price texts and its test file.")
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    check: bool = parser.parse_args().check
    if babel.__version__ != BABEL_VERSION:
        print(f"Babel {BABEL_VERSION} is needed, this is {babel.__version__}", file=sys.stderr)
        return 2
    table = Table()
    stale = False
    for path, text in {TABLE: table_file(table), FIXTURE: fixture_file(table)}.items():
        if check and (not path.exists() or path.read_text(encoding="utf-8") != text):
            print(f"{path.relative_to(ROOT)} is not what this script generates", file=sys.stderr)
            stale = True
        elif not check:
            path.write_text(text, encoding="utf-8")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
