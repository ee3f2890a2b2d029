# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The simulator's sending side, in place of usrp_mpm.simulator.chdr_stream.ChdrOutputStream, and smaller mends.

That of UHD 4.3 sends as many bytes as it should send samples, gives only the first packet a time stamp, and dies when
100 flow control packets wait. This one also loses packets and stalls when the file `fault` says `drop N` or `stall S`,
adds a byte to the file `dropped` for each packet lost, and makes the file `behaves` when `fault` is gone.
"""

import os
import struct
import threading
import time

from usrp_mpm.simulator import sample_source, stream_endpoint_node

SAMPLE_BYTES = 4
HEADER_BYTES = 16
DATA_WITH_TIME = 7


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
        self._fault = ("", 0.0)
        threading.Thread(target=self._run, daemon=True).start()

    @staticmethod
    def now(rate):
        """Its clock, in ticks: the host's where the device has none."""
        return int(time.time() * rate)

    def queue_packet(self, packet):
        """Takes what the host says it has read."""
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
            yield struct.pack("<QQ", header, ticks) + self._samples[position:position + size]
            number += 1
            ticks += size // SAMPLE_BYTES
            position = (position + size) % self._period

    def _run(self):
        # Where the clock stands still, a start at a time of it is a start at once.
        due = time.monotonic() + (self._waits if self._waits < 3 else 0)
        looks = due
        for number, packet in enumerate(self._packets(), 1):
            now = time.monotonic()
            time.sleep(max(0, due - now))
            due += self._bytes / SAMPLE_BYTES / self._spec.sample_rate
            if now > looks:
                looks = now + 0.1
                self._look_for_faults()
                if self._fault[0] == "stall":
                    os.unlink("fault")
                    time.sleep(self._fault[1])
                    due = time.monotonic()
            if not self._wait_for_room(len(packet)):
                return
            if self._fault[0] == "drop" and number % int(self._fault[1]) == 0:
                with open("dropped", "ab") as file:
                    file.write(b".")
            else:
                self._send.send_data(packet, self._spec.addr)

    def _wait_for_room(self, size):
        with self._room:
            while not self._stop and self._sent - self._read + size > self._spec.capacity_bytes:
                self._room.wait(0.5)
            self._sent += size
        return not self._stop

    def _look_for_faults(self):
        try:
            with open("fault", encoding="utf-8") as file:
                kind, value = file.read().split()
            self._fault = (kind, float(value))
        except FileNotFoundError:
            if self._fault[0]:
                self._fault = ("", 0.0)
                with open("behaves", "wb"):
                    pass


def install():
    node = stream_endpoint_node.StreamEndpointNode
    stream_endpoint_node.ChdrOutputStream = OutputStream
    begin_output = node.begin_output
    handle_strs = node._handle_strs_packet

    def begin(self, spec):
        """A stream that ended by itself is still there in 4.3, and took the host's capacity with it."""
        if self.output_stream is not None:
            self.output_stream.finish()
            self.output_stream = None
        if self.downstream_capacity is None:
            self.downstream_capacity = self.last_capacity
        self.last_capacity = self.downstream_capacity
        begin_output(self, spec)
        spec.is_timed = False  # of one command only, but 4.3 keeps it

    def handle(self, packet, **arguments):
        """What the host has read may still arrive after the stream was stopped; 4.3 throws then."""
        if self.output_stream is not None or packet.get_header().dst_epid in self.strs_handlers:
            handle_strs(self, packet, **arguments)

    def open_unbuffered(self, write_file):
        """A stream from the host is never told to be over, so what is in a buffer would not reach the file."""
        sample_source.IOSink.__init__(self, open(write_file, "wb", buffering=0))

    sample_source.FileSink.__init__ = open_unbuffered
    node.begin_output = begin
    node._handle_strs_packet = handle
