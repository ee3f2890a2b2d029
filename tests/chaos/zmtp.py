# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A ZeroMQ peer byte by byte (ZMTP 3.0, RFC 23), so that it can send what no library would."""

import random
import socket
import struct

MORE, LONG, COMMAND = 1, 2, 4


def greeting(mechanism=b"NULL", minor=0):
    return b"\xff" + bytes(8) + b"\x7f" + bytes((3, minor)) + mechanism.ljust(20, b"\0") + bytes(32)


def frame(body, flags=0):
    if len(body) > 255 or flags & LONG:
        return struct.pack(">BQ", flags | LONG, len(body)) + body
    return bytes((flags, len(body))) + body


def command(name, body=b""):
    return frame(bytes((len(name),)) + name + body, COMMAND)


def ready(kind=b"SUB"):
    return command(b"READY", b"\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind)


def subscription(topic, wanted=True):
    return frame((b"\x01" if wanted else b"\x00") + topic)


def announcement(length, flags=0):
    """The header of a message, with nothing after it."""
    return struct.pack(">BQ", flags | LONG, length)


def connect(where, receive_buffer=None, seconds=1):
    """A stream socket to a ZeroMQ or another address; None if the connection fails."""
    if where.startswith("ipc://"):
        s, address = socket.socket(socket.AF_UNIX), where[6:]
    else:
        s, address = socket.socket(), (lambda host, port: (host, int(port)))(*where.removeprefix("tcp://").rsplit(":", 1))
    if receive_buffer:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    s.settimeout(seconds)
    try:
        s.connect(address)
    except OSError:
        s.close()
        return None
    return s


def send(s, data):
    """Whether all of it was taken; a peer that hangs up or takes nothing is expected here."""
    try:
        s.sendall(data)
        return True
    except OSError:
        return False


def shake_hands(s, kind=b"SUB", mechanism=b"NULL"):
    """True once the other side has sent its greeting, too."""
    return send(s, greeting(mechanism) + ready(kind)) and len(receive(s, 64)) == 64


def receive(s, count):
    data = b""
    try:
        while len(data) < count and (part := s.recv(count - len(data))):
            data += part
    except OSError:
        pass
    return data


def drop(s, at_once=True):
    """Closes the connection; `at_once`: with RST."""
    try:
        if at_once and s.family == socket.AF_INET:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()
    except OSError:
        pass


def rubbish(seed, count):
    return random.Random(seed).randbytes(count)
