# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A viewer of the live page, with a WebSocket by hand. docs/live.md has the formats."""

import base64
import json
import os
import socket
import struct
import time

import numpy as np

import iqd

TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9
HEAD = struct.Struct("<4B3Iddf h H".replace(" ", ""))
AFTER_GAP, RETUNED, CLIPPED = 1, 2, 4


class Row:
    """A binary message."""

    def __init__(self, data):
        (self.kind, self.trace, self.flags, self.vectors, self.count, self.seq, self.lost, self.time, self.first,
         self.span, low, step) = HEAD.unpack_from(data)
        self.low, self.step = low / 100, step / 1000
        self.payload = data[HEAD.size:]

    @property
    def codes(self):
        return np.frombuffer(self.payload, np.uint8, self.count)

    @property
    def mean_codes(self):
        return np.frombuffer(self.payload, np.uint8, self.count, self.count)

    @property
    def counts(self):
        return np.frombuffer(self.payload, "<u4", self.count)

    @property
    def db(self):
        """NaN where there is no value."""
        return np.where(self.codes > 0, self.low + (self.codes.astype(float) - 1) * self.step, np.nan)

    @property
    def peak_hz(self):
        return self.first + (np.argmax(self.codes) + 0.5) / self.count * self.span


def request(port, query="", headers=None, path="/api/live"):
    """The upgrade as bytes. A header that is None is left out."""
    lines = {"Host": f"127.0.0.1:{port}", "Connection": "Upgrade", "Upgrade": "websocket",
             "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
             **(headers or {})}
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items() if value is not None)
    return f"GET {path}{query} HTTP/1.1\r\n{text}\r\n".encode()


class Viewer:
    """Connects; `status` is the answer to the upgrade, and 101 if it was accepted."""

    def __init__(self, port, query="", headers=None, buffer=None):
        self.socket = socket.socket()
        self.socket.settimeout(iqd.PATIENCE)
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        try:
            self._data = self._upgrade(port, request(port, query, headers))
        except OSError:
            self.socket.close()
            raise
        self.head, _, self._data = self._data.partition(b"\r\n\r\n")
        self.head = self.head.decode()
        self.status = int(self.head.split()[1]) if self.head else 0
        self.close_code = None

    def _upgrade(self, port, data):
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(data)
        answer = b""
        while b"\r\n\r\n" not in answer:
            part = self.socket.recv(65536)
            if not part:
                break
            answer += part
        return answer

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def _need(self, count):
        while len(self._data) < count:
            part = self.socket.recv(1 << 20)
            if not part:
                raise EOFError("the other end has closed")
            self._data += part

    def frame(self):
        """The next frame: opcode and payload. iqd sends whole messages, without a mask."""
        self._need(2)
        first, length = self._data[0], self._data[1]
        assert first & 0x80 and not length & 0x80, (first, length)
        start = 2
        if length >= 126:
            start += 2 if length == 126 else 8
            self._need(start)
            length = int.from_bytes(self._data[2:start], "big")
        self._need(start + length)
        payload, self._data = self._data[start:start + length], self._data[start + length:]
        return first & 15, payload

    def message(self):
        """The next message: a Row, or a JSON object. None at the end; then `close_code` says why."""
        while True:
            try:
                opcode, payload = self.frame()
            except EOFError:
                return None
            if opcode == TEXT:
                return json.loads(payload)
            if opcode == BINARY:
                return Row(payload)
            if opcode == CLOSE:
                self.close_code = int.from_bytes(payload[:2], "big")
                return None
            assert opcode == PING, opcode

    def until(self, condition, seconds=iqd.PATIENCE):
        """Messages up to the first that meets the condition."""
        ends = time.monotonic() + seconds
        messages = []
        while True:
            message = self.message()
            assert message is not None, f"closed: {self.close_code}"
            messages.append(message)
            if condition(message):
                return messages
            assert time.monotonic() < ends, f"{len(messages)} messages, but not that one"

    def text(self, name, seconds=iqd.PATIENCE):
        """What the next text of this name says."""
        return self.until(lambda m: isinstance(m, dict) and name in m, seconds)[-1][name]

    def rows(self, count, trace=None, seconds=iqd.PATIENCE):
        """The next rows, of any trace or of this one."""
        found = []
        ends = time.monotonic() + seconds
        while len(found) < count:
            message = self.message()
            assert message is not None, f"closed: {self.close_code}"
            if isinstance(message, Row) and trace in (None, message.trace):
                found.append(message)
            assert time.monotonic() < ends, f"{len(found)} of {count} rows"
        return found

    def send_close(self):
        self.socket.sendall(bytes([0x88, 0x82, 0, 0, 0, 0]) + struct.pack(">H", 1000))


def trace_of(hello, port, kind="row", of=None):
    """The number of a trace in `hello`."""
    found = [t["trace"] for t in hello["traces"]
             if (t["port"], t["kind"]) == (port, kind) and of in (None, t["of"])]
    assert found, (port, kind, of, hello["traces"])
    return found[0]
