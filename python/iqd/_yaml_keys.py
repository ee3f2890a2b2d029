# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Keys of stages: from Python to YAML, and as documentation."""

import json
import keyword
import os

import numpy as np

from iqd._errors import ConfigError


def text(keys):
    """The keys as YAML; `lambda_` is the key `lambda`."""
    named = {}
    for key, value in keys.items():
        if key.endswith("_") and keyword.iskeyword(key[:-1]):
            key = key[:-1]
        named[key] = value
    return json.dumps(_plain(named, "keys"), ensure_ascii=False)


def _plain(value, where):
    """What JSON, and so YAML, has: complex numbers are pairs."""
    if isinstance(value, dict):
        return {str(key): _plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, np.ndarray):
        if np.iscomplexobj(value):
            value = np.stack([value.real, value.imag], axis=-1)
        return _plain(value.tolist(), where)
    if isinstance(value, (list, tuple, range)):
        return [_plain(item, where) for item in value]
    if isinstance(value, (complex, np.complexfloating)):
        return [float(value.real), float(value.imag)]
    if isinstance(value, np.generic):
        return _plain(value.item(), where)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, float) and not np.isfinite(value):
        return {np.inf: ".inf", -np.inf: "-.inf"}.get(value, ".nan")
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    raise ConfigError(f"{where}: {type(value).__name__} cannot be the value of a key")


def documentation(name, family, summary, inputs, outputs, sample, schema):
    """The text that help() shows: ports, and keys with their defaults and ranges."""
    lines = [f"{name} ({family}): {summary}", "", "Inputs"]
    for port, elements, dims, optional, _ in inputs:
        lines.append(f"    {port} {'/'.join(elements)} {dims}{', may be left out' if optional else ''}")
    lines += ["", "Outputs", "    " + (", ".join(outputs) or "none"), "", "Keys"]
    described = json.loads(schema)
    required = described.get("required", [])
    for key, of in described.get("properties", {}).items():
        lines += _key_lines(key, of, key in required)
    return "\n".join(lines + ["", "In YAML", f"    - {sample}"])


def _key_lines(key, of, is_required):
    facts = [kind_of(of)]
    if is_required:
        facts.append("required")
    elif "default" in of:
        facts.append(f"default {of['default']}")
    for bound, sign in (("minimum", ">="), ("exclusiveMinimum", ">"), ("maximum", "<="), ("exclusiveMaximum", "<")):
        if bound in of:
            facts.append(f"{sign} {of[bound]}")
    lines = [f"    {key}: {', '.join(f for f in facts if f)}"]
    if "description" in of:
        lines.append(f"        {of['description']}")
    for inner, its in of.get("properties", {}).items():
        lines += ["    " + line for line in _key_lines(f"{key}.{inner}", its, inner in of.get("required", []))]
    return lines


def kind_of(of):
    """A key's type, in words."""
    if "enum" in of:
        return " | ".join(str(value) for value in of["enum"])
    kinds = of.get("type", "")
    return " or ".join(kinds) if isinstance(kinds, list) else kinds
