# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator's sending side, replacing usrp_mpm.simulator.chdr_stream.ChdrOutputStream, and smaller fixes.

The one of UHD 4.3 sends as many bytes as it should send samples, gives only the first packet a time stamp, and dies when
100 flow control packets wait. This one also follows the file `fault`: `drop N`, `drop N K` (of N packets the last K),
`swap N`, `double N`, `damage N`, `stall S`, `jump S` (seconds of its clock). It adds a byte to the file `dropped` for
each packet that does not arrive, and creates the file `behaves` when `fault` is gone.
"""

import os
import struct
import threading
import time

from usrp_mpm.simulator import sample_source, stream_endpoint_node

SAMPLE_BYTES = 4
HEADER_BYTES = 16
DATA_WITH_TIME = 7


def damaged(packet, how):
    """A wrong header: for no receiver, of an unknown kind, truncated, or with a wrong length."""
    header, = struct.unpack_from("<Q", packet)
    wrong = (header ^ 0x5A5A, header ^ 3 << 53, header, header ^ 0x8 << 16)[how % 4]
    return (struct.pack("<Q", wrong) + packet[8:])[:10 if how % 4 == 2 else len(packet)]


class OutputStream:
    def __init__(self, log, chdr_w, source, spec, send_wrapper):
        del log, chdr_w
        self._spec, self._send = spec, send_wrapper
        now = self.now(spec.sample_rate)
        self._starts = spec.init_timestamp if spec.is_timed else now
        self._waits = max(0, self._starts - now) / spec.sample_rate if spec.is_timed else 0
        self._bytes = spec.packet_samples  # the block reports a sample width of 8 bits: these are bytes
        with open(source.read_obj.name, "rb") as file:
            samples = file.read()
        self._period = len(samples)
        self._samples = memoryview(samples + samples[:self._bytes])
        self._stop = False
        self._sent = self._read = 0  # bytes
        self._room = threading.Condition()
        self._fault = ("",)
        self._held = []  # packets to send after the next one
        self._jump = 0   # ticks
        threading.Thread(target=self._run, daemon=True).start()

    @staticmethod
    def now(rate):
        """Its clock, in ticks: the host's if the device has none."""
        return int(time.time() * rate)

    def queue_packet(self, packet):
        """Handles the host's reports of what it has read."""
        with self._room:
            self._read = packet.get_payload_strs().xfer_count_bytes
            self._room.notify()

    def finish(self):
        self._stop = True
        with self._room:
            self._room.notify()

    def _packets(self):
        """One packet after the other."""
        spec = self._spec
        left = None if spec.is_continuous else spec.total_samples * SAMPLE_BYTES
        ticks = self._starts
        number = position = 0
        while left is None or left > 0:
            size = self._bytes if left is None else min(self._bytes, left)
            if left is not None:
                left -= size
            last = int(left == 0)
            header = (last << 57 | DATA_WITH_TIME << 53 | (number & 0xFFFF) << 32 | (HEADER_BYTES + size) << 16
                      | spec.dst_epid)
            yield struct.pack("<QQ", header, ticks + self._jump) + self._samples[position:position + size]
            number += 1
            ticks += size // SAMPLE_BYTES
            position = (position + size) % self._period

    def _run(self):
        # If the clock does not run, a start at a time is an immediate start.
        due = time.monotonic() + (self._waits if self._waits < 3 else 0)
        looks = due
        for number, packet in enumerate(self._packets(), 1):
            now = time.monotonic()
            time.sleep(max(0, due - now))
            due += self._bytes / SAMPLE_BYTES / self._spec.sample_rate
            if now > looks:
                looks = now + 0.1
                self._look_for_faults()
                if self._fault[0] in ("stall", "jump"):
                    os.unlink("fault")
                if self._fault[0] == "stall":
                    time.sleep(self._fault[1])
                    due = time.monotonic()
                if self._fault[0] == "jump":
                    self._jump += int(self._fault[1] * self._spec.sample_rate)
            if not self._wait_for_room(len(packet)):
                return
            for one in self._on_the_way(number, packet):
                self._send.send_data(one, self._spec.addr)

    def _on_the_way(self, number, packet):
        """The packets to send now for a packet."""
        kind, every, *more = (*self._fault, 1)
        hit = kind in ("drop", "swap", "double", "damage") and number % int(every) >= int(every) - int(more[0])
        held, self._held = self._held, []
        if hit and kind in ("drop", "damage"):
            with open("dropped", "ab") as file:
                file.write(b".")
        if hit and kind == "drop":
            return held
        if hit and kind == "swap":
            self._held = [packet]
            return held
        if hit and kind == "double":
            return [packet, packet, *held]
        if hit and kind == "damage":
            return [damaged(packet, number // int(every)), *held]
        return [packet, *held]

    def _wait_for_room(self, size):
        with self._room:
            while not self._stop and self._sent - self._read + size > self._spec.capacity_bytes:
                self._room.wait(0.5)
            self._sent += size
        return not self._stop

    def _look_for_faults(self):
        try:
            with open("fault", encoding="utf-8") as file:
                kind, *values = file.read().split()
            self._fault = (kind, *map(float, values))
        except FileNotFoundError:
            if self._fault[0]:
                self._fault = ("",)
                with open("behaves", "wb"):
                    pass


def install():
    node = stream_endpoint_node.StreamEndpointNode
    stream_endpoint_node.ChdrOutputStream = OutputStream
    begin_output = node.begin_output
    handle_strs = node._handle_strs_packet

    def begin(self, spec):
        """A stream that ended on its own still exists in 4.3, and keeps the host's capacity."""
        if self.output_stream is not None:
            self.output_stream.finish()
            self.output_stream = None
        if self.downstream_capacity is None:
            self.downstream_capacity = self.last_capacity
        self.last_capacity = self.downstream_capacity
        begin_output(self, spec)
        spec.is_timed = False  # of one command only, but 4.3 keeps it

    def handle(self, packet, **arguments):
        """The host's reports may still arrive after the stream was stopped; 4.3 throws then."""
        if self.output_stream is not None or packet.get_header().dst_epid in self.strs_handlers:
            handle_strs(self, packet, **arguments)

    def open_unbuffered(self, write_file):
        """A stream from the host gets no end signal, so buffered data would not reach the file."""
        sample_source.IOSink.__init__(self, open(write_file, "wb", buffering=0))

    sample_source.FileSink.__init__ = open_unbuffered
    node.begin_output = begin
    node._handle_strs_packet = handle
