"""Holds emitted documents against docs/schema, read strictly.

The schemas are open for readers. Here they are closed: an object may have no field that its schema does not name, and
a word must be one of the schema's examples. So whatever the library emits is documented.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

DIRECTORY = Path(__file__).resolve().parents[2] / "docs" / "schema"


def closed(schema: Any) -> Any:
    """The strict reading of a schema."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    strict = {key: closed(value) for key, value in schema.items()}
    if strict.get("type") == "object" and "properties" in strict:
        strict["unevaluatedProperties"] = False
    if strict.get("type") == "string" and "examples" in strict:
        strict["enum"] = strict["examples"]
    return strict


@functools.cache
def schemas() -> dict[str, Any]:
    """Every schema as it is written, by name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(DIRECTORY.glob("*.json"))}


@functools.cache
def validator(name: str, *, strict: bool = True, part: str | None = None) -> Draft202012Validator:
    """The validator of one schema, or of one of its `$defs`."""
    read = {each: closed(schema) if strict else schema for each, schema in schemas().items()}
    registry: Registry[Any] = Registry().with_resources(
        [(f"{each}.json", Resource.from_contents(schema)) for each, schema in read.items()]
    )
    schema = read[name] if part is None else {"$ref": f"{name}.json#/$defs/{part}"}
    return Draft202012Validator(schema, registry=registry)


def check(name: str, document: Any, *, part: str | None = None) -> None:
    """Fails, naming every place, unless the document is one that `name`.json, or that part of it, describes."""
    problems = [f"{error.json_path}: {error.message}" for error in validator(name, part=part).iter_errors(document)]
    assert not problems, f"{name}.json: {problems} in {json.dumps(document)}"


def check_event(document: Any) -> None:
    """A document of the queue, by its type."""
    check(document["type"], document)
