#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Keeps a receiver at a level by its gain: reads samples from iqd, and sets the radio.

    examples/level.py tcp://127.0.0.1:5555 iq --monitor 127.0.0.1:9464 --level -12

The topic is one of samples, such as that of the port `source`. Needs python3-iqd.
"""

import argparse

import numpy as np

import iqd

STEP_DB = 3.0  # of the gain, and how far the level may be off


def peak_dbfs(x):
    """The largest real or imaginary part of a block, in dB of full scale."""
    return 20 * np.log10(np.abs(x.view(np.float32)).max() + 1e-10)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("endpoint")
    parser.add_argument("topic")
    parser.add_argument("--monitor", metavar="HOST:PORT", help="of the same iqd")
    parser.add_argument("--token", metavar="FILE", help="if its monitor requires one for changes")
    parser.add_argument("--level", type=float, default=-12.0, help="peak of a block, in dBFS (-12)")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after this much signal")
    arguments = parser.parse_args()
    source = iqd.connect(arguments.monitor, arguments.token).source
    low, high = source.facts["gain"]["range"]
    tuned = begin = None
    for m in iqd.subscribe(arguments.endpoint, arguments.topic):
        begin = m.time if begin is None else begin
        if m.time - begin > arguments.seconds:
            break
        # After a change, a message says from which sample on it holds.
        tuned = m.header.get("tuned", tuned)
        excess = peak_dbfs(m.samples) - arguments.level
        if abs(excess) <= STEP_DB or (tuned is not None and m.sample < tuned):
            continue
        gain = float(np.clip(source["gain"] - np.sign(excess) * STEP_DB, low, high))
        if gain != source["gain"]:
            source["gain"] = gain
            print(f"{excess:+.1f} dB off: gain {source['gain']:g} dB", flush=True)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
