# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A peer that speaks ZMTP 3.0 without keys and without libzmq, so it can send what no library would."""

import socket
import struct


def frame(text):
    return bytes([0, len(text)]) + text if len(text) < 256 else announcement(len(text)) + text


def announcement(size):
    """The beginning of a long frame."""
    return b"\x02" + struct.pack(">Q", size)


def subscription(topic):
    return frame(b"\x01" + topic)


class HostilePeer:
    """`kind`: as the other side sees it, SUB or PUSH. Without `kind` it only connects."""

    def __init__(self, endpoint, kind=None):
        if endpoint.startswith("ipc://"):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(endpoint[6:])
        else:
            host, port = endpoint.removeprefix("tcp://").rsplit(":", 1)
            self.socket = socket.create_connection((host, int(port)))
        self.socket.settimeout(2)
        if kind:
            name = kind.encode()
            ready = b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(name)) + name
            self.say(b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(48) + bytes([4, len(ready)]) + ready)
            # Data sent before the other side is ready fails the handshake.
            heard = b""
            while b"READY" not in heard and (more := self.socket.recv(4096)):
                heard += more

    def say(self, data):
        """False if the other side has closed, or takes nothing for two seconds."""
        try:
            self.socket.sendall(data)
        except OSError:
            return False
        return True

    def close(self):
        self.socket.close()
