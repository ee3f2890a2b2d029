# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Bit errors of telemetry packets that the real `iqd run` receives from a recording, and their rates."""

import math
import sys

import numpy as np

import iqd
import telemetry_model as model

TOGETHER = 16  # packets over which the frequency offset is averaged
PIPELINE = """
name: packet_errors
source: {{file: {{path: {recording}}}}}
backend: {backend}
block: {block}
stages:
  - preamble_search:
  - packet_estimator: {{average: {average}}}
  - equalizer: {equalizer}
  - soqpsk_detector:
publish:
  - {{port: soqpsk_detector.bits, topic: bits, bind: "{where}", hwm_bytes: 4 GiB}}
"""


def decode(x, equalizer, folder, backend="cpu", average="block"):
    """Starts and bits [packet][kind][6144], from iqd; `equalizer` is the keys of that stage."""
    where = iqd.endpoint()
    recording = iqd.write_recording(folder / "recording", x, rate=model.RATE).with_suffix("")
    text = PIPELINE.format(recording=recording, where=where, block=TOGETHER * model.SAMPLES, backend=backend,
                           average=average, equalizer=equalizer)
    reader = iqd.Reader(where, "bits")
    with iqd.Daemon(text, "--wait-subscribers", 1, folder=folder) as daemon:
        if daemon.wait(600) != 0:
            sys.exit(f"iqd exited too early:\n{daemon.text}")
    messages = reader.rest(2)
    reader.close()
    starts = [p["start"] for m in messages for p in m.packets]
    return np.array(starts, int), np.concatenate([m.x for m in messages] or [np.zeros((0, 1, model.PAYLOAD), np.uint8)])


def errors_of(starts, bits, sent):
    """Bit errors [found packet][kind]. Close rays and a large offset move the peak by a sample or two."""
    due = model.GUARD + np.arange(len(sent)) * model.SAMPLES
    nearest = np.clip(np.rint((starts - model.GUARD) / model.SAMPLES).astype(int), 0, len(sent) - 1)
    right = abs(starts - due[nearest]) <= 4
    return np.sum(bits[right] != sent[nearest[right], None], axis=2)


def rates(errors):
    """[(rate, half of the 95 % interval)] of each kind; errors come in bursts, so the statistics are over packets."""
    per_bit = errors / model.PAYLOAD
    bits = len(errors) * model.PAYLOAD
    half = 1.96 * per_bit.std(axis=0, ddof=1) / math.sqrt(len(errors))
    # Few errors say little about their spread: at least that of independent errors, and of one error.
    return [(float(r), float(max(h, 1.96 * math.sqrt(max(r, 1 / bits) / bits))))
            for r, h in zip(per_bit.mean(axis=0), half)]
