# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The pipeline file of a daemon that this program starts: with an HTTP port, which it needs to be asked and stopped."""

import contextlib
import os
import re
import shutil
import tempfile

from iqd._errors import ConfigError, Error
from iqd._monitor import to_json

_MONITOR = re.compile(r"""^[ \t]*(['"]?)monitor\1[ \t]*:.*\n?(?:(?:[ \t#].*)?\n)*""", re.MULTILINE)
_LISTEN = re.compile(r"""(\blisten['"]?[ \t]*:[ \t]*)("[^"]*"|'[^']*'|[^\s,}#]+)""")
_END = re.compile(r"(?:\n\.\.\.[ \t]*)?\s*\Z")


def _is_text(source):
    return isinstance(source, str) and ("\n" in source or (":" in source and not os.path.exists(source)))


def _first_line(text):
    """The first line of the document itself."""
    lines = (line for line in text.split("\n"))
    return next((line for line in lines if line.strip() and not re.match(r"\s*#|---|%", line)), "")


def _find_monitor(text):
    first = _first_line(text)
    if first.lstrip().startswith("{"):
        return re.search(r"""[{,]\s*(['"]?)monitor\1\s*:\s*\{[^}]*\}""", text)
    indent = len(first) - len(first.lstrip())
    return next((m for m in _MONITOR.finditer(text) if len(m[0]) - len(m[0].lstrip(" \t")) == indent), None)


def with_monitor(text, listen, recordings):
    """The text of a YAML file with an HTTP port: its own one unless `listen` replaces the address, else at `listen`. No
    line moves, so places in problems stay right."""
    found = _find_monitor(text)
    if found:
        if listen is None:
            return text
        part, replaced = _LISTEN.subn(lambda m: f'{m[1]}"{listen}"', found[0], count=1)
        if not replaced:
            raise ConfigError("the file has a `monitor` without `listen`, so its port cannot be replaced")
        return text[:found.start()] + part + text[found.end():]
    monitor = f'{{listen: "{listen or "127.0.0.1:0"}", recordings: "{recordings}"}}'
    end = _END.search(text).start()
    first = _first_line(text)
    if first.lstrip().startswith("{"):
        if not text[:end].endswith("}"):
            raise ConfigError("add a `monitor` to the file: it cannot be done here")
        return f"{text[:end - 1].rstrip().rstrip(',')}, monitor: {monitor}}}\n"
    indent = first[:len(first) - len(first.lstrip())]
    return f"{text[:end]}\n{indent}monitor: {monitor}\n"


class PipelineFile:
    """A file, a text of YAML, or a dict with the same keys, and the copy that the daemon reads."""

    def __init__(self, source, listen):
        self._source, self._listen, self._owner = source, listen, os.getpid()
        self._folder = self._copy = None
        self.shown = "pipeline.yaml"
        if not isinstance(source, dict) and not _is_text(source):
            try:
                self._source = os.path.abspath(os.fspath(source))
            except TypeError:
                raise ConfigError(f"{source!r} is neither a file, nor a text of YAML, nor a dict") from None
            self.shown = os.fspath(source)
        try:
            self._folder = tempfile.mkdtemp(prefix="iqd-")
            self.refresh()
        except BaseException:
            self.remove()
            raise

    @property
    def path(self):
        return self._copy or self._source

    def refresh(self):
        """Writes the copy again, from a file that may have changed."""
        if isinstance(self._source, dict):
            return self._write(self._folder, self._text_of_dict())
        if _is_text(self._source):
            return self._write(self._folder, with_monitor(self._source, self._listen, self._folder))
        try:
            with open(self._source, encoding="utf-8") as file:
                text = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise Error(f"{self.shown}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
        changed = with_monitor(text, self._listen, self._folder)
        if changed != text or self._copy:
            self._write(self._beside(), changed)
        return None

    def _text_of_dict(self):
        own = self._source.get("monitor")
        monitor = {"listen": "127.0.0.1:0", "recordings": self._folder, **(own if isinstance(own, dict) else {})}
        if self._listen:
            monitor["listen"] = self._listen
        return to_json({**self._source, "monitor": monitor if own is None or isinstance(own, dict) else own})

    def _beside(self):
        """Where relative paths in the copy lead to the same files: the file's folder, or if that is read-only, one with
        links to all that is in it."""
        folder = os.path.dirname(self._source)
        if os.access(folder, os.W_OK):
            return folder
        for name in os.listdir(folder):
            if not os.path.lexists(link := os.path.join(self._folder, name)):
                os.symlink(os.path.join(folder, name), link)
        return self._folder

    def _write(self, folder, text):
        if self._copy is None:
            self._copy = os.path.join(folder, f".{os.path.basename(self._folder)}.yaml")
        with open(self._copy, "w", encoding="utf-8") as file:
            file.write(text)

    def as_shown(self, text):
        """A text of the daemon with the name of the file that the caller knows."""
        return text.replace(self.path, self.shown)

    def remove(self):
        if os.getpid() != self._owner:  # a fork of the program that has made it
            return
        if self._copy:
            with contextlib.suppress(OSError):
                os.unlink(self._copy)
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._copy = self._folder = None
