# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A reader that takes everything at once."""

import threading

import zmq


class Reader:
    """Reads a tracked topic in its own thread."""

    def __init__(self, context, where, stream, kind=zmq.SUB, keys=None):
        self.stream, self._where = stream, where
        self._socket = context.socket(kind)
        self._socket.setsockopt(zmq.RCVHWM, 0)
        self._socket.setsockopt(zmq.LINGER, 0)
        if kind == zmq.SUB:
            self._socket.setsockopt(zmq.RECONNECT_IVL, 5)
            self._socket.setsockopt(zmq.SUBSCRIBE, b"t ")
        if keys:
            self._socket.curve_serverkey, self._socket.curve_publickey, self._socket.curve_secretkey = keys
        self._ends = threading.Event()
        self._quiet = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._socket.connect(where)
        self._thread.start()

    def _run(self):
        while not self._ends.is_set():
            if self._socket.poll(100):
                self._quiet.clear()
                self.stream.take(self._socket.recv_multipart())
            else:
                self._quiet.set()
        self._socket.close()

    def finish(self):
        """Reads what has arrived; nothing more will come."""
        self._quiet.clear()
        if not self._ends.is_set():
            self._quiet.wait(20)
        self.close()

    def close(self):
        self._ends.set()
        self._thread.join(5)
