#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Words that MIMO receivers lose in air that moves, beside interferers and tones, and with a clock that is not the
receiver's.

Frames are made and disturbed as samples, in double precision. iqd estimates, detects and decodes: `hold` is
mimo_channel_estimator with its defaults, `frame` with `track: frame`, `groups` with `whiten: groups` as well. Figures
`second` and `third` go through the chain again: the estimator gets the decoder's `posterior` as `soft` and, but for the
tables `known` and `interferers`, the detector its `extrinsic` as `prior`. With --model, estimators in double precision
take the place of the stage, and there is one pass.
Prints Markdown. In brackets: as simulated in double precision, with other draws."""

import dataclasses

import numpy as np

import drawn
import air_model as air
import ldpc_model as code
import ofdm_model as sender
import ofdm_receive_model as standing
import ofdm_track_model as track
from exec_arrays import execute

CODE = "80216e_2304_1_2"
BAND = {sender.FIVE.fft: 7.68e6, sender.TWENTY.fft: 30.72e6}  # samples a second
PASSES = ("", ", second", ", third")


@dataclasses.dataclass(frozen=True)
class Scene:
    """What one row of a table is measured in."""
    tx: int
    rx: int
    snr: float                       # dB, of a receive antenna
    doppler: float                   # Hz
    interferer: float | None = None  # dB above the signal
    moves: float = 0                 # Hz, of the interferer
    tone: float | None = None        # dB above a carrier
    modulation: str = "16qam"
    band: sender.Format = sender.FIVE
    ppm: float = 0
    profile: str = "EVA"
    midambles: int = 0
    tail: bool = False

    def __str__(self):
        more = [f"interferer {self.interferer:g} dB"] if self.interferer is not None else []
        more += [f"that moves by {self.moves:g} Hz"] if self.moves else []
        more += [f"tone {self.tone:g} dB"] if self.tone is not None else []
        more += ["20 MHz"] if self.band == sender.TWENTY else []
        more += [f"{self.ppm:g} ppm"] if self.ppm else []
        more += [self.profile.lower()] if self.profile != "EVA" else []
        return ", ".join([f"{self.tx}x{self.rx}", self.modulation, f"{self.snr:g} dB", f"{self.doppler:g} Hz", *more])

    @property
    def format(self):
        return dataclasses.replace(self.band, tx=self.tx, midambles=self.midambles)


@dataclasses.dataclass(frozen=True)
class Receiver:
    keys: tuple[str, ...] = ()   # of mimo_channel_estimator
    detector: str = "mtt"
    passes: int = 1
    prior: bool = True           # of the second pass's detector
    known: tuple = ()            # what it has the scene's frames have: (name, value)
    clock: tuple[str, ...] | None = None  # keys of ofdm_clock, if it is there


def tracking(*keys, **more):
    return Receiver(("track=frame", *keys), **more)


GROUPS = "whiten=groups"
HOLD, LMMSE = Receiver(), Receiver(detector="lmmse")


def rows(scenes, *columns):
    """(scene, what each column's simulation says; None: nothing)"""
    return list(zip(scenes, zip(*columns))) if columns else [(scene, ()) for scene in scenes]


def at(dopplers, *scene, **more):
    return [Scene(*scene, doppler, **more) for doppler in dopplers]


STILL_TO_FAST = (0, 30, 100, 300)
# Receivers by name, and rows: a scene, and the simulation's figures in the order of the columns printed.
TABLES = {
    "moving": (
        {"hold": HOLD, "frame": tracking(), "groups": tracking(GROUPS, passes=3)},
        [*rows(at(STILL_TO_FAST, 2, 2, 16), (0, 0, .19, 1), (0,) * 4, (0,) * 4, (0,) * 4, (0,) * 4),
         *rows(at(STILL_TO_FAST, 4, 4, 16), (0, 0, .40, 1), (0, 0, 0, .014), (0, 0, 0, .014), (0,) * 4, (0,) * 4)]),
    "known": (
        {"hold": HOLD, **{name: tracking(passes=2, prior=False, known=known) for name, known in
                          {"pilots": (), "+ tail": (("tail", True),), "midamble 1": (("midambles", 1),),
                           "midambles 2": (("midambles", 2),)}.items()}},
        [(Scene(2, 2, 12, 0), (.17, .21, .16, .18, .15, .36, .30)),
         (Scene(2, 2, 12, 300), (1, .39, .28, .31, .24, .20, .16)),
         (Scene(2, 2, 13, 0), ()),
         (Scene(2, 2, 13, 300), (1, .25, .02, .07, .01, .13, .11)),
         (Scene(2, 2, 14, 0), ()),
         (Scene(2, 2, 14, 300), (1, .05, 0, 0, 0, 0, 0)),
         (Scene(4, 4, 13, 0), (0, .08, 0, 0, 0, .36, .31)),
         (Scene(4, 4, 13, 300), (1, .93, .22, .31, .07, .33, .27)),
         (Scene(4, 4, 14, 0), ()),
         (Scene(4, 4, 14, 300), (1, .42, 0, .04, .01, .22, .09)),
         (Scene(4, 4, 16, 0), ()),
         (Scene(4, 4, 16, 300), (1, .01, 0, 0, 0, 0, 0))]),
    "priors": (
        {"frame": tracking(passes=3), "+ tail": tracking(passes=3, known=(("tail", True),))},
        [(Scene(2, 2, 12, 300), (.36, .03, 0)), (Scene(4, 4, 12.5, 300), (1, .28, 0, .76, 0, 0))]),
    "fast": (
        {"frame": tracking(), "1100 Hz": tracking("doppler=1100", "time_functions=6")},
        [*rows(at((600,), 2, 2, 22), (0,), (None,)), *rows(at((800, 1000), 2, 2, 22), (None, None), (0, 0)),
         *rows(at((600,), 4, 4, 22), (0,), (None,))]),
    "slow": (
        {"hold": HOLD, "700 Hz": tracking(), "100 Hz": tracking("doppler=100", "time_functions=3"),
         "300 Hz": tracking("doppler=300", "time_functions=4")},
        rows(at(STILL_TO_FAST, 4, 4, 13))),
    "short": (
        {"hold": HOLD, "frame": tracking()},
        rows(at(STILL_TO_FAST, 2, 2, 25, profile="EXPONENTIAL"), (0, 0, .24, 1), (0,) * 4)),
    "64-QAM": (
        {"frame": tracking(), "frame, LMMSE": tracking(detector="lmmse")},
        rows(at((300,), 2, 2, 22, modulation="64qam"), (None,), (.05,))),
    "interferers": (
        {"hold": HOLD, "hold, LMMSE": LMMSE, "groups": tracking(GROUPS, passes=2, prior=False),
         "groups, LMMSE": tracking(GROUPS, detector="lmmse")},
        [*rows([Scene(2, 4, 20, 30, level) for level in (-10, -5, 0, 5, 10)],
               (None,) * 5, (0, .23, .77, 1, 1), (None,) * 5, (None,) * 5, (0,) * 5),
         *rows([Scene(2, 3, 20, 30, level) for level in (-10, 0, 10)], (0, 1, 1), (None,) * 3, (0, 0, .29),
               (None, None, .20), (None,) * 3),
         *rows([Scene(4, 6, 20, 30, level) for level in (-10, 0, 10)], (None,) * 3, (.03, 1, 1), (None,) * 3,
               (None,) * 3, (0,) * 3),
         *rows([Scene(2, 2, 20, 30, level) for level in (-10, 0)], (None,) * 2, (.75, 1), (.26, 1), (.18, None),
               (None,) * 2)]),
    "moving interferers": (
        {"groups": tracking(GROUPS, passes=2), "groups, LMMSE": tracking(GROUPS, detector="lmmse", passes=2)},
        rows([Scene(2, 4, 20, moves, level, moves) for level, moves in ((10, 30), (5, 30), (0, 100))],
             (None,) * 3, (None,) * 3, (.24, 0, 0), (0, 0, 0))),
    "whitening": (
        {"hold": HOLD, "frame": tracking(), "groups": tracking(GROUPS)},
        rows([Scene(2, 4, 7, 30), Scene(2, 2, 13, 30), Scene(2, 2, 16, 30)], (0, .08, None), (.03, .08, None),
             (.05, .09, None))),
    "tones": (
        {"hold": HOLD, "hold, LMMSE": LMMSE, "groups": tracking(GROUPS),
         "groups, LMMSE": tracking(GROUPS, detector="lmmse")},
        [*rows([Scene(2, 2, snr, 30, tone=tone) for snr, tone in ((16, 20), (20, 20), (20, 30), (20, 40))],
               (.55, .02, .98, 1), (.71, .29, 1, 1), (0, 0, .01, 1), (.01, 0, .46, 1)),
         *rows([Scene(2, 4, 20, 30, tone=40), Scene(4, 4, 20, 30, tone=20)], (1, .22), (None,) * 2, (0, 0))]),
    "clocks": (
        {"hold": LMMSE, "frame": tracking(detector="lmmse"), "ofdm_clock": tracking(detector="lmmse", clock=()),
         "memory: 20": tracking(detector="lmmse", clock=("memory=20",))},
        rows([Scene(4, 4, 26, doppler, modulation="64qam", band=sender.TWENTY, ppm=ppm) for doppler, ppm in
              ((0, 0), (0, 10), (0, 20), (0, -50), (0, 50), (100, 50), (200, 50))],
             (0, .34, .69, 1, 1, 1, 1), (0, .07, .13, .23, .25, .28, .27), (0, 0, .01, .02, .02, 0, 0),
             (0, 0, .01, .02, .02, 0, 0))),
}
FRAMES_THERE = {2: 10, 4: 4}  # of the simulation, for so many transmit antennas
BY_TABLE = {"clocks": (432, {4: 1})}  # words of a row, frames there


class Models:
    """Estimators in double precision: carriers [symbol][c][r] to y [i][d][r], h [i][d][r][a], noise [i][d]."""

    def __init__(self, f, scene, keys):
        self.f = f
        self.smoother = standing.smoother(f)
        values = dict(key.split("=") for key in keys)
        self.track, self.whiten = "track" in values, values.get("whiten", "off")
        options = {name: type_(values[name]) for name, type_ in (("doppler", float), ("time_functions", int))
                   if name in values}
        self.tracker = track.Tracker(f, BAND[f.fft], tail=scene.tail, **options)

    def __call__(self, carriers):
        if self.track:
            found = track.estimate_frame(carriers, self.f, self.tracker, self.whiten)
            return found.y, found.h, found.noise
        y, h, noise, _ = standing.estimate_frame(carriers, self.f, self.smoother)
        return y, np.repeat(h[:, None], y.shape[1], 1), np.full(y.shape[:2], noise)


def keys_of(f, tail):
    names = ("fft", "carriers", "prefix", "frame", "tx", "pilot_every", "midambles")
    return [*(f"{name}={getattr(f, name)}" for name in names), *(["tail=true"] if tail else [])]


def estimated(options, scene, receiver, carriers, soft=None):
    """y, h and noise of frames."""
    f = scene.format
    keys = keys_of(f, scene.tail)
    if receiver.clock is not None:
        carriers, = execute("ofdm_clock", {"carriers": np.array(carriers)}, ["carriers"], [*keys, *receiver.clock],
                            options.backend, BAND[f.fft])
    if options.model:
        models = Models(f, scene, receiver.keys)
        return [np.array(parts) for parts in zip(*[models(y) for y in carriers])]
    inputs = {"carriers": np.array(carriers)}
    if soft is not None:
        inputs["soft"] = soft
    return execute("mimo_channel_estimator", inputs, ["y", "h", "noise"], [*keys, *receiver.keys], options.backend,
                   BAND[f.fft])


def decoded(options, scene, detector, y, h, noise, prior=None):
    """bits, posterior and extrinsic of frames."""
    inputs = {"y": y.reshape(-1, scene.rx).astype(np.complex64),
              "h": h.reshape(-1, scene.rx, scene.tx).astype(np.complex64),
              "noise": noise.reshape(-1).astype(np.float32)}
    if prior is not None:
        inputs["prior"] = prior.reshape(-1, *prior.shape[-2:])
    keys = [f"modulation={scene.modulation}", *(["lists=pooled"] if detector == "mtt" else [])]
    llr, = execute(f"{detector}_detector", inputs, ["llr"], keys, options.backend)
    return execute("ldpc_decoder", {"llr": llr.reshape(*y.shape[:3], *llr.shape[-2:])},
                   ["bits", "posterior", "extrinsic"], ["interleave=frame"], options.backend)


def lost(bits, information):
    """The words of each frame that are not what was sent."""
    wrong = (bits.reshape(len(information), -1, code.K) != information.reshape(len(information), -1, code.K)).any(2)
    return drawn.Share(wrong.sum(1), wrong.shape[1])


def received(options, scene, words, air_of):
    """Information bits of frames, and their carriers [symbol][c][r]. `air_of`: the scene that the air is of."""
    f = scene.format
    size = f.information_bits(scene.modulation, CODE)
    count = -(-words * code.K // size)
    information, carriers = np.zeros((count, size), np.uint8), []
    for i, bits in enumerate(information):
        rng = np.random.default_rng([options.seed, i, *str(air_of).encode()])
        bits[:] = np.random.default_rng([options.seed, i]).integers(0, 2, size)
        sent = f.frame_of(bits, scene.modulation, CODE)
        if scene.tail:  # the next frame's beginning is the same
            sent = np.concatenate([sent, sent[:, :standing.tail_samples(f)]], axis=1)
        heard = air.ofdm_frame(sent, f, BAND[f.fft], scene.rx, rng, scene.doppler, scene.snr, scene.interferer,
                               scene.tone, scene.moves, getattr(air, scene.profile), scene.ppm)
        carriers.append(standing.demodulate(heard[None], f, scene.tail)[0].astype(np.complex64))
    return information, carriers


def columns_of(receivers, once=False):
    return [name + again for name, receiver in receivers.items() for again in PASSES[:1 if once else receiver.passes]]


def measure(options, scene, receivers, words):
    """The words lost in each column. All receivers have the same air."""
    figures, heard = {}, {}
    for name, receiver in receivers.items():
        own = dataclasses.replace(scene, **dict(receiver.known))
        if own not in heard:
            heard[own] = received(options, own, words, scene)
        information, carriers = heard[own]
        soft = prior = None
        for again in PASSES[:1 if options.model else receiver.passes]:
            parts = estimated(options, own, receiver, carriers, soft)
            bits, soft, prior = decoded(options, own, receiver.detector, *parts, prior if receiver.prior else None)
            figures[name + again] = lost(bits, information)
    return figures


def main():
    parser = drawn.parser_of(__doc__)
    parser.add_argument("--words", type=int, help="of a row, rounded up to whole frames; by default four times those "
                        "of the simulation, 880 or 432")
    parser.add_argument("--only", choices=TABLES, nargs="*", help="tables")
    parser.add_argument("--scene", default="", help="rows whose name has this")
    parser.add_argument("--model", action="store_true", help="estimate in double precision")
    options = parser.parse_args()
    sheet = drawn.Sheet()
    for table in options.only or TABLES:
        receivers, scenes = TABLES[table]
        words, there = BY_TABLE.get(table, (880, FRAMES_THERE))
        sheet.head(table, ["scene", "words", *columns_of(receivers, options.model)])
        for scene, simulated in scenes:
            if options.scene not in str(scene):
                continue
            figures = measure(options, scene, receivers, options.words or words)
            known = dict(zip(columns_of(receivers), simulated))
            sheet.row(str(scene), figures, known, there[scene.tx], [next(iter(figures.values())).total])
    sheet.finish(options.json)


if __name__ == "__main__":
    main()
