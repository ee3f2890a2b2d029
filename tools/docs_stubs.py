# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Type stubs of iqd.stage: one overload for each stage, with its keys, for editors and type checkers."""

import json
import keyword

KINDS = {"integer": "int", "number": "float", "boolean": "bool", "string": "str"}


def type_of(of):
    """A key's type; values in a JSON schema without a type can be lists, which NumPy's arrays replace."""
    if "enum" in of:
        return f"Literal[{', '.join(repr(value) for value in of['enum'])}]"
    kinds = of.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not kinds or any(kind not in KINDS for kind in kinds):
        return "Mapping[str, Any]" if kinds == ["object"] else "Any"
    return " | ".join(KINDS[kind] for kind in kinds)


def overload(stage):
    keys = stage["keys"].get("properties", {})
    required = stage["keys"].get("required", [])
    parts = [f'entry: Literal["{stage["name"]}"]', "/", "*"]
    for key in sorted(keys, key=lambda k: (k not in required, k)):
        name = key + "_" if keyword.iskeyword(key) else key
        parts.append(f"{name}: {type_of(keys[key])}{'' if key in required else ' = ...'}")
    parts += ["name: str = ...", "from_: str | Mapping[str, str] | None = ...", "backend: str = ..."]
    lines = ["@overload", f"def stage({parts[0]}, {parts[1]}, {parts[2]},"]
    for part in parts[3:]:
        if len(lines[-1]) + len(part) > 115:
            lines.append("          " + part + ",")
        else:
            lines[-1] += f" {part},"
    lines[-1] = lines[-1][:-1] + ") -> Stage:"
    return "\n".join(lines + [f"    {stage['summary']!r}", ""])


def stubs(text):
    """`text`: what `iqd stages --json` prints. Sources and sinks in it are no stages: they have no ports."""
    return "\n".join(overload(stage) for stage in json.loads(text) if " -> " in stage["ports"]) + "\n"
