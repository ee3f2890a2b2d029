# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""batches.py ROOT SIZE SOURCE…: decides which sources can be compiled as one; prints `number source` for those.

Sources that are compiled as one share names that are usually private: those in unnamed namespaces, macros, and
using-declarations at the top. So two sources go into one batch only if no such name of one means something else in the
other, or in a header of ours that the other includes. Declarations are found by clang-format's layout: they begin in
the first column of a namespace.
"""

import functools
import os
import pathlib
import re
import sys

NAMESPACE = re.compile(r"(?:inline )?namespace ?([\w:]*) \{")
NAMESPACE_END = re.compile(r"\}  // namespace")
USING = re.compile(r"using ([\w:]*?::)?(\w+);")
TYPE = re.compile(r"(?:class|struct|enum class|enum|union) (?:alignas\(\w+\) )?(\w+)")
TEST = re.compile(r"(?:TEST|TEST_F|TEST_P|TYPED_TEST)\((\w+), (\w+)")
OTHER = re.compile(r"using (\w+) =|[\w:<].*?[ &*>](\w+)(?:\(|\[| =|\{|;)|\w+\((\w+)")
TEMPLATE = re.compile(r"template <(?:[^<>]|<[^<>]*>)*> ?(?:requires .*)?")
INCLUDE = re.compile(r'#include "([\w/.-]+)"')
# Highway compiles these once for each instruction set; their includes and redefined names would affect other sources.
APART = re.compile(r"^ *(?:#include (?:\"hwy/|.*hwy/foreach_target|.*\.cpp)|namespace \w+ = |using namespace )", re.M)
PLAIN_TESTING = re.compile(r"(?<![\w:])testing::")
TESTING = ("iqd", "testing")


class File:
    """The declarations of a file: {(namespace, name): meaning}; `own` are those that no other file should see."""

    def __init__(self, path):
        self.text = path.read_text(encoding="utf-8")
        self.own, self.shared = {}, {}
        self.includes = INCLUDE.findall(self.text)
        self.path = str(path)
        scopes, opened = [], 0
        for number, line in enumerate(self.text.splitlines()):
            if NAMESPACE.match(line):
                opened = number
            # The end of a namespace with a single line has no comment.
            if NAMESPACE_END.match(line) or (line == "}" and number == opened + 2):
                del scopes[-1:]
            elif line[:1] not in ("", " ", "}", "/"):
                self.read(line, scopes)

    def read(self, line, scopes):
        if found := NAMESPACE.match(line):
            if line.endswith("}"):  # one line with a forward declaration
                return
            scopes.append(found[1])
            self.open("::".join(filter(None, scopes)))
            return
        where = "::".join(filter(None, scopes))
        unnamed = "" in scopes or line.startswith("static ")
        if found := re.match(r"#define (\w+)", line):
            self.own[("", found[1])] = self.path
        elif found := USING.match(line):
            self.own[(where, found[2])] = f"{found[1]}{found[2]}"
        elif name := declared(line):
            (self.own if unnamed else self.shared)[(where, name)] = self.path if unnamed else "shared"

    def open(self, name):
        parts = name.split("::")
        for n in range(1, len(parts)):
            self.shared[("::".join(parts[:n]), parts[n])] = "namespace"


def declared(line):
    line = TEMPLATE.sub("", line, count=1)
    if line.startswith(("#", "template", "extern", "static_assert", "friend")):
        return None
    if found := TEST.match(line):
        return f"{found[1]}_{found[2]}_Test"
    if found := TYPE.match(line) or OTHER.match(line):
        return next(filter(None, found.groups()))
    return None


@functools.cache
def read(path):
    return File(path)


class Source:
    """A source with all headers of ours that it includes, directly or indirectly."""

    def __init__(self, root, path):
        main = read(path)
        self.apart = bool(APART.search(main.text))
        self.own, self.shared = dict(main.own), dict(main.shared)
        seen, rest = set(), list(main.includes)
        while rest:
            header = rest.pop()
            if header in seen or not (root / header).is_file():
                continue
            seen.add(header)
            found = read(root / header)
            self.shared.update(found.shared | found.own)
            rest += found.includes
        # Within iqd, testing:: is GoogleTest's only if iqd::testing is not declared.
        if TESTING not in self.shared and PLAIN_TESTING.search(main.text):
            self.own[TESTING] = "GoogleTest's"


def clash(a, b):
    return hides(a.own, b.own) or hides(a.own, b.shared) or hides(b.own, a.shared)


def hides(these, those):
    return any(those.get(name, meaning) != meaning for name, meaning in these.items())


def batches(sources, size):
    made = []
    for path, source in sources:
        if source.apart:
            continue
        for batch in made:
            if len(batch) < size and not any(clash(source, other) for _, other in batch):
                batch.append((path, source))
                break
        else:
            made.append([(path, source)])
    return [[path for path, _ in batch] for batch in made if len(batch) > 1]


def main():
    root, size = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    there = filter(os.path.exists, sys.argv[3:])  # the build writes the others
    sources = [(path, Source(root, pathlib.Path(path))) for path in there]
    for number, batch in enumerate(batches(sources, size)):
        for path in batch:
            print(number, path)


if __name__ == "__main__":
    main()
