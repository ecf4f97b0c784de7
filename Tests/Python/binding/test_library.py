"""The declarations of the binding against the header, and what of text may cross."""

from __future__ import annotations

import ctypes
import os
import re
from pathlib import Path

import kassa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kassa import _library

HEADER = (Path(__file__).resolve().parents[3] / "Include" / "kassa.h").read_text()
# Not declared: it would call Python from a foreign thread.
LEFT_OUT = {"kassa_set_wakeup"}

RESULTS = {
    "void": None,
    "bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "uint64_t": ctypes.c_uint64,
    "kassa_op": ctypes.c_uint64,
    "const char *": ctypes.c_char_p,
    # The caller releases these, so they are addresses.
    "char *": ctypes.c_void_p,
    "struct json_t *": ctypes.c_void_p,
    "kassa_client *": ctypes.c_void_p,
}
ARGUMENTS = {
    "int": ctypes.c_int,
    "size_t": ctypes.c_size_t,
    "uint64_t": ctypes.c_uint64,
    "kassa_op": ctypes.c_uint64,
    "const char *": ctypes.c_char_p,
    "void *": ctypes.c_void_p,
    "struct json_t *": ctypes.c_void_p,
    "const struct json_t *": ctypes.c_void_p,
    "struct json_t **": ctypes.POINTER(ctypes.c_void_p),
    "kassa_client *": ctypes.c_void_p,
    "const kassa_client *": ctypes.c_void_p,
}


def declarations() -> dict[str, tuple[object, tuple[object, ...]]]:
    """The functions of the header, in the form of PROTOTYPES."""
    code = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)
    found = re.findall(r"^((?:const )?(?:struct )?\w+ \*?)(kassa_\w+)\(([^;]*)\);", code, re.MULTILINE)
    return {
        name: (RESULTS[result.strip()], tuple(map(argument, parameters.split(","))) if parameters != "void" else ())
        for result, name, parameters in found
        if name not in LEFT_OUT
    }


def argument(parameter: str) -> object:
    declared = re.match(r"(.*?[ *])\w+$", parameter.strip())
    assert declared is not None, parameter
    return ARGUMENTS[declared[1].strip()]


def test_the_prototypes_are_those_of_the_header() -> None:
    assert declarations() == _library.PROTOTYPES


def test_the_library_is_looked_for_in_the_wheel_then_where_the_environment_says_then_in_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KASSA_LIBRARY", raising=False)
    assert _library.candidates() == ["libkassa.so.1"]
    monkeypatch.setenv("KASSA_LIBRARY", "/opt/kassa/libkassa.so")
    assert _library.candidates() == ["/opt/kassa/libkassa.so", "libkassa.so.1"]
    monkeypatch.setattr(os.path, "exists", lambda path: path.endswith("kassa/libkassa.so"))
    inside, *rest = _library.candidates()
    assert Path(inside) == Path(_library.__file__).with_name("libkassa.so")
    assert rest == ["/opt/kassa/libkassa.so", "libkassa.so.1"]


@given(st.text())
@example("emoji \U0001f600, right to left \u202e, e\u0301 and \u00e9")
def test_s087_text_crosses_byte_for_byte_or_is_refused(text: str) -> None:
    if "\0" in text:
        with pytest.raises(kassa.InvalidArgumentError, match="plan_id"):
            _library.utf8("plan_id", text)
    else:
        assert ctypes.c_char_p(_library.utf8("plan_id", text)).value == text.encode()


@pytest.mark.parametrize("value", ["half of a pair \ud83d", None, 7, b"plan_1"])
def test_s087_what_is_no_text_is_refused(value: str) -> None:
    with pytest.raises(kassa.InvalidArgumentError, match="plan_id"):
        _library.utf8("plan_id", value)
