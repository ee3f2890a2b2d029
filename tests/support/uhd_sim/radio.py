# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""What Debian's simulated device lacks and a real one has: a clock, external sources, sensors, a highest rate.

The clock counts ticks from 0 at power-on, and can be set, also at a pulse; pulses come at the full seconds of the host,
as if both had the same GPS. What the file `unlocked` names is not locked: reference, gps, pps, lo.
The file `calls` gets a line for each call that sets the front ends.
"""

import time

from usrp_mpm.periph_manager.sim import sim
from usrp_mpm.simulator.sim_dboard import SimulatedCatalinaDboard

import stream

SOURCES = ("internal", "external", "gpsdo")
TEMPERATURE = 41.5
LEAST_RATE, MOST_RATE = 220e3, 61.44e6  # Debian's grants any


class Clock:
    """Ticks at the sample rate."""

    def __init__(self):
        self._rate = 1e6
        self._ticks, self._since_ns = 0, time.monotonic_ns()
        self._at_pulse = None  # its time, and the ticks that it sets
        self._last_pulse = 0

    def _at(self, when_ns):
        # The position of a pulse differs slightly each time.
        if self._at_pulse and when_ns >= self._at_pulse[0] - 1_000_000:
            self._since_ns, self._ticks = self._at_pulse
            self._at_pulse = None
        return self._ticks + int((when_ns - self._since_ns) * self._rate / 1e9)

    @staticmethod
    def _pulse_ns():
        """The last full second of the host, on the monotonic clock."""
        return time.monotonic_ns() - time.time_ns() % 1_000_000_000

    def now(self):
        return self._at(time.monotonic_ns())

    def last_pulse(self):
        if "pps" not in unlocked():
            self._last_pulse = max(0, self._at(self._pulse_ns()))  # it may not have been on yet
        return self._last_pulse

    def set(self, ticks, at_pulse):
        if not at_pulse:
            self._ticks, self._since_ns = ticks, time.monotonic_ns()
        elif "pps" not in unlocked():
            self._at_pulse = (self._pulse_ns() + 1_000_000_000, ticks)

    def set_rate(self, rate):
        """The counter continues from its value, as in the hardware."""
        now_ns = time.monotonic_ns()
        self._ticks, self._since_ns = self._at(now_ns), now_ns
        self._rate = rate


def unlocked():
    try:
        with open("unlocked", encoding="utf-8") as file:
            return file.read().split()
    except FileNotFoundError:
        return []


def sensor(name, kind, unit, value):
    return {"name": name, "type": kind, "unit": unit, "value": value}


def lock(name, what):
    return lambda *_: sensor(name, "BOOLEAN", "", str(what not in unlocked()).lower())


def noted(name, answer):
    """A call of a front end, with its arguments in `calls`."""
    def call(*arguments):
        with open("calls", "a", encoding="utf-8") as file:
            file.write(" ".join(map(str, (name, *arguments))) + "\n")
        return answer(*arguments)
    return name, call


def install():
    clock = Clock()
    chosen = {"clock": "internal", "time": "internal"}

    sim.get_timekeeper_time = lambda self, index, last_pps: clock.last_pulse() if last_pps else clock.now()
    sim.set_timekeeper_time = lambda self, index, ticks, next_pps: clock.set(ticks, next_pps)
    for what in chosen:
        setattr(sim, f"get_{what}_sources", lambda self: SOURCES)
        setattr(sim, f"get_{what}_source", lambda self, what=what: chosen[what])
        setattr(sim, f"set_{what}_source", lambda self, source, what=what: chosen.update({what: source}))
    sim.mboard_sensor_callback_map = {"ref_locked": "ref_locked", "gps_locked": "gps_locked", "gps_time": "gps_time",
                                      "temp": "temp"}
    sim.ref_locked = lock("ref_locked", "reference")
    sim.gps_locked = lock("gps_locked", "gps")
    sim.gps_time = lambda *_: sensor("gps_time", "INTEGER", "seconds", str(int(time.time())))
    sim.temp = lambda *_: sensor("temp", "REALNUM", "C", str(TEMPERATURE))

    board = SimulatedCatalinaDboard
    board.rx_sensor_callback_map = board.tx_sensor_callback_map = {"lo_locked": "lo_locked"}
    board.lo_locked = lock("lo_locked", "lo")
    board.extra_methods = [noted("set_gain", lambda target, gain: gain),
                           noted("catalina_tune", lambda which, hertz: hertz),
                           noted("set_bw_filter", lambda which, hertz: hertz),
                           *(m for m in board.extra_methods if isinstance(m, str))]
    set_rate = board.set_catalina_clock_rate

    def set_clock_rate(self, rate):
        rate = min(max(rate, LEAST_RATE), MOST_RATE)
        clock.set_rate(rate)
        return set_rate(self, rate)

    board.set_catalina_clock_rate = set_clock_rate
    stream.OutputStream.now = staticmethod(lambda rate: clock.now())
