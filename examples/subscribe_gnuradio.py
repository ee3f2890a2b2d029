#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A GNU Radio flowgraph that reads a stream from iqd, and detects missing samples by its tags.

    publish:
      - {port: source, topic: iq, bind: "tcp://127.0.0.1:5555", dtype: cf32, framing: gnuradio-tags}

    examples/subscribe_gnuradio.py tcp://127.0.0.1:5555 iq
    examples/subscribe_gnuradio.py tcp://127.0.0.1:5556 --pull        # for an entry with `kind: push`
    examples/subscribe_gnuradio.py tcp://127.0.0.1:5555 iq --no-tags  # for an entry with the default framing

Needs gnuradio. Its ZeroMQ blocks do not support keys: across a network, let an iqd on this machine read and republish.
"""

import argparse
import signal
import threading
import time

import numpy as np
import pmt
from gnuradio import gr, zeromq


class Check(gr.sync_block):
    """Counts items. Each rx_time tag shows how many samples are missing since the previous one."""

    def __init__(self, most=None):
        gr.sync_block.__init__(self, name="check", in_sig=[np.complex64], out_sig=None)
        self.items = self.lost = 0
        self.power = 0.0
        self.rate = self.frequency = self.last = None
        self.most = most
        self.done = threading.Event()

    def work(self, input_items, output_items):
        x = input_items[0]
        tags = {}
        for tag in self.get_tags_in_window(0, 0, len(x)):
            tags.setdefault(tag.offset, {})[pmt.symbol_to_string(tag.key)] = pmt.to_python(tag.value)
        for offset, facts in sorted(tags.items()):
            self.follow(offset, facts)
        self.items += len(x)
        self.power = float(np.mean(np.abs(x) ** 2))
        if self.most and self.items >= self.most:
            self.done.set()
        return len(x)

    def follow(self, offset, facts):
        self.rate = facts.get("rx_rate", self.rate)
        self.frequency = facts.get("rx_freq", self.frequency)
        if "rx_time" not in facts:
            return
        seconds, fraction = facts["rx_time"]
        if self.last:
            place, s, f = self.last
            passed = (seconds - s) + (fraction - f)
            self.lost += max(0, round(passed * self.rate) - (offset - place))
        self.last = (offset, seconds, fraction)

    def __str__(self):
        known = f" at {self.rate / 1e6:g} MS/s, {self.frequency / 1e6:g} MHz" if self.last else ""
        return f"{self.items} items{known}, {self.lost} samples lost"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("endpoint")
    parser.add_argument("topic", nargs="?", default="")
    parser.add_argument("--pull", action="store_true", help="pull from a queue instead of subscribing")
    parser.add_argument("--no-tags", action="store_true", help="the entry's framing is not gnuradio-tags")
    parser.add_argument("--items", type=int, help="stop after this many items")
    arguments = parser.parse_args()
    tags = not arguments.no_tags
    if arguments.pull:
        source = zeromq.pull_source(gr.sizeof_gr_complex, 1, arguments.endpoint, 100, tags)
    else:
        source = zeromq.sub_source(gr.sizeof_gr_complex, 1, arguments.endpoint, 100, tags, -1, arguments.topic + " ")
    check = Check(arguments.items)
    flowgraph = gr.top_block()
    flowgraph.connect(source, check)
    signal.signal(signal.SIGINT, lambda *_: check.done.set())
    flowgraph.start()
    before, printed = 0, time.monotonic()
    while not check.done.wait(1):
        items, now = check.items, time.monotonic()
        print(f"{(items - before) / (now - printed) / 1e6:.3f} M items/s, {10 * np.log10(check.power + 1e-20):.1f} dB; "
              f"{check}", flush=True)
        before, printed = items, now
    flowgraph.stop()
    flowgraph.wait()
    print(check)


if __name__ == "__main__":
    main()
