# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The parts of the manual in docs/man that `iqd` prints about itself: names, synopses, options and keys, in roff."""

import re
import sys

# The column of CLI11's help where an explanation begins.
COLUMN = 30
ENTRY = re.compile(r"(?P<names>\S+)(?: (?P<kind>TEXT|INT|FLOAT)(?::(?P<rule>\{.*?\}|\w+ in \[.*?\]|[A-Z]+))?)?"
                   r"(?P<many> \.\.\.)?(?: REQUIRED)?(?: Excludes: (?P<excludes>\S+))?")
VALUES = {"TEXT": "VALUE", "INT": "N", "FLOAT": "NUMBER"}
RULES = {"POSITIVE": "; more than 0", "NONNEGATIVE": "; at least 0"}


def roff(text):
    """A line of text: `code` becomes bold, and nothing in it is taken for a request."""
    text = text.strip().replace("\\", r"\e").replace("^", r"\(ha").replace("~", r"\(ti")
    text = re.sub(r"(?<![\w-])--?(?=[a-z0-9])", lambda dashes: dashes[0].replace("-", r"\-"), text)
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fP", text)
    return r"\&" + text if text[:1] in (".", "'") else text


def bold(word):
    return rf"\fB{word.replace('-', chr(92) + '-')}\fP"


def italic(word):
    return rf"\fI{word}\fP"


class Help:
    """What `iqd COMMAND --help` prints."""

    def __init__(self, text):
        self.about, usage = text.split("\n")[:2]
        self.usage = usage.partition(": ")[2]
        self.sections = {}
        title = None
        for line in text.split("\n")[2:]:
            if re.match(r"\w+:$", line):
                title = line[:-1]
                self.sections[title] = []
            elif line.startswith(" " * COLUMN):
                self.sections[title][-1][1] = line.strip()
            elif line.strip():
                entry, _, about = line.strip().partition("  ")
                self.sections[title].append([entry, about.strip()])

    def entries(self, title):
        return self.sections.get(title, [])


def argument(name):
    """A positional argument as in a synopsis; CLI11 writes NAME(1x) for one or more of them."""
    several = re.fullmatch(r"(\[?)(\w+)\(\dx\)(\]?)", name)
    if several:
        return f"{several[1]}{italic(several[2])}{several[3]}..."
    return re.sub(r"[A-Z]+", lambda word: italic(word[0]), name)


def option(entry, text):
    """An entry of the help as a paragraph with a tag."""
    match = ENTRY.fullmatch(entry)
    if not match:
        sys.exit(f"tools/docs_man.py: cannot read the help's entry: {entry}")
    rule, kind = match["rule"] or "", match["kind"]
    if not match["names"].startswith("-"):
        return f".TP\n{argument(match['names'])}\n{roff(text)}\n"
    tag = ", ".join(map(bold, match["names"].split(",")))
    if rule.startswith("{"):
        tag += " " + "|".join(map(bold, rule[1:-1].split(",")))
    elif kind:
        tag += " " + italic("FOLDER" if rule == "DIR" else VALUES[kind])
    tag += "..." if match["many"] else ""
    limits = re.fullmatch(r"\w+ in \[(\S+) - (\S+)\]", rule)
    text = roff(text) + (f"; from {limits[1]} to {limits[2]}" if limits else RULES.get(rule, ""))
    return f".TP\n{tag}\n{text}" + (f"; not with {bold(match['excludes'])}" if match["excludes"] else "") + "\n"


def synopsis(command, shown):
    """NAME and SYNOPSIS of a command."""
    arguments = " ".join(argument(word) for word in shown.usage.split()[2:] if word != "[OPTIONS]")
    about = shown.about.replace("`", "").replace("-", r"\-")
    return (f".SH NAME\niqd\\-{command} \\- {about}\n.SH SYNOPSIS\n.B iqd {command}\n"
            f"{'[' + italic('OPTION') + ']... ' + arguments}".rstrip() + "\n")


def options(shown):
    """ARGUMENTS and OPTIONS of a command."""
    text = ""
    for title, heading in (("Positionals", "ARGUMENTS"), ("Options", "OPTIONS")):
        if shown.entries(title):
            text += f".SH {heading}\n" + "".join(option(*entry) for entry in shown.entries(title))
    return text


def commands(shown):
    return "".join(f".TP\n.BR iqd\\-{name} (1)\n{roff(about)}\n" for name, about in shown.entries("Subcommands"))


def keys(table):
    """A table of keys, as `iqd stages NAME --markdown` prints it."""
    text = ""
    for key, default, limits, meaning in re.findall(r"^\| `(\S+)` \| (.*?) \| (.*?) \| (.*) \|$", table, re.MULTILINE):
        facts = [limits.strip()] if limits.strip() else []
        if default.strip():
            facts.append("required" if default == "(required)" else f"default: {default.strip()}")
        text += f".TP\n{bold(key)}\n{roff(meaning)}" + (f" ({roff('; '.join(facts))})" if facts else "") + "\n"
    return text


def drivers(stages):
    """Sources, sinks and outlets of the list that `iqd stages` prints."""
    wanted, found = ("source", "sink", "outlet"), {}
    for name, family, about in re.findall(r"^(\w+) +(\w+) +(.*)$", stages, re.MULTILINE):
        if family in wanted:
            found.setdefault((name, about), []).append(family)
    return "".join(f".TP\n{bold(name)} ({', '.join(families)})\n{roff(about)}\n"
                   for (name, about), families in found.items())


def parts(folder, ask):
    """(page, name, text) of each generated part; `ask` runs iqd with arguments and returns what it prints."""
    program = Help(ask("--help"))
    names = [name for name, _ in program.entries("Subcommands")]
    there = {page.stem.removeprefix("iqd-") for page in folder.glob("iqd-*.1")}
    for name in sorted(there ^ set(names)):
        sys.exit(f"docs/man: {'no command for the page' if name in there else 'no page for the command'} {name}")
    yield folder / "iqd.1", "commands", commands(program)
    yield folder / "iqd.1", "options", options(program)
    for name in names:
        shown = Help(ask(name, "--help"))
        yield folder / f"iqd-{name}.1", "synopsis", synopsis(name, shown)
        yield folder / f"iqd-{name}.1", "options", options(shown)
    yield folder / "iqd.yaml.5", "pipeline", keys(ask("stages", "pipeline", "--markdown"))
    yield folder / "iqd.yaml.5", "monitor", keys(ask("stages", "monitor", "--markdown"))
    yield folder / "iqd.yaml.5", "drivers", drivers(ask("stages"))
