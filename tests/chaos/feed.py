# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A program that sends a tone to a `zmq` source at its rate: iqd's wire format, in messages of 10 ms."""

import collections
import json
import threading
import time

import numpy as np
import zmq


class Feed:
    def __init__(self, where, rate, frequency):
        self._where, self._rate, self._frequency = where, rate, frequency
        self.paused = False
        self.skip = 0  # samples to skip
        self.also = collections.deque(maxlen=1000)  # extra messages to send
        self._lock = threading.Lock()
        self._ends = threading.Event()
        self._thread = None
        self._began_ns = 0

    def killed_for(self, seconds, sleep):
        """Acts like a process that is killed and restarted. One at a time."""
        with self._lock:
            self.stop()
            sleep(seconds)
            self.start()

    def start(self):
        self._ends.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self):
        """Unsent messages are discarded."""
        self._ends.set()
        if self._thread:
            self._thread.join()

    def _run(self):
        context = zmq.Context()
        socket = context.socket(zmq.PUSH)
        socket.setsockopt(zmq.SNDHWM, 20)
        socket.setsockopt(zmq.RECONNECT_IVL, 5)
        socket.connect(self._where)
        count = self._rate // 100
        sample, sent, began = 0, 0, time.time()
        self._began_ns = time.time_ns()
        while not self._ends.wait(max(0.0, began + sent / self._rate - time.time())):
            if self.paused:
                began += 0.01
                continue
            sample += self.skip
            self.skip = 0
            try:
                while self.also:
                    socket.send_multipart(self.also.popleft(), zmq.DONTWAIT)
                self._send(socket, sample, count)
                sample += count
            except zmq.Again:
                pass
            sent += count
        context.destroy(0)

    def _send(self, socket, sample, count):
        cycles = (sample * self._frequency % self._rate + np.arange(count) * self._frequency) % self._rate / self._rate
        x = (0.1 * np.exp(2j * np.pi * cycles)).astype(np.complex64)
        head = {"v": 1, "sample": sample, "time_ns": self._began_ns + sample * 10**9 // self._rate,
                "sample_rate": self._rate, "dtype": "<c8", "shape": x.shape, "dims": ["n"]}
        socket.send_multipart([b"iq " + json.dumps(head).encode(), x.tobytes()], zmq.DONTWAIT)
