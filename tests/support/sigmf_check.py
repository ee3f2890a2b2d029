# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Checks that a recording is SigMF 1.2.5: its schema, and the rules of the specification beyond it.

    tests/support/sigmf_check.py RECORDING.sigmf-meta…

It is stricter than the schema: patterns must match the whole text, indices be within the samples, segments be sorted,
times increase, and `core:` have no unknown keys. As iqd records only conforming datasets, the keys of others
(`core:dataset`, `core:header_bytes`, …) count as mistakes.
"""

import calendar
import json
import pathlib
import re
import sys

VERSION = "1.2.5"
DATATYPE = re.compile(r"([cr])(f32|f64|i32|i16|u32|u16)_[lb]e|([cr])(i8|u8)")
DATETIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?Z")
NAMESPACED = re.compile(r"[a-z0-9_-]+:[A-Za-z0-9_]+")
MOST_INDEX = 2 ** 63 - 1


def text(x):
    return isinstance(x, str)


def number(low, high):
    return lambda x: isinstance(x, (int, float)) and not isinstance(x, bool) and low <= x <= high


def whole(low, high=MOST_INDEX):
    return lambda x: isinstance(x, int) and not isinstance(x, bool) and low <= x <= high


def pattern(expression):
    return lambda x: isinstance(x, str) and re.fullmatch(expression, x) is not None


def datetime(x):
    match = DATETIME.fullmatch(x) if isinstance(x, str) else None
    if not match:
        return False
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    return (year > 0 and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1] and hour <= 23 and
            minute <= 59 and second <= 60)


def extensions(x):
    return isinstance(x, list) and all(
        isinstance(e, dict) and set(e) == {"name", "version", "optional"} and text(e["name"]) and text(e["version"]) and
        isinstance(e["optional"], bool) for e in x)


def point(x):
    return (isinstance(x, dict) and x.get("type") == "Point" and isinstance(x.get("coordinates"), list) and
            2 <= len(x["coordinates"]) <= 3 and all(number(-1e9, 1e9)(c) for c in x["coordinates"]))


# For each object: the check of each key, and the required keys.
GLOBAL = ({"datatype": pattern(DATATYPE), "version": pattern(re.escape(VERSION)),
           "sample_rate": number(1, 1e12), "num_channels": whole(1, 1000), "offset": whole(0), "author": text,
           "collection": text, "data_doi": text, "description": text, "hw": text,
           "license": pattern(r"[a-z][a-z0-9+.-]*:\S+"), "meta_doi": text, "recorder": text,
           "sha512": pattern(r"[0-9a-fA-F]{128}"), "geolocation": point, "extensions": extensions},
          ["datatype", "version"])
CAPTURE = ({"sample_start": whole(0), "global_index": whole(0), "datetime": datetime, "frequency": number(-1e12, 1e12),
            "geolocation": point}, ["sample_start"])
ANNOTATION = ({"sample_start": whole(0), "sample_count": whole(0), "freq_lower_edge": number(-1e12, 1e12),
               "freq_upper_edge": number(-1e12, 1e12), "label": text, "comment": text, "generator": text,
               "uuid": pattern(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")}, ["sample_start"])


def check_object(where, x, known, namespaces):
    if not isinstance(x, dict):
        return [f"{where}: is not an object"]
    checks, required = known
    found = [f"{where}: core:{key} is missing" for key in required if f"core:{key}" not in x]
    for key, value in x.items():
        namespace, _, name = key.partition(":")
        if not NAMESPACED.fullmatch(key) or namespace not in namespaces:
            found.append(f"{where}: {key} belongs to no namespace that core:extensions names")
        elif namespace == "core" and name not in checks:
            found.append(f"{where}: {key} is unknown, or not for conforming datasets")
        elif namespace == "core" and not checks[name](value):
            found.append(f"{where}: {key} cannot be {value!r}")
    return found


def check_segments(where, items, known, namespaces):
    if not isinstance(items, list):
        return [f"{where}: is not a list"]
    found = [p for i, item in enumerate(items) for p in check_object(f"{where}[{i}]", item, known, namespaces)]
    starts = [item["core:sample_start"] for item in items] if not found else []
    if starts != sorted(starts):
        found.append(f"{where}: not sorted by core:sample_start")
    return found


def check_order(captures, samples, killed=False):
    """Rules between segments, and between them and the samples."""
    found = []
    for i, (a, b) in enumerate(zip(captures, captures[1:]), 1):
        length = b["core:sample_start"] - a["core:sample_start"]
        if length == 0:
            found.append(f"captures[{i}]: starts where the previous one does")
        if "core:global_index" in a and b.get("core:global_index", 0) < a["core:global_index"] + length:
            found.append(f"captures[{i}]: core:global_index goes back, or is missing")
        if ("core:datetime" in a) != ("core:datetime" in b):
            found.append(f"captures[{i}]: core:datetime is not in all of them")
    # A segment may be announced before its samples are written, but never begins after them, unless a recorder that
    # announced several was killed before it wrote them.
    found += [] if killed else [f"captures[{i}]: starts after the {samples} samples" for i, c in enumerate(captures)
              if c["core:sample_start"] > samples]
    return found


def sample_bytes(facts):
    match = DATATYPE.fullmatch(facts["core:datatype"])
    kind, width = match[1] or match[3], int((match[2] or match[4])[1:])
    return width // 8 * (2 if kind == "c" else 1) * facts.get("core:num_channels", 1)


def problems(path, killed=False):
    """All problems of the recording, one line each; `path`: of its metadata, or without an extension."""
    path = pathlib.Path(path)
    path = path if path.suffix == ".sigmf-meta" else path.with_suffix(".sigmf-meta")
    try:
        root = json.loads(path.read_bytes().decode("utf-8"), parse_constant=lambda name: name)
    except (OSError, ValueError) as error:
        return [f"{path.name}: {error}"]
    if not isinstance(root, dict) or set(root) != {"global", "captures", "annotations"}:
        return [f"{path.name}: is not an object of global, captures and annotations"]
    named = root["global"].get("core:extensions", []) if isinstance(root["global"], dict) else []
    namespaces = {"core"} | {e["name"] for e in named if extensions(named)}
    found = (check_object("global", root["global"], GLOBAL, namespaces) +
             check_segments("captures", root["captures"], CAPTURE, namespaces) +
             check_segments("annotations", root["annotations"], ANNOTATION, namespaces))
    data = path.with_suffix(".sigmf-data")
    if not data.exists():
        found.append(f"{data.name}: is missing")
    if found:
        return found
    samples, rest = divmod(data.stat().st_size, sample_bytes(root["global"]))
    return check_order(root["captures"], samples, killed) + ([f"{data.name}: ends within a sample"] if rest else [])


def assert_valid(path, killed=False):
    found = problems(path, killed)
    assert not found, "\n".join(found)


if __name__ == "__main__":
    lines = [f"{path}: {line}" for path in sys.argv[1:] for line in problems(path)]
    print("\n".join(lines) or f"{len(sys.argv) - 1} recordings: valid")
    sys.exit(1 if lines else 0)
