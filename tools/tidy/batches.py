# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""batches.py BUILD HEADERS: joins the batches of each target of a build into as few as compile together, and prints their
files. They are in BUILD/joined, with their compile_commands.json. Sources outside of batches are joined with each other,
but not those that Highway compiles for each kind of CPU. clang spends most of its time in headers: all rooms of
pipeline as one take it a quarter of the time. HEADERS is a precompiled one, which all batches begin with."""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys


def compiles(command, text):
    done = subprocess.run([*command, "-fsyntax-only", "-Wfatal-errors", "-x", "c++", "-"], input=text, text=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def joined(command, batches):
    """The batches in lists that compile together. A list that does not is halved."""
    if len(batches) == 1 or compiles(command, text_of(batches)):
        return [batches]
    middle = len(batches) // 2
    return joined(command, batches[:middle]) + joined(command, batches[middle:])


def text_of(batches):
    return "".join(f'#include "{source}"\n' for batch in batches for source in sources_of(batch))


def sources_of(batch):
    if "/Unity/" not in batch:
        return [batch]
    return re.findall(r'^#include "(.*)"$', pathlib.Path(batch).read_text(encoding="utf-8"), re.MULTILINE)


def is_joined(source):
    return not re.search(r'^ *#include .*(hwy/|\.cpp")', pathlib.Path(source).read_text(encoding="utf-8"), re.MULTILINE)


def with_headers(command):
    """The command with the precompiled headers, which fit only code for the same position and visibility."""
    if not command[0].endswith("++"):
        return command
    kept = [word for word in command if not re.match("-f(no-|PI|fp-|visibility)|-D.*_EXPORTS$|-DFMT_SHARED$", word)]
    return [*kept, "-DFMT_SHARED", "-DHWY_COMPILE_ONLY_STATIC", "-include-pch", sys.argv[2]]


def main():
    build = pathlib.Path(sys.argv[1]).absolute()
    targets = collections.defaultdict(list)
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        in_batch = "/Unity/" in entry["file"]
        if "_test.dir/" in entry["file"] or "nvcc" in entry["command"]:
            continue
        if in_batch or (not entry["file"].startswith(f"{build}/") and is_joined(entry["file"])):
            command = shlex.split(entry["command"])
            first = next(i for i, word in enumerate(command) if os.path.basename(word).startswith("clang"))
            targets[in_batch, *with_headers(command[first:command.index("-o")])].append(entry["file"])
    folder = build / "joined"
    folder.mkdir(exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        lists = list(pool.map(lambda target: joined(target[1:], targets[target]), targets))
    entries = []
    for command, batches in ((target[1:], batches) for target, found in zip(targets, lists) for batches in found):
        file = folder / f"{len(entries)}.cpp"
        file.write_text(text_of(batches), encoding="utf-8")
        entries.append({"directory": str(build), "file": str(file), "arguments": [*command, "-c", str(file)]})
        print(file)
    (folder / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")


if __name__ == "__main__":
    main()
