# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Checks after the daemon has exited: its last status, what readers received, what is on the disk."""

import numpy as np

import iqd
from invariants import COHERENT

LEAST_JUMP = 0.05  # seconds, docs/radios.md
DEADLY = ("Assertion", "terminate called", "Sanitizer", "runtime error", "Segmentation", "what():")


def look_back(trial, code):
    """`code`: the exit code; None if it did not exit."""
    for words in DEADLY:
        if words in trial.daemon.text:
            trial.report("its log is clean", trial.daemon.text[max(0, trial.daemon.text.index(words) - 500):])
    if code == 0 and trial.ending != "SIGKILL":
        look_at_final(trial)
        for left in [*trial.folder.rglob("*.part"), *trial.folder.glob("socket")]:
            trial.report("nothing is left behind", left.name)
    if is_phase_known(trial):
        look_at_turns(trial)
    for meta in (trial.folder / "disk").glob("*.sigmf-meta"):
        look_at_recording(trial, meta)


def look_at_final(trial):
    if not trial.daemon.statuses or not trial.daemon.statuses[-1]["final"]:
        trial.report("there is a last status", trial.daemon.text[-500:])
        return
    status = trial.daemon.statuses[-1]
    trial.observer.sums.look(status)
    for pipeline in status["pipelines"]:
        if pipeline["in_flight"] != 0:
            trial.report("nothing is in flight at the end", pipeline)
    main = trial.observer.sums.last("main")
    for stream in trial.streams():
        if stream.name in ("pub", "ipc", "curve"):
            look_at_total(trial, stream, main)


def look_at_total(trial, stream, main):
    """A reader that was connected all the time has every sample that counts as published."""
    if trial.arena.restarts or stream.missed or stream.first is None or stream.first["seq"] != 0:
        return
    if not main["published"] <= stream.samples <= main["published"] + main["dropped"]["refused"]:
        trial.report("what is published arrives", f"{stream.name}: {stream.samples} samples arrived: "
                     f"{trial.observer.sums.said('main')}")
    missing = main["lost"] + sum(main["dropped"].values())
    if stream.last["dropped"] > missing:
        trial.report("headers and status agree", f"{stream.name}: {stream.last} reports more than {missing}")


def is_phase_known(trial):
    """If a clock jumped and samples were lost as well, the two cannot be distinguished."""
    sums = trial.observer.sums
    return not sums.total("time_jumps") or not (sums.total("lost") or "lose" in trial.world.plan.radio)


def look_at_turns(trial):
    """A tone may have another phase after a radio was opened again, and after a clock was set forward by so little that
    it looks like a loss."""
    for stream in trial.streams():
        for invariant, detail in stream.out_of_place[:3]:
            trial.report(invariant, detail)
    reconnects = max(trial.observer.sums.total("reconnects"), trial.daemon.text.count(": open again"))
    if trial.ending == "SIGKILL":
        return  # the number is unknown
    most = trial.arena.turns + trial.arena.restarts + reconnects
    most += 0 < trial.world.plan.radio.get("jump_by", 0) < LEAST_JUMP
    for stream in trial.streams():
        if stream.turns > most:
            trial.report("the tone is in its place after gaps", f"{stream.name}: {stream.turns} turns, at most {most} expected: {stream.turned[:10]}")


def look_at_recording(trial, meta):
    try:
        facts, x = iqd.read_recording(meta)
    except Exception as error:
        trial.report("recordings are valid", f"{meta.name}: {error!r}")
        return
    starts = [c["core:sample_start"] for c in facts["captures"]] + [len(x)]
    x = iqd.to_complex(x)
    if not is_phase_known(trial):
        return
    for capture, start, end in zip(facts["captures"], starts, starts[1:]):
        look_at_capture(trial, f"{meta.name}: {capture}", x[start:end])


def look_at_capture(trial, name, x):
    """One tone without a break, whatever its phase."""
    cycles = (np.arange(len(x)) * trial.world.tone % trial.world.rate) / trial.world.rate
    along = np.vdot(np.exp(2j * np.pi * cycles), x)
    if abs(along) ** 2 < COHERENT * len(x) * np.vdot(x, x).real:
        trial.report("recordings contain what was received", f"{name}: {len(x)} samples")
