# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Changes while it runs: reloads, live keys, signals; invalid changes, and too many at once."""

import copy
import signal
import threading

import iqd
import zmtp
from callers import request
from schedule import fault, log_uniform, one_of
from world import STAGES

BLOCKS = (300, 1000, 4096, 16384, 65536, 262_144)
BROKEN = {
    "empty": "",
    "bytes": "\x00\x01\x02",
    "half": None,  # the first half of the file, up to an open quotation mark
    "deep": "[" * 5000,
    "another": "source: {soapy: {args: driver=iqdsim, rate: 1 S/s}}\nblok: 5\n",
    "not YAML": "a: [b: {c",
    "an alias": "a: &a [*a, *a]\n",
    "huge": "name: " + "x" * 1_000_000,
}


def a_change(chance, world):
    """Keys of Plan that a reload changes."""
    change = {}
    most = int(world.rate * 0.3)
    for key, of in (("block", lambda: chance.choice([b for b in BLOCKS if b <= most])),
                    ("lanes", lambda: chance.randint(1, 4)),
                    ("stages", lambda: [chance.choice(sorted(STAGES)) for _ in range(chance.randint(0, 3))]),
                    ("gain", lambda: chance.randrange(20)),
                    ("recording", lambda: chance.randrange(1, 1000) if chance.random() < 0.5 else 0)):
        if chance.random() < 0.4:
            change[key] = of()
    return change or {"block": chance.choice([b for b in BLOCKS if b <= most])}


def changed(plan, change):
    plan = copy.deepcopy(plan)
    for key, value in change.items():
        setattr(plan, key, value)
    return plan


@fault(lambda chance, world: {"changes": [a_change(chance, world) for _ in range(log_uniform(1, 20)(chance))],
                              "pause": round(chance.uniform(0, 0.3), 3), "by": one_of("POST", "SIGHUP")(chance)}, weight=5)
def reloads(arena, changes, pause, by):
    """Each may be refused because of concurrent changes, but not forever."""
    for change in changes:
        arena.write(changed(arena.plan, change))
        if by == "POST":
            arena.ask("POST", "/api/reload")
        else:
            arena.signal(signal.SIGHUP)
        if arena.sleep(pause):
            return


@fault(lambda chance, world: {"block": int(world.rate * chance.choice((0.1, 0.2, 0.3))), "pause": round(chance.uniform(0, 0.5), 3)},
       weight=2)
def larger_messages(arena, block, pause):
    """Makes blocks larger step by step, and back."""
    for size in (block // 4, block, 1000):
        arena.write(changed(arena.plan, {"block": size}))
        arena.ask("POST", "/api/reload")
        if arena.sleep(pause):
            return


@fault(lambda chance, world: {"seed": chance.randrange(1000, 2000)} if world.source == "radio" else None, weight=0.7)
def another_source(arena, seed):
    """The stream ends and restarts with sample 0."""
    with arena.writing:
        arena.plan = changed(arena.plan, {"radio": {**arena.plan.radio, "seed": seed}})
        arena.write(arena.plan)
    arena.ask("POST", "/api/reload")


@fault(lambda chance, world: {"times": log_uniform(1, 200)(chance),
                              "pause": round(chance.choice((0, 0.001, 0.05)), 3)} if world.source == "radio" else None,
       weight=2)
def live_keys(arena, times, pause):
    for i in range(times):
        arena.ask("PATCH", "/api/pipelines/main/stages/source", {"gain": i % 30, "frequency": 1e8 + i})
        if arena.sleep(pause):
            return


@fault(lambda chance, world: {"what": chance.choice(sorted(BROKEN)), "times": log_uniform(1, 10)(chance)}, weight=2)
def broken_files(arena, what, times):
    """Refused, and nothing changes."""
    for i in range(times):
        text = arena.world.text(arena.plan)
        with arena.writing:
            arena.write_text(text[:text.index('"', len(text) // 2)] if what == "half" else BROKEN[what])
            answer = arena.ask("POST", "/api/reload") if i % 2 == 0 else None
            if answer and answer[0] == 200:
                arena.report("a broken file is refused", f"{what}: {answer}")
            arena.write_text(text)
        if arena.sleep(0.03):
            return


@fault(lambda chance, world: {"which": one_of("SIGHUP", "SIGUSR1", "SIGWINCH", "SIGCONT", "SIGPIPE")(chance),
                              "times": log_uniform(5, 500)(chance), "pause": chance.choice((0, 0.001, 0.01))}, weight=2)
def signals(arena, which, times, pause):
    for _ in range(times):
        arena.signal(getattr(signal, which))
        if arena.sleep(pause):
            return


@fault(lambda chance, world: {"callers": log_uniform(2, 6)(chance), "times": log_uniform(1, 10)(chance)}, weight=2)
def reloads_at_once(arena, callers, times):
    """Some get Retry-After; all others must be answered."""

    def call(number):
        for i in range(times):
            arena.write(changed(arena.plan, {"lanes": 1 + (number + i) % 4}))
            arena.ask("POST", "/api/reload")
            if arena.sleep(0):
                return

    threads = [threading.Thread(target=call, args=(i,)) for i in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@fault(lambda chance, world: {"times": log_uniform(1, 100)(chance)})
def changes_not_waited_for(arena, times):
    """The client hangs up before it gets an answer."""
    for i in range(times):
        s = zmtp.connect(arena.http)
        if s:
            zmtp.send(s, request(b'{"gain": %d}' % (i % 20)))
            zmtp.drop(s)
        if arena.sleep(0.005):
            return


@fault(lambda chance, world: {"name": chance.choice(("a", "%2e%2e", "x" * 2000)), "times": log_uniform(1, 100)(chance)}, weight=0.5)
def triggers(arena, name, times):
    for _ in range(times):
        arena.ask("POST", f"/api/triggers/{name}")
        if arena.sleep(0.005):
            return


@fault(lambda chance, world: {} if "ipc" in world.sockets else None)
def another_iqd(arena):
    """Starts a second iqd on addresses in use, which must fail."""
    text = ("source: {generate: {rate: 1000, pace: true}}\n"
            f"publish: [{{port: source, topic: another, bind: \"{arena.where('ipc')}\"}}]\n")
    path = arena.path.with_name("another.yaml")
    path.write_text(text, encoding="utf-8")
    done = iqd.command("run", path, "--seconds", 1)
    if done.returncode != 1 and not arena.stopping:
        arena.report("an address has one iqd", f"{done.returncode}: {done.stderr}")
