# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The shared memory of a process of the stage `python`, as pipeline/stages/math/python/channel.hpp describes it: the
daemon writes requests into one file, which this process can only read, and reads answers from another."""

import ctypes
import mmap
import os
import struct
import time

import numpy as np

SETUP_AT = RESULTS_AT = 4096  # after the request, and after the answer
REQUEST = struct.Struct("<II19qd")  # channel.hpp: Request
ANSWER = struct.Struct("<Iq")       # channel.hpp: Answer, without its word

_WAIT_S = 1
_RETRY = 256  # calls
_FUTEX_WAIT, _FUTEX_WAKE = 0, 1
_FUTEX = {"x86_64": 202, "aarch64": 98}
_IN_ORDER = os.uname().machine == "x86_64"  # stores and loads stay in order without a barrier


class _Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


def _map(file, access):
    size = os.fstat(file).st_size
    memory = mmap.mmap(file, size, flags=mmap.MAP_SHARED, prot=access)
    os.close(file)
    return memory


def _address(memory):
    return np.frombuffer(memory, np.uint8).__array_interface__["data"][0]


class Channel:
    """Takes requests one after the other, and answers each."""

    def __init__(self, requests, answers, spin_ns):
        self.requests = _map(requests, mmap.PROT_READ)
        self.answers = _map(answers, mmap.PROT_READ | mmap.PROT_WRITE)
        self._request_word = memoryview(self.requests)[:4].cast("I")
        self._answer_word = memoryview(self.answers)[:4].cast("I")
        self.request_at, self._answer_at = _address(self.requests), _address(self.answers)
        self._futex = ctypes.CDLL(None, use_errno=True).syscall
        self._futex.argtypes = [ctypes.c_long, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p]
        self._number = _FUTEX[os.uname().machine]
        self._timeout = ctypes.byref(_Time(_WAIT_S, 0))
        self._spin_ns = spin_ns
        self._spins, self._turn, self._last = True, 0, 0

    def wait(self):
        """True when there is a request; False after a second without one."""
        word, last = self._request_word, self._last
        self._turn = (self._turn + 1) % _RETRY
        if (self._spins or self._turn == 0) and self._spin(word, last):
            return self._taken()
        while word[0] == last:
            if self._futex(self._number, self.request_at, _FUTEX_WAIT, last, self._timeout) != 0:
                if ctypes.get_errno() == 110:  # ETIMEDOUT
                    return False
        return self._taken()

    def _spin(self, word, last):
        """Looks for a request for a moment. If that was in vain, it is not done again soon: the daemon's thread may be
        waiting for this CPU."""
        until = time.perf_counter_ns() + self._spin_ns
        self._spins = False
        while time.perf_counter_ns() < until:
            if word[0] != last or word[0] != last or word[0] != last or word[0] != last:
                self._spins = True
                break
            os.sched_yield()
        return self._spins

    def _taken(self):
        self._last = self._request_word[0]
        self._barrier()
        return True

    def _barrier(self):
        """The kernel's code for a wake has a full barrier."""
        if not _IN_ORDER:
            self._futex(self._number, self._answer_at, _FUTEX_WAKE, 0, None)

    def request(self):
        """The numbers of the request."""
        return REQUEST.unpack_from(self.requests, 0)

    def setup(self, size):
        return self.requests[SETUP_AT:SETUP_AT + size]

    def results(self, shape, dtype):
        """Where the results of the answer go."""
        return np.ndarray(shape, dtype, self.answers, RESULTS_AT)

    def answer(self, status, count):
        ANSWER.pack_into(self.answers, 4, status, count)
        self._barrier()
        self._answer_word[0] = self._last
        self._futex(self._number, self._answer_at, _FUTEX_WAKE, 1, None)
