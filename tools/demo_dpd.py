# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a transmitter that learns to predistort, and shows how the power in the adjacent channels falls after the first
training."""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading

import numpy as np
import zmq

ENDPOINT = "tcp://127.0.0.1:5555"
TOPICS = "levels", "spectrum", "report"
SLOWER = 10  # than the pipeline, so that two CPU cores keep up
ROWS, COLUMNS, STEP_DB = 15, 72, 5  # of the spectrum
SIDES = "adjacent_low", "adjacent_high"
FALL_DB = 10


def slower(text):
    """The pipeline with all rates and bands divided."""
    return re.sub(r"([\d.]+) M(S/s|Hz)", lambda m: f"{float(m[1]) * 1e6 / SLOWER:g} {m[2]}", text)


class Reader(threading.Thread):
    """Receives the measurements of each capture. `first` is the first capture used for training, `now` the latest."""

    def __init__(self):
        super().__init__(daemon=True)
        self.first = self.now = None
        self.socket = zmq.Context.instance().socket(zmq.SUB)
        for topic in TOPICS:
            self.socket.setsockopt_string(zmq.SUBSCRIBE, f"{topic} ")
        self.socket.connect(ENDPOINT)

    def run(self):
        captures = {}
        while True:
            head, payload = self.socket.recv_multipart()
            topic, meta = head.decode().split(" ", 1)
            meta = json.loads(meta)
            capture = captures.setdefault(meta["sample"], {})
            capture[topic] = np.frombuffer(payload, meta["dtype"])
            if topic == "levels":
                capture["levels"] = dict(zip(meta["levels"], capture["levels"].tolist()))
            if len(capture) == len(TOPICS):
                captures = {}
                self.take(capture)

    def take(self, capture):
        if self.first is None and capture["report"][0] == 0:  # trained
            self.first = capture
        self.now = capture


def heights(spectrum):
    """For each column, how many rows it lies below the highest one."""
    columns = np.array([part.mean() for part in np.array_split(spectrum, COLUMNS)])
    return (columns.max() - columns) / STEP_DB


def picture(first, now):
    """Lines of text: `#` is the spectrum now, `.` what it has lost since the first training."""
    before, after = (heights(capture["spectrum"]) for capture in (first, now))
    return ["".join("#" if a < row + 1 else "." if b < row + 1 else " " for b, a in zip(before, after))
            for row in range(ROWS)]


def counts(status):
    """The estimator's {event: count}, and how often coefficients were set."""
    learn = status["pipelines"][2]
    events = {e["event"]: e["count"] for e in learn["events"] if e["stage"] == "aph_estimator"}
    return events, sum(port["messages"] for port in learn["ports"] if port["to"].startswith("apply "))


def worst(capture):
    """The higher power of the two adjacent channels, in dBc."""
    return max(capture["levels"][side] for side in SIDES)


def lines_of(status, reader):
    send = status["pipelines"][0]
    radio = send["ports"][0]
    events, applied = counts(status)
    refused = {k: v for k, v in events.items() if v and k not in ("trained", "good_enough")} or "none"
    peak = next((level["value"] for level in send["levels"]), None)
    lines = [f"sent      {send['published'] / 1e6:8.1f} MS at {send['sample_rate'] / 1e6:g} MS/s   underflows "
             f"{radio['underflows']}, late {radio['late']}" + (f"   peak {peak:.2f}" if peak is not None else ""),
             f"learned   {events['trained']} times, good enough {events['good_enough']} times, refused {refused}; "
             f"coefficients set {applied} times"]
    if reader.first and reader.now:
        lines.append("ACLR      " + ", ".join(
            f"{side.split('_')[1]} {reader.first['levels'][side]:.1f} -> {reader.now['levels'][side]:.1f} dBc"
            for side in SIDES))
        lines.append(f"spectrum  # now, . before the first training; a row is {STEP_DB} dB")
        lines += [f"  |{row}|" for row in picture(reader.first, reader.now)]
    return lines


def show(lines, live, above):
    """`above`: how many lines on the screen to overwrite."""
    if live and above:
        sys.stdout.write(f"\x1b[{above}F\x1b[J")
    sys.stdout.write("\n".join(lines) + "\n\n")
    sys.stdout.flush()


def verdict(status, reader, code):
    """What went wrong, or None."""
    if code != 0:
        return f"iqd exited with {code}"
    if status is None or reader.now is None:
        return "no messages arrived"
    events, applied = counts(status)
    if reader.first is None or applied == 0:
        return f"the predistorter was not trained: {events}"
    fall = worst(reader.first) - worst(reader.now)
    if not fall >= FALL_DB:
        return f"the adjacent channels fell by {fall:.1f} dB, less than {FALL_DB}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iqd", required=True)
    parser.add_argument("--pipeline", required=True)
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time; 0: at Ctrl-C")
    options = parser.parse_args()
    reader = Reader()
    reader.start()
    with tempfile.TemporaryDirectory(prefix="iqd-demo-") as folder:
        path = pathlib.Path(folder) / "dpd.yaml"
        path.write_text(slower(pathlib.Path(options.pipeline).read_text(encoding="utf-8")), encoding="utf-8")
        command = [options.iqd, "run", str(path), "--status", "json"]
        if options.seconds:
            command += ["--seconds", str(options.seconds)]
        print(f"{options.pipeline}, at a {SLOWER}th of its rate:\n$ {' '.join(command)}\n")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        signal.signal(signal.SIGINT, lambda *_: process.send_signal(signal.SIGTERM))
        live, status, shown = sys.stdout.isatty(), None, 0
        for line in process.stdout:
            status = json.loads(line)
            lines = lines_of(status, reader)
            show(lines, live, shown)
            shown = len(lines) + 1
        wrong = verdict(status, reader, process.wait())
    right = "Right: the predistorter learned the transmitter's distortion, and the adjacent channels fell."
    print(f"NOT RIGHT: {wrong}" if wrong else right)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
