# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Runs iqd on the demo pipeline and shows what it does: a table of its counters, and the text that it reads."""

import argparse
import json
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import zmq

ENDPOINT = "tcp://127.0.0.1:5555"
WIDTH = 64  # characters of the text on the screen
BARS = " .:-=+*#%@"


class Reader(threading.Thread):
    """Receives the strongest line of each block, and makes a character of it."""

    def __init__(self, text, symbol, step_hz):
        super().__init__(daemon=True)
        self.text, self.symbol, self.step_hz = text, symbol, step_hz
        self.read, self.right, self.wrong, self.gaps = "", 0, 0, 0
        self.peak_db, self.spectrum, self.samples_seen, self.pending = 0.0, None, 0, None
        self.context = zmq.Context()
        self.socket = self.context.socket(zmq.SUB)
        for topic in ("peak ", "spectrum ", "samples "):
            self.socket.setsockopt_string(zmq.SUBSCRIBE, topic)
        self.socket.connect(ENDPOINT)

    def run(self):
        last = None
        while True:
            head, payload = self.socket.recv_multipart()
            topic, header = head.split(b" ", 1)
            meta = json.loads(header)
            values = np.frombuffer(payload, meta["dtype"]).reshape(meta["shape"])
            if topic == b"peak":
                self.gaps += last is not None and meta["seq"] != last + 1
                last = meta["seq"]
                self.take_peak(meta, values)
            elif topic == b"spectrum":
                self.spectrum = values
            else:
                self.samples_seen += len(values)

    def take_peak(self, meta, values):
        if len(values) == 0 or self.spectrum is None:
            return
        bins = len(self.spectrum)
        bin_hz = meta["sample_rate"] / 4 / bins
        code = 64 + round((values[0, 0] - bins // 2) * bin_hz / self.step_hz)
        character = chr(code) if 32 <= code < 127 else "?"
        self.peak_db = float(values[0, 1]) - float(np.median(self.spectrum))
        # The last block of a run is short, and too noisy to read: a character counts when the next has come.
        if self.pending is not None:
            character_before, expected = self.pending
            self.read += character_before
            self.right += character_before == expected
            self.wrong += character_before != expected
        self.pending = character, self.text[meta["sample"] // self.symbol % len(self.text)]


def picture(spectrum, columns=WIDTH):
    """The spectrum as a line of characters: brighter is stronger."""
    if spectrum is None:
        return ""
    best = spectrum[: len(spectrum) // columns * columns].reshape(columns, -1).max(axis=1)
    low, high = np.median(best), best.max()
    level = np.clip((best - low) / max(high - low, 1e-3), 0, 1) * (len(BARS) - 1)
    return "".join(BARS[int(v)] for v in level)


def show(status, before, reader, live, shown):
    now = status["pipelines"][0]
    then = before["pipelines"][0] if before else {"received": 0}
    seconds = status["uptime_s"] - (before["uptime_s"] if before else 0)
    dropped = {k: v for k, v in now["dropped"].items() if v} or "none"
    latency = now["latency_us"]
    lines = [
        f"rate      {(now['received'] - then['received']) / max(seconds, 1e-9) / 1e6:8.3f} MS/s   {now['state']}, on {now['backend']}",
        f"blocks    {now['blocks']:8d}        published {now['published']:,} of {now['received']:,} samples, {now['in_flight']:,} in flight",
        f"dropped   {dropped}   lost by the radio {now['lost']}, overflows {now['overflows']}",
        f"latency   p50 {latency['p50'] / 1e3:.2f} ms   p99 {latency['p99'] / 1e3:.2f} ms   max {latency['max'] / 1e3:.2f} ms   (of a block of 52 ms)",
        f"spectrum  |{picture(reader.spectrum)}|",
        f"line      {reader.peak_db:5.1f} dB above the noise floor, after averaging",
        f"read      {reader.read[-WIDTH:]}",
        f"right     {reader.right} characters, wrong {reader.wrong}",
    ]
    if live and shown:
        sys.stdout.write(f"\x1b[{len(lines) + 1}F")
    end = "\x1b[K\n" if live else "\n"
    sys.stdout.write(end.join(lines) + end + end)
    sys.stdout.flush()


def verdict(status, reader, code):
    """What is not as it should be."""
    if code != 0:
        return f"iqd ended with {code}"
    if status is None or reader.right == 0 or reader.samples_seen == 0:
        return "no samples came through"
    p = status["pipelines"][0]
    if reader.wrong:
        return f"{reader.wrong} characters were wrong"
    if any(p["dropped"].values()) or p["lost"] or reader.gaps:
        return f"samples were dropped: {p['dropped']}, lost by the radio {p['lost']}, messages missing {reader.gaps}"
    if p["received"] != p["published"]:
        return f"received {p['received']} samples, published {p['published']}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iqd", required=True)
    parser.add_argument("--pipeline", required=True)
    parser.add_argument("--seconds", type=float, default=0, help="end after so long; 0: at Ctrl-C")
    options = parser.parse_args()

    source = open(options.pipeline, encoding="utf-8").read()
    text = re.search(r"text=([^\"]*)\"", source).group(1)
    symbol = int(re.search(r"symbol=(\d+)", source).group(1))
    rate = float(re.search(r"rate: ([\d.]+) MS/s", source).group(1)) * 1e6
    reader = Reader(text, symbol, rate / 1024)
    reader.start()

    command = [options.iqd, "run", options.pipeline, "--status", "json", "--wait-subscribers", "3"]
    if options.seconds:
        command += ["--seconds", str(options.seconds)]
    print(f"$ {' '.join(command)}\n")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, lambda *_: process.send_signal(signal.SIGTERM))
    live, status, before, shown = sys.stdout.isatty(), None, None, False
    for line in process.stdout:
        before, status = status, json.loads(line)
        if status["final"]:
            time.sleep(0.3)  # the last messages are on their way
        show(status, before, reader, live, shown)
        shown = True
    wrong = verdict(status, reader, process.wait())
    print(f"NOT RIGHT: {wrong}" if wrong else "Right: every character was read, nothing was dropped.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
