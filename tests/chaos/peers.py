# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Peers of ZeroMQ sockets that are slow, broken or hostile."""

import zmq

import zmtp
from schedule import fault, log_uniform, one_of

SUBSCRIBED = ("pub", "ipc", "curve")
ANY = ("pub", "ipc", "curve", "push", "feed", "relay")
MOST_BYTES = 100_000_000  # sent by one fault


def at(*kinds):
    """The name of an endpoint of one of these kinds, if there is one."""

    def choose(chance, world):
        there = [kind for kind in kinds if kind in world.sockets]
        return chance.choice(there) if there else None

    return choose


def drawn(where, **parameters):
    """A draw: an endpoint, and the result of each function for `chance`."""

    def draw(chance, world):
        endpoint = where(chance, world)
        return endpoint and {"where": endpoint, **{key: of(chance) for key, of in parameters.items()}}

    return draw


def of_who_loses(draw):
    """If the source waits for the slowest reader, a reader that takes nothing is not allowed."""
    return lambda chance, world: draw(chance, world) if world.can_lose else None


def subscriber(arena, where, kind=b"SUB", receive_buffer=4096):
    """A peer after its handshake, or None."""
    s = zmtp.connect(arena.where(where), receive_buffer)
    if s and not zmtp.shake_hands(s, kind):
        zmtp.drop(s)
        return None
    return s


def hold(arena, sockets):
    """Runs until the fault is over."""
    while not arena.sleep(0.1):
        pass
    for s in sockets:
        zmtp.drop(s)


@fault(of_who_loses(drawn(at("pub", "ipc", "relay"), peers=log_uniform(1, 8))), weight=2)
def never_reads(arena, where, peers):
    sockets = [s for _ in range(peers) if (s := subscriber(arena, where))]
    for s in sockets:
        zmtp.send(s, zmtp.subscription(b""))
    hold(arena, sockets)


@fault(of_who_loses(drawn(at("push"), peers=log_uniform(1, 4))))
def never_pulls(arena, where, peers):
    hold(arena, [s for _ in range(peers) if (s := subscriber(arena, where, b"PULL"))])


@fault(drawn(at("push"), times=log_uniform(1, 30), taken=log_uniform(1, 100_000)))
def pullers_vanish(arena, where, times, taken):
    for _ in range(times):
        s = subscriber(arena, where, b"PULL")
        if s:
            zmtp.receive(s, taken)
            zmtp.drop(s)
        if arena.sleep(0.02):
            return


@fault(of_who_loses(drawn(at("pub", "ipc"), pause=lambda c: round(c.uniform(0.01, 0.1), 3))), weight=2)
def slow_subscriber(arena, where, pause):
    context = zmq.Context()
    s = context.socket(zmq.SUB)
    s.setsockopt(zmq.RCVHWM, 1)
    s.setsockopt(zmq.RCVBUF, 8192)
    s.setsockopt(zmq.SUBSCRIBE, b"")
    s.connect(arena.where(where))
    while not arena.sleep(pause):
        if s.poll(0):
            s.recv_multipart()
    context.destroy(0)


@fault(drawn(at(*ANY), times=log_uniform(3, 300), stage=one_of(0, 1, 2, 3), reset=one_of(True, False)))
def comes_and_goes(arena, where, times, stage, reset):
    """stage: how far it gets; 0: connected, 1: half a greeting, 2: handshake done, 3: subscribed."""
    for _ in range(times):
        s = zmtp.connect(arena.where(where))
        if s:
            if stage == 1:
                zmtp.send(s, zmtp.greeting()[:30])
            if stage >= 2:
                zmtp.shake_hands(s)
            if stage == 3:
                zmtp.send(s, zmtp.subscription(b"t "))
            zmtp.drop(s, reset)
        if arena.sleep(0.002):
            return


@fault(drawn(at(*ANY), times=log_uniform(1, 50), count=log_uniform(1, 200_000), shaken=one_of(True, False),
             seed=lambda c: c.randrange(2**32)))
def rubbish(arena, where, times, count, shaken, seed):
    for i in range(times):
        s = zmtp.connect(arena.where(where))
        if s:
            if shaken:
                zmtp.shake_hands(s, b"PUSH" if where == "feed" else b"PULL" if where == "push" else b"SUB")
            zmtp.send(s, zmtp.rubbish(seed + i, count))
            zmtp.drop(s, i % 2 == 0)
        if arena.sleep(0.005):
            return


@fault(drawn(at(*ANY), peers=log_uniform(1, 100), count=one_of(0, 1, 10, 11, 63, 64, 70)))
def half_handshakes(arena, where, peers, count):
    sockets = [s for _ in range(peers) if (s := zmtp.connect(arena.where(where)))]
    for s in sockets:
        zmtp.send(s, (zmtp.greeting() + zmtp.ready())[:count])
    hold(arena, sockets)


@fault(drawn(at(*ANY), peers=log_uniform(1, 8), when=one_of("first", "greeted", "shaken"),
             length=one_of(2**31 - 1, 2**31, 2**33, 2**62, 2**63 + 5), flags=one_of(0, zmtp.MORE, zmtp.COMMAND)), weight=2)
def announces(arena, where, peers, when, length, flags):
    """Messages too large for memory; in ZMTP 1.0, before and after the handshake."""
    sockets = [s for _ in range(peers) if (s := zmtp.connect(arena.where(where)))]
    for s in sockets:
        if when == "first":
            zmtp.send(s, b"\xff" + length.to_bytes(8, "big") + b"\x00" + bytes(20))
            continue
        if when == "greeted":
            zmtp.send(s, zmtp.greeting(b"CURVE" if where == "curve" else b"NULL"))
        else:
            zmtp.shake_hands(s, b"PUSH" if where == "feed" else b"SUB")
        zmtp.send(s, zmtp.announcement(length, flags) + bytes(200))
    hold(arena, sockets)


@fault(drawn(at("pub", "ipc", "relay"), peers=log_uniform(1, 4), count=log_uniform(10, 50_000)))
def many_subscriptions(arena, where, peers, count):
    sockets = [s for _ in range(peers) if (s := subscriber(arena, where))]
    text = b"".join(zmtp.subscription(b"x%d" % i) for i in range(count))
    for s in sockets:
        zmtp.send(s, text)
    hold(arena, sockets)


@fault(drawn(at("pub", "ipc", "relay"), peers=log_uniform(1, 4), count=log_uniform(1, 1500),
             length=log_uniform(300, 65_000), alike=one_of(True, False)), weight=2)
def long_subscriptions(arena, where, peers, count, length, alike):
    sockets = [s for _ in range(peers) if (s := subscriber(arena, where))]
    each = max(1, min(count, MOST_BYTES // length // peers))
    for i in range(each):
        for s in sockets:
            topic = (b"x" * length)[:-8] + b"%08d" % i if alike else zmtp.rubbish(i, length)
            zmtp.send(s, zmtp.subscription(topic))
        if arena.over:
            break
    hold(arena, sockets)


@fault(drawn(at("pub", "ipc", "relay"), length=log_uniform(100, 60_000), every=one_of(1, 2, 5)), weight=2)
def empty_between_long(arena, where, length, every):
    """Messages that are not subscriptions, with empty ones between, as fast as they are taken."""
    s = subscriber(arena, where)
    text = (zmtp.frame(b"\x07" + bytes(length)) * every + zmtp.frame(b"")) * max(1, 200_000 // length)
    sent = 0
    while s and sent < MOST_BYTES and not arena.over and zmtp.send(s, text):
        sent += len(text)
    if s:
        hold(arena, [s])


@fault(drawn(at("pub", "ipc"), pairs=log_uniform(10, 30_000), topic=one_of(b"t ", b"", b"y" * 200)))
def changes_its_mind(arena, where, pairs, topic):
    """Subscribes and unsubscribes; more often the latter."""
    s = subscriber(arena, where)
    text = zmtp.subscription(topic) + 2 * zmtp.subscription(topic, False)
    while s and pairs > 0 and not arena.over and zmtp.send(s, text * 100):
        pairs -= 100
    if s:
        zmtp.drop(s)


@fault(drawn(at(*ANY), times=log_uniform(1, 200),
             what=one_of(b"PING", b"ERROR", b"READY", b"JOIN", b"SUBSCRIBE", b"", b"\xff\xfe"), length=log_uniform(1, 20_000)))
def odd_commands(arena, where, times, what, length):
    s = subscriber(arena, where, b"PUSH" if where == "feed" else b"PULL" if where == "push" else b"SUB")
    for _ in range(times):
        if not s or arena.over or not zmtp.send(s, zmtp.command(what, bytes(length)) + zmtp.frame(b"a", zmtp.MORE)):
            break
    if s:
        zmtp.drop(s)


@fault(drawn(at(*ANY), kind=one_of("PUB", "SUB", "REQ", "REP", "DEALER", "ROUTER", "PAIR", "XPUB", "STREAM"),
             messages=log_uniform(1, 1000)))
def wrong_kind(arena, where, kind, messages):
    """A socket of another kind, which reconnects forever."""
    context = zmq.Context()
    s = context.socket(getattr(zmq, kind))
    s.setsockopt(zmq.RECONNECT_IVL, 5)
    s.setsockopt(zmq.SNDTIMEO, 0)
    s.connect(arena.where(where))
    while messages > 0 and not arena.sleep(0.01):
        messages -= 1
        try:
            s.send(b"\x01hello")
        except zmq.ZMQError:
            pass
    hold(arena, [])
    context.destroy(0)


@fault(drawn(at("curve"), times=log_uniform(1, 100), seed=lambda c: c.randrange(2**32), count=one_of(0, 100, 194, 195)))
def broken_curve(arena, where, times, seed, count):
    """The first command of a CURVE handshake, with the right or a wrong length, and empty contents."""
    for i in range(times):
        s = zmtp.connect(arena.where(where))
        if s:
            zmtp.send(s, zmtp.greeting(b"CURVE") + zmtp.command(b"HELLO", b"\x01\x00" + zmtp.rubbish(seed + i, count)))
            zmtp.send(s, zmtp.command(b"INITIATE", zmtp.rubbish(seed - i, 300)))
            zmtp.drop(s, i % 2 == 0)
        if arena.sleep(0.005):
            return


@fault(drawn(at("curve"), clients=log_uniform(1, 5)))
def strangers(arena, where, clients):
    """With a key that is on no list, again and again."""
    context = zmq.Context()
    for _ in range(clients):
        s = context.socket(zmq.SUB)
        s.setsockopt(zmq.RECONNECT_IVL, 2)
        s.setsockopt(zmq.SUBSCRIBE, b"")
        s.curve_publickey, s.curve_secretkey = zmq.curve_keypair()
        s.curve_serverkey = arena.server_key
        s.connect(arena.where(where))
    hold(arena, [])
    context.destroy(0)
