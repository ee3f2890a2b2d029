# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The daemon of a seed: a source, endpoints of several kinds, a recording; and what reloads change.

Everything is drawn from `chance`. A tracked topic has the source's unchanged samples, so that a reader knows from each
message's position what has to be in it.
"""

import dataclasses

import iqd

SOURCES = ("radio",) * 7 + ("feed",) * 2 + ("recording",)
STAGES = {
    "rotate": "rotate: {name: %s, frequency: 1 kHz}",
    "filter": "fir: {name: %s, taps: [0.1, 0.2, 0.4, 0.2, 0.1]}",
    "long_filter": "fir: {name: %s, design: {type: low_pass, cutoff: 20 kHz, transition: 4 kHz}, decimation: 4}",
    "spectrum": "spectrum: {name: %s, size: 256}",
    "power": "complex_to_mag_squared: {name: %s}",
}


@dataclasses.dataclass
class Plan:
    """What a reload may change."""

    block: int
    lanes: int
    stages: list = dataclasses.field(default_factory=list)  # of STAGES; each is published, too
    radio: dict = dataclasses.field(default_factory=dict)  # arguments of the simulated radio
    gain: int = 0
    dtype: str = ""  # of the topics that stages have
    recording: int = 0  # its number; 0: none


class World:
    def __init__(self, chance, folder):
        self.folder = folder
        self.source = chance.choice(SOURCES)
        self.rate = chance.choice((200_000, 500_000, 1_000_000, 1_000_000))
        self.tone = self.rate * 123_457 // 1_000_000
        self.element = "cf32" if self.source == "feed" else "sc16"
        self.waits = self.source != "radio" and chance.random() < 0.3
        self.through_a_stage = chance.random() < 0.4
        # What arrives right after a reload has to fit, also in messages smaller than those at the start.
        self.hwm = f"{chance.choice((16, 20))} MB"
        self.kinds = ["pub"] + [kind for kind in ("push", "curve", "ipc") if chance.random() < 0.4]
        self.has_relay = self.source == "radio" and chance.random() < 0.2
        self.readable = self.kinds + ["relay"] * self.has_relay
        self.where = {}
        self.sockets = self.kinds + ["feed"] * (self.source == "feed") + ["relay"] * self.has_relay
        radio = {"frequency": self.tone, "seed": chance.randrange(1000)}
        if chance.random() < 0.3:
            radio["short_reads"] = "true"
        if chance.random() < 0.3:
            radio["direct_buffers"] = chance.choice((2, 4, 16))
        if chance.random() < 0.3:
            radio["buffer"] = chance.choice((0.02, 0.05))
        self.plan = Plan(chance.choice((1000, 4096, 16384)), chance.randint(1, 3), radio=radio)
        if chance.random() < 0.4:
            self.plan.recording = 1
        self.trigger = ", trigger: {name: a, pre: 30 ms, post: 30 ms}" if chance.random() < 0.3 else ""
        if chance.random() < 0.3:
            self.plan.stages = [chance.choice(list(STAGES))]

    def open(self):
        """Takes free addresses, not from the seed, since others run at the same time."""
        self.where = {kind: f"ipc://{self.folder}/socket" if kind == "ipc" else iqd.endpoint() for kind in self.sockets}

    def summary(self):
        return (f"{self.source}, {self.rate} S/s, {', '.join(self.kinds)}"
                f"{', waits' if self.waits else ''}{', a relay' if self.has_relay else ''}: {self.plan}")

    @property
    def can_lose(self):
        """Whether messages that nobody takes are lost instead of making the source wait."""
        return not self.waits

    def recording(self, plan):
        return self.folder / "disk" / f"kept{plan.recording}"

    def text(self, plan):
        pipelines = [self._pipeline(plan)] + ([self._relay()] if self.has_relay else [])
        return ("monitor: {listen: \"127.0.0.1:0\"}\npipelines:\n" +
                "".join("  - " + p.replace("\n", "\n    ").rstrip() + "\n" for p in pipelines))

    def _source(self, plan):
        if self.source == "feed":
            return (f"zmq: {{kind: pull, bind: \"{self.where['feed']}\", topic: iq, rate: {self.rate}, element: cf32}}")
        if self.source == "recording":
            return f"file: {{path: \"{self.folder}/played\", repeat: true, pace: true}}"
        args = ",".join(f"{key}={value}" for key, value in {"driver": "iqdsim", **plan.radio}.items())
        return f"soapy: {{args: \"{args}\", rate: {self.rate}, gain: {plan.gain}}}"

    def _pipeline(self, plan):
        port = "keep.out" if self.through_a_stage else "source"
        lines = ["name: main", f"source: {{{self._source(plan)}}}", f"block: {plan.block}", f"lanes: {plan.lanes}",
                 "reconnect: {silence: 600 ms, first: 20 ms, longest: 200 ms}"]
        if self.source != "radio":
            lines.append(f"overrun: {'wait' if self.waits else 'drop'}")
        stages = (["multiply_const: {name: keep, value: 1}"] if self.through_a_stage else [])
        stages += [STAGES[kind] % f"s{i}" + "" for i, kind in enumerate(plan.stages)]
        if stages:
            lines.append("stages:")
            for stage in stages:
                name, keys = stage.split(": ", 1)
                start = "" if "name: keep" in stage else ", from: source"
                lines.append(f"  - {name}: {keys[:-1]}{start}}}")
        lines.append("publish:")
        for kind in self.kinds:
            lines.append(f"  - {{port: {port}, topic: t, {self._address(kind)}}}")
        dtype = f", dtype: {plan.dtype}" if plan.dtype else ""
        for i in range(len(plan.stages)):
            lines.append(f"  - {{port: s{i}.out, topic: s{i}{dtype}, {self._address('pub')}}}")
        if plan.recording:
            lines.append(f"sinks: [{{port: source, file: {{path: \"{self.recording(plan)}\", buffer: 4 MiB{self.trigger}}}}}]")
        return "\n".join(lines) + "\n"

    def _address(self, kind):
        keys = ""
        if kind == "push":
            keys = ", kind: push"
        if kind == "curve":
            keys = f", curve: {{secret: \"{self.folder}/lab.secret\", allow: \"{self.folder}/list\"}}"
        return f"bind: \"{self.where[kind]}\", hwm_bytes: {self.hwm}{keys}"

    def _relay(self):
        element = "cf32" if self.through_a_stage else self.element
        return (f"name: relay\nsource: {{zmq: {{connect: \"{self.where['pub']}\", topic: t, rate: {self.rate}, "
                f"element: {element}}}}}\nblock: 5000\noverrun: drop\n"
                f"publish:\n  - {{port: source, topic: t, bind: \"{self.where['relay']}\", hwm_bytes: {self.hwm}}}\n")
