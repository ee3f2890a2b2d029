# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The other side of a ZeroMQ radio, like the software base stations and phones of srsRAN and OCUDU: the transmitter is a
REP socket that answers each request of one byte with all available samples, the receiver a REQ socket.
"""

import threading

import numpy as np
import zmq


class Radio:
    """One channel of a radio with its own thread. Sends what is in `sent` on request; keeps what arrives.

    `most`: samples of an answer. `slot`: a radio in lock step: each time it has received so many samples, it passes
    `next_slot(received)` to its transmitter; the first slot is zeros, so that its peer can begin.
    """

    def __init__(self, transmit=None, receive=None, sent=(), most=23040, slot=0, next_slot=None, dtype=np.complex64):
        self.dtype, self.most, self.slot, self.next_slot = np.dtype(dtype), most, slot, next_slot
        self.out = np.asarray(sent, self.dtype).tobytes()
        if slot:
            self.out = bytes(slot * self.dtype.itemsize) + self.out
        self.received = bytearray()
        self.answers = []  # samples of each
        self.problem = None
        self._lock = threading.Lock()
        self._given = 0
        self._ends = threading.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(transmit, receive), daemon=True)
        self._thread.start()
        self._ready.wait()

    def samples(self):
        with self._lock:
            whole = len(self.received) // self.dtype.itemsize * self.dtype.itemsize
            return np.frombuffer(bytes(self.received[:whole]), self.dtype)

    def close(self):
        """Closes at once, like a killed process: an open request gets no answer."""
        self._ends.set()
        self._thread.join()
        if self.problem:
            raise AssertionError(self.problem)

    def _run(self, transmit, receive):
        context = zmq.Context()
        poller = zmq.Poller()
        tx = rx = None
        if transmit:
            tx = context.socket(zmq.REP)
            tx.bind(transmit)
            poller.register(tx, zmq.POLLIN)
        if receive:
            rx = context.socket(zmq.REQ)
            rx.connect(receive)
            poller.register(rx, zmq.POLLIN)
            rx.send(b"\xff")
        self._ready.set()
        asked = False
        try:
            while not self._ends.is_set():
                if asked and self.out:
                    asked = self._answer(tx)
                    continue
                for socket, _ in poller.poll(5 if not asked else 1):
                    if socket is rx:
                        self._take(rx.recv())
                        rx.send(b"\xff")
                    elif not asked:
                        asked = len(tx.recv()) > 0
        except (zmq.ZMQError, AssertionError) as error:
            self.problem = repr(error)
        context.destroy(linger=0)

    def _answer(self, tx):
        bytes_out = self.most * self.dtype.itemsize
        tx.send(self.out[:bytes_out])
        self.out = self.out[bytes_out:]
        return False

    def _take(self, answer):
        assert answer and len(answer) % self.dtype.itemsize == 0, f"an answer of {len(answer)} bytes"
        assert len(answer) <= 614400 * 8, "more than srsRAN's buffer takes"
        self.answers.append(len(answer) // self.dtype.itemsize)
        with self._lock:
            self.received += answer
        while self.slot and len(self.received) >= (self._given + 1) * self.slot * self.dtype.itemsize:
            size = self.slot * self.dtype.itemsize
            piece = np.frombuffer(bytes(self.received[self._given * size:(self._given + 1) * size]), self.dtype)
            self.out += np.asarray(self.next_slot(piece), self.dtype).tobytes()
            self._given += 1
