# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Which faults there are, and when which of them happens in a seed.

A fault is a function `act(arena, **parameters)` that takes as long as it takes, in a thread of its own, and leaves when
`arena.sleep()` says that it is over. What it does is drawn before: `draw(chance, world)` gives its parameters, or None
where this world has no place for it.
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
    """A fault of a schedule, seconds after all is well for the first time."""

    at: float
    name: str
    parameters: dict

    def __str__(self):
        said = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
        return f"{self.at:6.3f} s  {self.name}({said})"


def fault(draw=lambda chance, world: {}, weight=1.0):
    """Makes a function a fault: its name is MODULE.FUNCTION."""

    def enter(act):
        name = f"{act.__module__}.{act.__name__}"
        FAULTS[name] = Fault(name, weight, draw, act)
        return act

    return enter


def log_uniform(low, high):
    """Gives a whole number between these, of each magnitude as often as of another."""
    return lambda chance: round(low * (high / low) ** chance.random())


def one_of(*choices):
    return lambda chance: chance.choice(choices)


def draw(chance, world, seconds, only=None):
    """A schedule: two to six faults, more where there is more time."""
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
