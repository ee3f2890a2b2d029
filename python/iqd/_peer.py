# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""What ZeroMQ reports about the connection to a publisher, and why nothing comes."""

import itertools
import os
import struct

import zmq

_EVENT = struct.Struct("=Hi")
# Event.HANDSHAKE_… as numbers, which all versions of pyzmq know.
_CONNECTED, _DISCONNECTED = 0x0001, 0x0200
_FAILED, _SUCCEEDED, _PROTOCOL, _AUTH = 0x0800, 0x1000, 0x2000, 0x4000
_ALL = _CONNECTED | _DISCONNECTED | _FAILED | _SUCCEEDED | _PROTOCOL | _AUTH
_MECHANISM_MISMATCH = 0x11000002
_numbers = itertools.count()  # libzmq frees an address some time after it is closed


def _why_no_tcp(where):
    import socket  # pylint: disable=import-outside-toplevel
    host, _, port = where.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), 1).close()
    except ConnectionRefusedError:
        return "nothing listens there: is the publisher running, and is the address right?"
    except socket.gaierror as error:
        return f"the host '{host}' is not known: {error.strerror}"
    except TimeoutError:
        return "no answer: does a firewall block it, and is the host right?"
    except (OSError, ValueError) as error:
        return f"cannot be reached: {getattr(error, 'strerror', None) or error}"
    return ""


def _why_unreachable(endpoint):
    if endpoint.startswith("tcp://"):
        return _why_no_tcp(endpoint[6:])
    if endpoint.startswith("ipc://") and endpoint[6] != "@" and not os.path.exists(endpoint[6:]):
        return "nothing listens there: is the publisher running, and is the address right?"
    return ""


class Peer:
    """Follows one socket's connections by its monitor."""

    def __init__(self, socket, endpoint):
        self.endpoint = endpoint
        address = f"inproc://iqd.monitor.{next(_numbers)}"
        socket.monitor(address, _ALL)
        self.monitor = socket.context.socket(zmq.PAIR)
        # libzmq's I/O thread would wait for a reader that takes no events.
        self.monitor.rcvhwm = 0
        self.monitor.connect(address)
        self.connected = 0  # connections after their handshake
        self.was_connected = False
        self.departures = 0  # connections that have ended
        self._reached = self._hung_up = False
        self._fault = 0  # why the last handshakes failed; a mismatch is not always reported

    def listen(self):
        """Takes what the monitor has reported."""
        while True:
            try:
                frames = self.monitor.recv_multipart(zmq.NOBLOCK)
            except zmq.Again:
                return
            self._take(*_EVENT.unpack(frames[0][:_EVENT.size]))

    def _take(self, event, value):
        if event == _CONNECTED:
            self._reached = True
        elif event == _SUCCEEDED:
            self.connected += 1
            self.was_connected = True
            self._fault = 0
        elif event == _DISCONNECTED:
            self._hung_up = self.connected == 0
            self.departures += 1
            self.connected = max(self.connected - 1, 0)
        elif event in (_FAILED, _PROTOCOL, _AUTH) and self._fault != _MECHANISM_MISMATCH:
            self._fault = value if event == _PROTOCOL else event

    def why_silent(self, topics, has_keys, is_pull):
        """Why nothing has come; empty if it is not known."""
        if self.connected:
            named = "" if is_pull or topics == [""] else " of topic " + ", ".join(f"'{t}'" for t in topics)
            return f"connected, but no message{named} has come; `iqd sub {self.endpoint} --all` lists what comes"
        if self.was_connected:
            return "the publisher has closed the connection: its stream has ended, or it was stopped"
        if not self._reached:
            return _why_unreachable(self.endpoint)
        return self._why_no_handshake(has_keys, is_pull)

    def _why_no_handshake(self, has_keys, is_pull):
        if self._fault == _AUTH:
            return "the publisher refused the key: the public key of key= must be on its list"
        if self._fault == _MECHANISM_MISMATCH:
            return ("the publisher has no `curve:`: leave out key= and server=" if has_keys
                    else "the socket there has `curve:`: give server= and key=")
        if has_keys:
            return ("the handshake fails: server= must be the publisher's public key, and the public key of key= must "
                    "be on its list, or the publisher has no `curve:`")
        # Of sockets that do not match, libzmq reports at most that the other side hung up.
        if self._fault == _FAILED or self._hung_up and self._fault == 0:
            kind = ("is not `kind: push` (leave out kind=\"pull\")" if is_pull
                    else "is not `kind: pub` (for `kind: push`, give kind=\"pull\")")
            return f"the socket there {kind}, or has `curve:` (give server= and key=)"
        return ("something listens there, but it does not answer with ZeroMQ's protocol: is this the port of a "
                "`publish` entry?")

    def close(self):
        self.monitor.close(0)
