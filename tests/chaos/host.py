# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A failing host: the process is stopped, descriptors, memory, threads or disk space run out, clocks step.

Limits are those of the process, set from outside (prlimit). A preloaded library (host_faults.c), if there is one,
controls the disk, the clock and thread creation.
"""

import os
import resource
import shutil
import signal

import zmtp
from control import a_change, changed
from schedule import fault, log_uniform


def held(pid, what):
    return len(os.listdir(f"/proc/{pid}/{what}"))


@fault(lambda chance, world: {"times": log_uniform(1, 20)(chance), "still": round(chance.uniform(0.01, 0.7), 3),
                              "going": round(chance.uniform(0.005, 0.2), 3)}, weight=2)
def stands_still(arena, times, still, going):
    for _ in range(times):
        with arena.frozen():
            over = arena.sleep(still)
        if over or arena.sleep(going):
            return


def limited(arena, which, value, seconds, meanwhile=lambda: None):
    """A limit of the process for a while."""
    before = resource.prlimit(arena.pid, which)
    resource.prlimit(arena.pid, which, (value, before[1]))
    try:
        meanwhile()
        arena.sleep(seconds)
    finally:
        resource.prlimit(arena.pid, which, before)


def eat(arena, count, where):
    return [s for _ in range(count) if (s := zmtp.connect(where))]


@fault(lambda chance, world: {"spare": chance.choice((0, 1, 2, 3, 5, 10, 30)), "seconds": round(chance.uniform(0.1, 1), 3),
                              "by": chance.choice(("http", "pub")), "changes": [a_change(chance, world) for _ in range(3)]},
       weight=3)
def descriptors_short(arena, spare, seconds, by, changes):
    """Connections use up all descriptors; changes requested meanwhile may be refused."""
    eaten = []

    def meanwhile():
        eaten.extend(eat(arena, min(spare, 10), arena.http if by == "http" else arena.where("pub")))
        for change in changes:
            arena.write(changed(arena.plan, change))
            arena.signal(signal.SIGHUP)
            if arena.sleep(seconds / 4):
                break

    with arena.starved():
        limited(arena, resource.RLIMIT_NOFILE, held(arena.pid, "fd") + spare, seconds, meanwhile)
        for s in eaten:
            zmtp.drop(s)


@fault(lambda chance, world: {"megabytes": log_uniform(10, 200)(chance), "block": 2 ** chance.randint(20, 28)}, weight=2)
def memory_short(arena, megabytes, block):
    """A change that needs more memory than available: refused, and nothing changes."""
    with open(f"/proc/{arena.pid}/statm", encoding="ascii") as f:
        now = int(f.read().split()[0]) * resource.getpagesize()

    def meanwhile():
        arena.write(changed(arena.plan, {"block": block, "stages": ["filter", "rotate", "power"]}))
        arena.ask("POST", "/api/reload", patience=10)
        arena.write(arena.plan)

    limited(arena, resource.RLIMIT_AS, now + megabytes * 1_000_000, 0, meanwhile)


@fault(lambda chance, world: {"kilobytes": log_uniform(1, 1000)(chance)} if world.plan.recording else None, weight=2)
def file_cannot_grow(arena, kilobytes):
    """A full disk, as a recording sees it."""
    size = max([f.stat().st_size for f in (arena.world.folder / "disk").glob("*")], default=0)
    limited(arena, resource.RLIMIT_FSIZE, size + kilobytes * 1000, 10)


@fault(lambda chance, world: {} if world.plan.recording else None)
def folder_removed(arena):
    shutil.rmtree(arena.world.folder / "disk", ignore_errors=True)


@fault(lambda chance, world: {"milliseconds": log_uniform(5, 2000)(chance), "seconds": round(chance.uniform(0.1, 1), 3)}
       if world.plan.recording else None, weight=2)
def slow_disk(arena, milliseconds, seconds):
    arena.host.set("disk_delay_ms", milliseconds)
    arena.sleep(seconds)
    arena.host.set("disk_delay_ms", 0)


@fault(lambda chance, world: {"error": chance.choice((5, 28, 122)), "seconds": round(chance.uniform(0.01, 1), 3)}
       if world.plan.recording else None, weight=2)
def broken_disk(arena, error, seconds):
    """EIO, ENOSPC, EDQUOT."""
    arena.host.set("disk_error", error)
    arena.sleep(seconds)
    arena.host.set("disk_error", 0)


@fault(lambda chance, world: {"by": chance.choice((-1, 1)) * round(10 ** chance.uniform(-3, 8), 6),
                              "seconds": round(chance.uniform(0.1, 1), 3)}, weight=2)
def clock_steps(arena, by, seconds):
    """The host's clock is stepped, and stepped back."""
    arena.host.set("clock_ns", int(by * 1e9))
    arena.sleep(seconds)
    arena.host.set("clock_ns", 0)


@fault(lambda chance, world: {"changes": [a_change(chance, world) for _ in range(3)], "pause": round(chance.uniform(0, 0.2), 3)})
def threads_short(arena, changes, pause):
    """No thread can be started: changes that need one are refused."""
    arena.host.set("thread_error", 11)
    for change in changes:
        arena.write(changed(arena.plan, change))
        arena.ask("POST", "/api/reload")
        if arena.sleep(pause):
            break
    arena.host.set("thread_error", 0)
