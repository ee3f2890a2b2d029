# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A publisher for tests of subscribers: sends frames as they are given, in the layout of docs/wire.md."""

import json
import struct
import tempfile
import threading
import unittest

import numpy as np
import zmq

PATIENCE = 30.0


def header(x, **more):
    """A header for this array, as iqd writes it."""
    dims = {1: ["n"], 2: ["channel", "n"]}.get(x.ndim, [])
    return {"v": 1, "pipeline": "lab", "port": "fir.out", "seq": 0, "sample": 0, "time_ns": 1_790_000_000_000_000_000,
            "time": "radio", "datatype": "cf32_le", "dtype": x.dtype.str.replace("|", "<"), "shape": list(x.shape),
            "dims": dims, "sample_rate": 1e6, "frequency": 433.92e6, "gap": 0, "dropped": 0, "halo": 0, **more}


def json_frames(topic, x, **more):
    return [f"{topic} {json.dumps(header(x, **more))}".encode(), x.tobytes()]


def struct_frames(topic, x, element, varying, extent, item, ndim, **more):
    fields = {"seq": 0, "sample": 0, "time_ns": 5, "gap": 0, "dropped": 0, "halo": 0, "flags": 1, **more}
    head = struct.pack("<4s2BbBQ5q2I", b"iqd1", element, ndim, varying, fields["flags"], fields["seq"],
                       fields["sample"], fields["time_ns"], extent, fields["gap"], fields["dropped"], fields["halo"],
                       item)
    return [topic.encode() + b" " + head, x.tobytes()]


class Publisher:
    """An XPUB or PUSH socket with a context of its own."""

    def __init__(self, kind=zmq.XPUB, endpoint=None, connect=None, set_up=lambda socket: None):
        self.context = zmq.Context()
        self.socket = self.context.socket(kind)
        self.socket.linger, self.socket.sndhwm = 10_000, 100_000
        self.socket.rcvtimeo = self.socket.sndtimeo = int(PATIENCE * 1000)
        set_up(self.socket)
        if connect:
            self.socket.connect(connect)
        elif endpoint:
            self.socket.bind(endpoint)
        else:
            self.socket.bind_to_random_port("tcp://127.0.0.1")
        self.endpoint = connect or self.socket.last_endpoint.decode().rstrip("\0")

    def await_reader(self):
        """Returns the topic that a reader subscribes to."""
        subscription = self.socket.recv()
        assert subscription[:1] == b"\1", subscription
        return subscription[1:].decode()

    def send(self, *messages):
        for frames in messages:
            self.socket.send_multipart(frames)

    def close(self):
        self.context.destroy(linger=1000)


class SubscribeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="iqd-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def publisher(self, *arguments, **options):
        publisher = Publisher(*arguments, **options)
        self.addCleanup(publisher.close)
        return publisher

    def received(self, frames, **options):
        """(the messages that come of these frames, the subscription) with a publisher that then ends."""
        import iqd  # pylint: disable=import-outside-toplevel
        publisher = self.publisher()
        with iqd.subscribe(publisher.endpoint, timeout=PATIENCE, reconnect=0, **options) as subscription:
            publisher.await_reader()
            publisher.send(*frames)
            threading.Thread(target=publisher.close).start()
            return list(subscription), subscription


def ramp(n, dtype=np.complex64):
    return np.arange(n).astype(dtype)
