# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""One endpoint: its socket, its keys, and the messages that come from it."""

import time

import zmq

from iqd._errors import ConfigError
from iqd._gnuradio import MAGIC, TagStream
from iqd._keys import read_public_key, read_public_keys, read_secret_key
from iqd._message import Message
from iqd._peer import Peer
from iqd._tally import Tally
from iqd._wire import Malformed, read_frames

_MOST_RECEIVED = 4 << 30  # larger than any block
_MOST_MALFORMED = 256  # in a row, before the time is looked at
_HINT = "use tcp://host:port, with a port up to 65535, or ipc://path"


def check_endpoint(endpoint):
    kind, _, where = endpoint.partition("://") if isinstance(endpoint, str) else ("", "", "")
    host, colon, port = where.rpartition(":")
    is_tcp = kind == "tcp" and colon and host and port.isascii() and port.isdigit() and 0 < int(port) < 65536
    if not (is_tcp or kind in ("ipc", "inproc") and where):
        raise ConfigError(f"'{endpoint}' is not an endpoint: {_HINT}")


class Keys:
    """CURVE keys of a subscriber (docs/security.md): files, or the keys themselves."""

    def __init__(self, key, server, allow, is_bound):
        self.are_given = not (key is server is allow is None)
        if not self.are_given:
            return
        if is_bound and (key is None or allow is None or server is not None):
            raise ConfigError("with bind=True, others connect to this side: give key= and allow=, not server=")
        if not is_bound and (server is None or allow is not None):
            raise ConfigError("server= is missing: the publisher's public key, or its file (allow= is for bind=True)")
        self.secret = None if key is None else read_secret_key(key)
        self.server = None if server is None else read_public_key(server)
        self.allow = allow
        if allow is not None and allow != "any":
            read_public_keys(allow)

    def give_to(self, socket):
        if not self.are_given:
            return
        if self.secret is None:  # the publisher admits anyone who has its public key
            socket.curve_publickey, socket.curve_secretkey = zmq.curve_keypair()
        else:
            socket.curve_publickey, socket.curve_secretkey = zmq.curve_public(self.secret), self.secret
        if self.server is None:
            socket.curve_server = True
        else:
            socket.curve_serverkey = self.server

    def callback(self, _domain, key):
        """For pyzmq's authenticator: the list is read at every handshake, as iqd does."""
        try:
            return key in read_public_keys(self.allow)
        except ConfigError:
            return False


class Feed:
    """Reads one endpoint. For one thread at a time."""

    def __init__(self, context, endpoint, topics, keys, options, counts):
        self.endpoint = endpoint
        is_pull = options.kind == "pull"
        self.socket = socket = context.socket(zmq.PULL if is_pull else zmq.SUB)
        self.peer = None
        try:
            keys.give_to(socket)
            socket.linger = 0
            socket.maxmsgsize = _MOST_RECEIVED
            if options.hwm is not None:
                socket.rcvhwm = options.hwm
            # A host that lost its power is noticed after half a minute.
            socket.tcp_keepalive, socket.tcp_keepalive_idle = 1, 10
            socket.tcp_keepalive_intvl, socket.tcp_keepalive_cnt = 5, 4
            self.peer = Peer(socket, endpoint)
            for topic in () if is_pull else topics:
                socket.subscribe(f"{topic} " if topic else "")
            (socket.bind if options.bind else socket.connect)(endpoint)
        except zmq.ZMQError as error:
            self.close()
            verb = "bind" if options.bind else "connect to"
            raise ConfigError(f"cannot {verb} {endpoint}: {error.strerror}") from None
        self._dtype = options.dtype
        self._streams = {}  # topics with GNU Radio's tags
        self._tally = Tally(counts, not options.bind, self._departures)
        self._counts = counts
        self._recv = socket.recv

    def take(self):
        """(message, samples lost before it, messages lost before it), or None if nothing waits. Counts malformed ones.
        """
        for _ in range(_MOST_MALFORMED):
            try:
                head = self._recv(zmq.NOBLOCK, False)
            except zmq.Again:
                self._tally.pause()
                return None
            payload = rest = None
            parts, more = 1, head.more
            while more:
                part = self._recv(0, False)
                parts, more = parts + 1, part.more
                payload, rest = (part, rest) if parts == 2 else (payload, part)
            try:
                message = self._read(head, payload, rest, parts)
            except Malformed as error:
                self._counts.malformed += 1
                self._counts.malformed_why = str(error)
                continue
            size = len(head) + (len(payload) if parts > 1 else 0) + (len(rest) if parts > 2 else 0)
            return (message, *self._tally.take(message, size))
        return None

    def _read(self, head, payload, rest, parts):
        now = time.time_ns()
        first = head.bytes
        if parts == 2 and not first.startswith(MAGIC) and payload.buffer[:3] != MAGIC:
            return Message(*read_frames(first, payload), self.endpoint, now)
        if parts < 3 and first.startswith(MAGIC):
            return self._read_tags("", first, payload or b"", now)
        if parts in (2, 3) and payload.buffer[:3] == MAGIC:
            return self._read_tags(first.decode("utf-8", "replace").rstrip(" "), payload, rest or b"", now)
        raise Malformed(f"{parts} frames instead of 2")

    def _read_tags(self, topic, tags, rest, now):
        stream = self._streams.get(topic)
        if stream is None:
            if len(self._streams) > 4096:
                self._streams.clear()
            stream = self._streams[topic] = TagStream(self._dtype)
        return Message(topic, *stream.read(tags, rest), self.endpoint, now)

    def _departures(self):
        self.peer.listen()
        return self.peer.departures

    def close(self):
        if self.socket.closed:
            return
        if self.peer:
            self.socket.disable_monitor()
            self.peer.close()
        self.socket.close(0)
