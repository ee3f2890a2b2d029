# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Calls the function of a process of the stage `python` with the arrays of a request, and takes its result."""

import json
import os
import re
import traceback

import numpy as np

GOOD, RAISED, UNFIT = 0, 1, 2
_MOST_KINDS = 64
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None, ".nan": np.nan, ".inf": np.inf,
          "-.inf": -np.inf}
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\],]|[^\[\],"]+')


class Meta:
    """What is known of a block. Positions count from the start of the stream.

    past, future        how many positions of x lie before and after the new ones
    n                   how many positions are new: x[..., meta.past:meta.past + meta.n]
    valid_past, valid_future  how many of `past` and `future` exist; the others are 0
    position            of the first new position, at the input's rate
    sample              the same at the source's rate, as in the headers of messages
    time, time_ns       of that sample, since the Unix epoch
    rate, frequency     of the input, in Hz; 0: not known
    channels            their names, or numbers
    gap, dropped        samples lost just before this block, and since the start
    fresh               the stream begins here, or restarts after a gap
    block               counts the blocks
    tuned               the radio was retuned from this sample on; -1: it was not
    """

    __slots__ = ("past", "future", "n", "valid_past", "valid_future", "position", "sample", "time_ns", "rate",
                 "frequency", "channels", "gap", "dropped", "fresh", "block", "tuned")

    @property
    def time(self):
        return self.time_ns * 1e-9

    def __repr__(self):
        return "Meta(" + ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__) + ")"


def value_of(text):
    """A parameter as YAML has it: a number (also complex), true, false, null, a list of these, or a text."""
    if text.startswith("["):
        try:
            return _list_of([t for t in _TOKEN.findall(text) if t.strip()])
        except IndexError:
            return text
    return _number_or(text)


def _number_or(text):
    if text in _WORDS:
        return _WORDS[text]
    for kind in (int, float, complex):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def _list_of(tokens):
    """Of `[`, values between commas, `]`. Takes them off the list."""
    tokens.pop(0)
    items = []
    while tokens[0] != "]":
        if tokens[0] == "[":
            items.append(_list_of(tokens))
        else:
            token = tokens.pop(0).strip()
            items.append(json.loads(token) if token.startswith('"') else _number_or(token))
        if tokens[0] == ",":
            tokens.pop(0)
    tokens.pop(0)
    return items


class _Setup:
    """The shapes and parameters of a stage; several plans may use one process in turn."""

    def __init__(self, text):
        keys = json.loads(text)
        self.inputs = [(np.dtype(i["dtype"]), tuple(i["before"]), tuple(i["after"])) for i in keys["in"]]
        out = keys["out"]
        self.dtype = np.dtype(out["dtype"])
        self.before, self.after, self.varies = tuple(out["before"]), tuple(out["after"]), out["axis"]
        self.parameters = {name: value_of(text) for name, text in keys["params"].items()}
        self.rate, self.frequency = keys["rate"], keys["frequency"]
        self.channels = tuple(keys["channels"])
        self.text = out["text"]


class Calls:
    def __init__(self, job, function, control, device=None):
        self._file, self._function, self._control, self._device = job["file"], function, control, device
        self._setups = {}
        self._said = set()
        self._has_failed = False
        self._own = os.getpid()

    def answer(self, channel):
        """Computes a request; returns the status and the number of positions or items."""
        request = channel.request()
        try:
            setup = self._setup(channel, request[1], request[2])
            arrays = [self._array(channel, given, request[3 + i], request[5 + i])
                      for i, given in enumerate(setup.inputs)]
            if self._device:
                arrays = [self._device.take(array) for array in arrays]
            result = self._function(*arrays, self._meta(setup, request), **setup.parameters)
            self._end_children()
            if self._device:
                result = self._device.bring(result)
        except BaseException as error:
            self._end_children()
            self._report(error)
            return RAISED, 0
        try:
            return GOOD, self._take(channel, setup, request[20], result)
        except BaseException as error:
            self._report(error)
            return UNFIT, 0

    def _end_children(self):
        """Those that the function has made, and that came back from it."""
        if os.getpid() != self._own:
            os._exit(0)

    def is_lost(self):
        """No call can go well again: a kernel has ended the GPU's context."""
        if not self._device or not self._has_failed:
            return False
        self._has_failed = False
        try:
            self._device.finish()
            return False
        except Exception as error:
            self._report(error)
            return True

    def _setup(self, channel, number, size):
        known = self._setups.get(number)
        if known is None:
            if len(self._setups) > 3:
                self._setups.clear()
            known = self._setups[number] = _Setup(channel.setup(size))
        return known

    @staticmethod
    def _array(channel, given, length, offset):
        dtype, before, after = given
        shape = before + after if length < 0 else before + (length,) + after
        return np.ndarray(shape, dtype, channel.requests, offset)

    @staticmethod
    def _meta(setup, request):
        m = Meta()
        (m.past, m.future, m.n, m.valid_past, m.valid_future, m.position, m.sample, m.time_ns, m.gap, m.dropped, m.block,
         m.tuned) = request[7:19]
        m.fresh = request[19] != 0
        m.rate, m.frequency, m.channels = setup.rate, setup.frequency + request[21], setup.channels
        return m

    def _take(self, channel, setup, most, result):
        """Copies the result into shared memory; returns the number of positions."""
        y = np.asarray(result)
        if result is None or y.dtype.kind in "OUSV":
            raise TypeError(f"returned {type(result).__name__}; expected {setup.text}")
        before, after, shape = setup.before, setup.after, y.shape
        if setup.varies == "none":
            length, wanted = 1, before + after
        else:
            length = most if setup.varies == "given" else _length(shape, len(after))
            wanted = before + (length,) + after
        if shape != wanted and (before != (1,) or shape != wanted[1:]) or not 0 <= length <= most:
            raise ValueError(f"returned {y.dtype} {_shown(shape)}; expected {setup.text}, here {_shown(wanted)}"
                             + (f", at most {most}" if length > most else ""))
        into = channel.results(wanted, setup.dtype)
        try:
            np.copyto(into, y, casting="same_kind")
        except TypeError:
            raise TypeError(f"returned {y.dtype} {_shown(shape)}; expected {setup.text}") from None
        return length

    def _report(self, error):
        """Sends the traceback of the first error of its kind: of this type, at this line."""
        self._has_failed = True
        frames = traceback.extract_tb(error.__traceback__)
        own = [f for f in frames if not f.filename.startswith(__file__[:-len("calls.py")])]
        place = (own[-1].filename, own[-1].lineno) if own else ("", 0)
        kind = f"{type(error).__name__} {place[0]}:{place[1]}" if own else f"{type(error).__name__} {str(error)[:60]}"
        if kind in self._said or len(self._said) >= _MOST_KINDS:
            return
        self._said.add(kind)
        lines = "".join(traceback.format_list(own[-20:])) if own else ""
        self._control.say("raised", kind, f"{lines}{type(error).__name__}: {error}"[:8000])


def _length(shape, after):
    """Of the dimension before the last `after` ones."""
    return shape[-after - 1] if len(shape) > after else -1


def _shown(shape):
    return "[" + "][".join(map(str, shape)) + "]" if shape else "a single number"
