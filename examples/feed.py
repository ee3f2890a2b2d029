#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Sends samples made in Python to iqd: a tone of 50 kHz at 1 MS/s. The pipeline's source is

    source: {zmq: {kind: pull, bind: "tcp://127.0.0.1:5557", rate: 1 MS/s, element: cf32}}

Needs python3-zmq and python3-numpy.
"""

import argparse
import json
import time

import numpy as np
import zmq

RATE, TONE, BLOCK = 1e6, 50e3, 10000


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("endpoint", nargs="?", default="tcp://127.0.0.1:5557")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this much signal")
    arguments = parser.parse_args()
    socket = zmq.Context.instance().socket(zmq.PUSH)
    socket.setsockopt(zmq.SNDHWM, 64)
    socket.connect(arguments.endpoint)
    began = time.time()
    sample = 0
    while sample < arguments.seconds * RATE:
        n = sample + np.arange(BLOCK)
        x = (0.1 * np.exp(2j * np.pi * TONE / RATE * n)).astype(np.complex64)
        # iqd detects missing samples by `sample`; `time_ns` is the time of the first sample.
        head = {"v": 1, "sample": sample, "time_ns": int((began + sample / RATE) * 1e9), "sample_rate": RATE,
                "dtype": x.dtype.str, "shape": x.shape, "dims": ["n"]}
        socket.send_multipart([b"iq " + json.dumps(head).encode(), x])
        sample += BLOCK
        time.sleep(max(0, began + sample / RATE - time.time()))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
