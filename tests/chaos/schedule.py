# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The available faults, and the schedule of a seed.

A fault is a function `act(arena, **parameters)` that runs in its own thread for any time, and returns when
`arena.sleep()` says that it is over. Its parameters are drawn in advance: `draw(chance, world)` returns them, or None
if this world has no place for it.
"""

import dataclasses

FAULTS = {}  # by name


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    weight: float
    draw: object
    act: object


@dataclasses.dataclass
class Entry:
    """A fault of a schedule, with its seconds after all was well for the first time."""

    at: float
    name: str
    parameters: dict

    def __str__(self):
        said = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
        return f"{self.at:6.3f} s  {self.name}({said})"


def fault(draw=lambda chance, world: {}, weight=1.0):
    """Registers a function as a fault, named MODULE.FUNCTION."""

    def enter(act):
        name = f"{act.__module__}.{act.__name__}"
        FAULTS[name] = Fault(name, weight, draw, act)
        return act

    return enter


def log_uniform(low, high):
    """A draw of an integer between these, with all magnitudes equally likely."""
    return lambda chance: round(low * (high / low) ** chance.random())


def one_of(*choices):
    return lambda chance: chance.choice(choices)


def draw(chance, world, seconds, only=None):
    """A schedule of two to six faults, more if there is more time."""
    names = sorted(name for name in FAULTS if not only or any(name.startswith(o) for o in only))
    weights = [FAULTS[name].weight for name in names]
    count = chance.randint(2, 6) * max(1, round(seconds / 2))
    entries = []
    for _ in range(100 * count):
        if len(entries) == count:
            break
        name = chance.choices(names, weights)[0]
        parameters = FAULTS[name].draw(chance, world)
        if parameters is not None:
            entries.append(Entry(round(chance.uniform(0, 0.8 * seconds), 3), name, parameters))
    return sorted(entries, key=lambda entry: entry.at)
