"""Whop's official SDK as a client of the sandbox, and its models as the measure of what the sandbox answers: no field
unknown, none missing, each of its type."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import BaseModel
from support import KEY, ROOT, Sandbox
from whop_sdk import Whop
from whop_sdk.environment import WhopEnvironment

DATA = ROOT.parent / "shared" / "data" / "whop"


def _load(name: str) -> dict[str, Any]:
    path: Path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is absent", allow_module_level=True)
    return cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))


MODELS = _load("models-2.6.0.json")
ENUMS = _load("enums-2.6.0.json")


def official_sdk(sandbox: Sandbox, token: str | None = KEY, **options: Any) -> Whop:
    """Whop's official client, by default without its own retries."""
    api = f"{sandbox.base_url}/api/v1"
    return Whop(environment=WhopEnvironment(api=api, vault=api), token=token, **{"max_retries": 0, **options})


PLAIN: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "object": (dict, BaseModel),
}


def check(model: str, value: BaseModel) -> None:
    """The value is that model of `models-2.6.0.json`, with every field of it, null or not, and no other."""
    fields = _fields(value)
    declared: Mapping[str, Mapping[str, Any]] = MODELS[model]
    assert set(fields) - set(declared) == set(), f"{model} has unknown fields"
    assert set(declared) - set(fields) == set(), f"{model} lacks fields"
    for name, field in declared.items():
        _check_type(f"{model}.{name}", fields[name], field["type"])


def check_complete(value: BaseModel) -> None:
    """The same against the SDK's own class, for models that the file does not describe."""
    place = type(value).__name__
    assert not value.model_extra, f"{place} has unknown fields"
    assert set(type(value).model_fields) - value.model_fields_set == set(), f"{place} lacks fields"
    for field in value.model_fields_set:
        _descend(getattr(value, field))


def _fields(value: BaseModel) -> dict[str, Any]:
    sent = {name: getattr(value, name) for name in value.model_fields_set if name in type(value).model_fields}
    return {**sent, **(value.model_extra or {})}


def _check_type(place: str, value: Any, declared: str) -> None:
    nullable = re.fullmatch(r"nullable\[(.*)\]", declared)
    array = re.fullmatch(r"array\[(.*)\]", declared)
    if nullable:
        if value is not None:
            _check_type(place, value, nullable[1])
    elif array:
        assert isinstance(value, list), place
        for element in value:
            _check_type(f"{place}[]", element, array[1])
    elif declared in MODELS:
        check(declared, value)
    elif declared in ENUMS:
        assert value in ENUMS[declared], f"{place} is {value!r}"
    elif declared in PLAIN:
        assert isinstance(value, PLAIN[declared]), f"{place} is {value!r}"
    else:
        assert value is not None, place
        _descend(value)


def _descend(value: Any) -> None:
    if isinstance(value, BaseModel):
        check_complete(value)
    elif isinstance(value, list):
        for element in value:
            _descend(element)
