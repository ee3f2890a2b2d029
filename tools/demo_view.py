# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the telemetry receiver and shows its rates, its bit errors and its constellation."""

import argparse
import json
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import zmq

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "support"))
from range_track_model import REFINED
from telemetry_model import KINDS, SAMPLES, SIMULATED

ENDPOINT = "tcp://127.0.0.1:5555"
ROWS, COLUMNS = 11, 40  # of the constellation
SHADES = " .:-=+*#%@"
FOUND = ("preamble_search", "found", None)


class Reader(threading.Thread):
    """Receives the bits of every packet, and now and then the soft values of a block."""

    def __init__(self):
        super().__init__(daemon=True)
        self.packets, self.missing, self.soft, self.kinds = 0, 0, None, ()
        self.socket = zmq.Context.instance().socket(zmq.SUB)
        self.socket.setsockopt_string(zmq.SUBSCRIBE, "bits ")
        self.socket.connect(ENDPOINT)
        self.look = zmq.Context.instance().socket(zmq.SUB)
        self.look.connect(ENDPOINT)

    def run(self):
        last = None
        while True:
            head, _ = self.socket.recv_multipart(copy=True)
            meta = json.loads(head.split(b" ", 1)[1])
            self.missing += 0 if last is None else meta["seq"] - last - 1
            self.packets, last = self.packets + meta["shape"][0], meta["seq"]

    def look_at_symbols(self):
        """Reads the soft values of one block, [packet][kind][bit]. Subscribes only while it waits."""
        self.look.setsockopt_string(zmq.SUBSCRIBE, "soft ")
        if self.look.poll(300):
            head, payload = self.look.recv_multipart()
            meta = json.loads(head.split(b" ", 1)[1])
            self.kinds, self.soft = meta["kinds"], np.frombuffer(payload, meta["dtype"]).reshape(meta["shape"])
        self.look.setsockopt_string(zmq.UNSUBSCRIBE, "soft ")
        while self.look.poll(0):
            self.look.recv_multipart()


def constellation(soft):
    """Lines of text: a density plot of the pairs of an even and an odd bit of the first kind."""
    pairs = np.zeros((0, 2)) if soft is None else soft[:, 0].reshape(-1, 2)
    density, _, _ = np.histogram2d(-pairs[:, 1], pairs[:, 0], (ROWS, COLUMNS), ((-2, 2), (-2, 2)))
    shade = np.ceil(np.sqrt(density / max(density.max(), 1)) * (len(SHADES) - 1)).astype(int)
    return ["".join(SHADES[s] for s in row) for row in shade]


def spread_db(soft):
    """The rms deviation of the soft values from their mean magnitude, in dB of that."""
    magnitude = np.abs(soft)
    return 20 * np.log10(magnitude.std() / magnitude.mean())


def counts(status):
    """The first pipeline's {(stage, event, kind or None): count}."""
    return {(e["stage"], e["event"], e.get("kind")): e["count"] for e in status["pipelines"][0]["events"]}


def error_rates(status, expected):
    """(kind, bits, errors, expected rate or None) of each kind; a meter with a name of its own adds that to the kind."""
    events = counts(status)
    rows = []
    for stage, event, kind in events:
        if event == "bits":
            name = kind if stage == "ber_meter" else f"{kind} {stage}"
            rows.append((name, events[stage, "bits", kind], events[stage, "bit_errors", kind], expected.get(name)))
    return rows


def table(status, reader, expected, scene):
    lines = [f"BER       {scene}"]
    for kind, bits, errors, wanted in error_rates(status, expected):
        rate = f"{errors / bits:9.2e}" if bits else "        -"
        known = f"expected {wanted:.2e}" if wanted else ""
        spread = ""
        if reader.soft is not None and kind in reader.kinds:
            spread = f"spread {spread_db(reader.soft[:, reader.kinds.index(kind)]):6.1f} dB"
        lines.append(f"  {kind:13}{rate} of {bits:,} bits   {known}   {spread}".rstrip())
    return lines


def show(status, before, reader, expected, scene, live, shown):
    now = status["pipelines"][0]
    seconds = status["uptime_s"] - (before["uptime_s"] if before else 0)
    received = now["received"] - (before["pipelines"][0]["received"] if before else 0)
    found, earlier = (counts(s).get(FOUND, 0) if s else 0 for s in (status, before))
    dropped = {k: v for k, v in now["dropped"].items() if v} or "none"
    latency = now["latency_us"]
    lines = [
        f"rate      {received / max(seconds, 1e-9) / 1e6:8.3f} MS/s   {now['state']}, on {now['backend']}",
        f"packets   {(found - earlier) / max(seconds, 1e-9):8.1f} a second   {found:,} found, {reader.packets:,} read",
        f"dropped   {dropped}   lost by the radio {now['lost']}, overflows {now['overflows']}",
        "latency   " + "   ".join(f"{p} {latency[p] / 1e3:.2f} ms" for p in ("p50", "p99", "max")) +
        f"   (of a block of {1e3 * now['block_s']:.2f} ms)",
        *table(status, reader, expected, scene),
        f"symbols   of {reader.kinds[0] if reader.kinds else 'none'}: even bits across, odd bits up",
        *(f"  |{row}|" for row in constellation(reader.soft)),
    ]
    if live and shown:
        sys.stdout.write(f"\x1b[{len(lines) + 1}F")
    end = "\x1b[K\n" if live else "\n"
    sys.stdout.write(end.join(lines) + end + end)
    sys.stdout.flush()


def verdict(status, reader, expected, code):
    """What went wrong, or None."""
    if code != 0:
        return f"iqd exited with {code}"
    if status is None or reader.packets == 0:
        return "no packets arrived"
    p = status["pipelines"][0]
    if any(p["dropped"].values()) or p["lost"] or reader.missing:
        return f"samples were dropped: {p['dropped']}, lost by the radio {p['lost']}, messages missing {reader.missing}"
    found, sent = counts(status).get(FOUND, 0), p["received"] // SAMPLES
    if found < 0.99 * sent - 2:
        return f"only {found} of {sent} packets were found"
    for kind, bits, errors, wanted in error_rates(status, expected):
        # A short run counts few errors, which come in bursts.
        if bits == 0 or errors > 2 * (wanted or 0.01) * bits + 100:
            return f"{kind} had {errors} errors in {bits} bits"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iqd", required=True)
    parser.add_argument("--pipeline", required=True)
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time; 0: at Ctrl-C")
    options = parser.parse_args()

    source = open(options.pipeline, encoding="utf-8").read()
    channel, eb_n0 = re.search(r"channel=(\w+)", source).group(1), float(re.search(r"ebn0=([\d.]+)", source).group(1))
    expected = dict(zip(KINDS, SIMULATED.get((channel, eb_n0), ())))
    expected["fde1 refined"] = REFINED.get((channel, eb_n0), (None, None))[1]
    reader = Reader()
    reader.start()

    command = [options.iqd, "run", options.pipeline, "--status", "json", "--wait-subscribers", "1"]
    if options.seconds:
        command += ["--seconds", str(options.seconds)]
    print(f"$ {' '.join(command)}")
    if page := re.search(r'^monitor:.*listen: "([^"]+)"', source, re.MULTILINE):
        print(f"Watch it in a browser: http://{page.group(1)}/")
    print()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, lambda *_: process.send_signal(signal.SIGTERM))
    live, status, before, shown = sys.stdout.isatty(), None, None, False
    for line in process.stdout:
        last, status = status, json.loads(line)
        if status["final"]:
            time.sleep(0.3)  # wait for the last messages
        else:
            before = last  # the final status comes right after another
            reader.look_at_symbols()
        show(status, before, reader, expected, f"{channel}, Eb/N0 {eb_n0:g} dB", live, shown)
        shown = True
    wrong = verdict(status, reader, expected, process.wait())
    right = "Right: packets arrived, the bit error rates are as expected, and nothing was dropped."
    print(f"NOT RIGHT: {wrong}" if wrong else right)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
