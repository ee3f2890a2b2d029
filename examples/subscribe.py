#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Reads what iqd publishes (docs/wire.md) and prints rate, power and losses every second.

    examples/subscribe.py tcp://127.0.0.1:5555 iq
    examples/subscribe.py tcp://lab:5555 iq --server lab.pub --key me.secret

Needs python3-zmq and python3-numpy.
"""

import argparse
import json
import pathlib
import time

import numpy as np
import zmq


def key_from(path):
    """Returns the key in a file of `iqd keygen`: its first word of 40 characters."""
    return next(word for word in pathlib.Path(path).read_bytes().split() if len(word) == 40)


def subscribe(endpoint, topic, server=None, key=None):
    socket = zmq.Context.instance().socket(zmq.SUB)
    if server:
        socket.curve_serverkey = key_from(server)
        secret = key_from(key)
        socket.curve_publickey, socket.curve_secretkey = zmq.curve_public(secret), secret
    socket.subscribe(f"{topic} ")  # without the space, "iq" would match "iq2"
    socket.connect(endpoint)
    return socket


def receive(socket):
    """Returns one message: its header and the array."""
    head, payload = socket.recv_multipart()
    meta = json.loads(head.split(b" ", 1)[1])
    return meta, np.frombuffer(payload, meta["dtype"]).reshape(meta["shape"])


def power_db(meta, x):
    """Mean power in dBFS."""
    if meta["datatype"] == "ci16_le":
        x = x.astype(np.float32).view(np.complex64) / 32768
    return 10 * np.log10(np.mean(np.abs(x) ** 2, dtype=np.float64) + 1e-20)


class Tally:
    """Counts items. `gap` counts samples lost by iqd or its radio; a jump of `seq`, messages lost on the way."""

    def __init__(self):
        self.items = self.lost = self.missed = 0
        self.seq = None

    def add(self, meta, x):
        if self.seq is not None and meta["seq"] > self.seq + 1:  # if it goes back, iqd was restarted
            self.missed += meta["seq"] - self.seq - 1
        self.seq = meta["seq"]
        self.items += x.shape[meta["dims"].index("n")] if "n" in meta["dims"] else 1
        self.lost += meta["gap"]

    def __str__(self):
        return f"{self.items} items, {self.lost} samples lost by iqd, {self.missed} messages lost on the way"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("endpoint")
    parser.add_argument("topic")
    parser.add_argument("--items", type=int, help="stop after this many items")
    parser.add_argument("--server", metavar="FILE", help="the public key of that iqd, if it requires keys")
    parser.add_argument("--key", metavar="FILE", help="your secret key; that iqd has to allow its public half")
    arguments = parser.parse_args()
    if bool(arguments.server) != bool(arguments.key):
        parser.error("--server and --key go together")
    socket = subscribe(arguments.endpoint, arguments.topic, arguments.server, arguments.key)
    tally = Tally()
    printed, before = time.monotonic(), 0
    while arguments.items is None or tally.items < arguments.items:
        meta, x = receive(socket)
        tally.add(meta, x)
        if (passed := time.monotonic() - printed) >= 1:
            rate = (tally.items - before) / passed
            print(f"{meta['port']}: {rate / 1e6:.3f} M items/s, {power_db(meta, x):.1f} dB; {tally}", flush=True)
            printed, before = printed + passed, tally.items
    print(tally)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
