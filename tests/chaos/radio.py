# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Sources that fail: the simulated radio by its arguments, which are in the file from the start; a sender of samples
that disconnects, or sends invalid data."""

import json

from schedule import fault, log_uniform, one_of


def of_radio(**arguments):
    """Arguments of the simulated radio, each drawn by a function of chance; each kind once, as keys are unique."""

    def draw(chance, world):
        if world.source != "radio" or any(key in world.plan.radio for key in arguments):
            return None
        drawn = {key: of(chance) for key, of in arguments.items()}
        world.plan.radio.update(drawn)
        return drawn

    return draw


def while_it_lasts(low=0.7, high=3.2):
    return lambda chance: round(chance.uniform(low, high), 3)


def radio_fault(name, weight=1.0, **arguments):
    def act(arena, **drawn):
        """Does nothing: the radio itself acts, at its own time."""

    act.__name__ = name
    fault(of_radio(**arguments), weight)(act)


def either(*functions):
    return lambda chance: chance.choice(functions)(chance)


def part_of_a_jump(chance):
    """Steps of a clock: from so small that it looks like a loss, up to hours, both ways."""
    return chance.choice((1, 1, -1)) * round(10 ** chance.uniform(-4, 4.5), 6)


radio_fault("overflows", 2, overflow_every=log_uniform(5000, 500_000), overflow_lost=log_uniform(1, 300_000))
radio_fault("late", late_every=log_uniform(5000, 500_000), late_lost=log_uniform(1, 100_000))
radio_fault("loses_and_says_nothing", 2, lose_every=log_uniform(5000, 500_000), lose=log_uniform(1, 100_000))
radio_fault("stalls", stall_at=while_it_lasts(), stall_for=lambda c: round(c.uniform(0.02, 1.0), 3))
radio_fault("jumps", 2, jump_at=while_it_lasts(), jump_by=part_of_a_jump)
radio_fault("unplugged", 1.5, disconnect_at=while_it_lasts(),
            disconnect_for=either(one_of(0), lambda c: round(c.uniform(0.01, 1.5), 3)))
radio_fault("disconnects", disconnect_every=log_uniform(60_000, 2_000_000))
radio_fault("unlocks", 0.3, unlock_at=while_it_lasts(), unlock_for=while_it_lasts(0.1, 1))
radio_fault("runs_away", 0.3, clock_ppm=one_of(-300, -50, 50, 300))


def of_feed(**parameters):
    return lambda chance, world: ({key: of(chance) for key, of in parameters.items()} if world.source == "feed" else None)


@fault(of_feed(seconds=lambda c: round(c.uniform(0.05, 1), 3)), weight=4)
def sender_killed(arena, seconds):
    """Its connection is reset; another one starts after a while, with sample 0."""
    arena.turns += 1
    arena.feed.killed_for(seconds, arena.sleep)


@fault(of_feed(seconds=lambda c: round(c.uniform(0.05, 1), 3)), weight=2)
def sender_silent(arena, seconds):
    arena.feed.paused = True
    arena.sleep(seconds)
    arena.feed.paused = False


@fault(of_feed(by=log_uniform(1, 10**15)), weight=3)
def sender_skips(arena, by):
    """A gap of any length: its count and its tone continue. After a very long one it counts as another sender."""
    if by > arena.world.rate:
        arena.turns += 1
    arena.feed.skip += by


WRONG = {
    "no header": [b"iq ", b""],
    "one frame": [b"iq {}"],
    "another type": [b"iq " + json.dumps({"v": 1, "sample": 0, "sample_rate": 1e6, "dtype": "<i2", "shape": [4],
                                          "dims": ["n"]}).encode(), bytes(8)],
    "a shape that is not": [b"iq " + json.dumps({"v": 1, "sample": 5, "time_ns": 0, "sample_rate": 200_000,
                                                 "dtype": "<c8", "shape": [2**62], "dims": ["n"]}).encode(), bytes(8)],
    "negative": [b"iq " + json.dumps({"v": 1, "sample": -5, "time_ns": -1, "sample_rate": -1, "dtype": "<c8",
                                      "shape": [-1], "dims": ["n"]}).encode(), bytes(8)],
    "deep": [b"iq " + b'{"a":' * 5000, bytes(8)],
    "long": [b"iq " + b"x" * 300_000, bytes(8)],
}


@fault(of_feed(what=one_of(*sorted(WRONG)), times=log_uniform(1, 500)), weight=3)
def sender_errs(arena, what, times):
    for _ in range(times):
        arena.feed.also.append(WRONG[what])
        if arena.sleep(0.002):
            return
