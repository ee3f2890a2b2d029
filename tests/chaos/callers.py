# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Callers of the HTTP port that are slow, broken or hostile."""

import json

import zmtp
from schedule import fault, log_uniform, one_of

PATHS = ("/", "/metrics", "/healthz", "/readyz", "/api/status", "/api/pipeline")
ODD = {
    "no request": b"\r\n\r\n\r\n",
    "bytes": bytes(range(256)) * 8,
    "a long line": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
    "a long header": b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"b" * 100_000 + b"\r\n\r\n",
    "many headers": b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: y\r\n" % i for i in range(5000)) + b"\r\n",
    "a huge body": b"PATCH /api/stages/source HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9223372036854775807\r\n\r\n{}",
    "a negative body": b"POST /api/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    "two lengths": b"POST /api/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\nhello",
    "huge chunks": b"PATCH /api/stages/source HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
                   b"7fffffffffffffff\r\n{}",
    "a path that climbs": b"GET /../../../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "zeros": b"GET /\0\0\0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no host": b"GET /api/status HTTP/1.1\r\n\r\n",
    "an old one": b"GET /metrics HTTP/0.9\r\n\r\n",
    "another method": b"TRACE /api/status HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "an upgrade": b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                  b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
}
BODIES = {
    "deep": b"[" * 30_000,
    "deep maps": b'{"a":' * 8_000,
    "no text": b"\xff\xfe\x00{}",
    "a number": b"1e999999",
    "odd keys": json.dumps({"name": "x", "from": "y", "backend": "z", "a.b.c": 1, "": None}).encode(),
    "wrong values": json.dumps({"gain": "nan", "frequency": [1, 2], "rate": -1}).encode(),
    "huge values": json.dumps({"frequency": 1e308, "gain": -1e308}).encode(),
    "many keys": json.dumps({f"k{i}": i for i in range(4000)}).encode(),
    "anchors": b"&a [*a, *a, *a]",
}


def request(body, target="/api/pipelines/main/stages/source"):
    return (b"PATCH %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (target.encode(), len(body))) + body


@fault(lambda chance, world: {"what": chance.choice(sorted(ODD)), "times": log_uniform(1, 100)(chance)})
def odd_requests(arena, what, times):
    for _ in range(times):
        s = zmtp.connect(arena.http)
        if s:
            zmtp.send(s, ODD[what])
            zmtp.drop(s)
        if arena.sleep(0.01):
            return


@fault(lambda chance, world: {"what": chance.choice(sorted(BODIES)), "times": log_uniform(1, 20)(chance)})
def odd_changes(arena, what, times):
    for _ in range(times):
        s = zmtp.connect(arena.http)
        if s:
            zmtp.send(s, request(BODIES[what]))
            answer = zmtp.receive(s, 100)
            if answer and answer[9:12] not in (b"400", b"404", b"413", b"422", b"503", b"408"):
                arena.report("invalid changes are refused", f"{what}: {answer!r}")
            zmtp.drop(s)
        if arena.sleep(0.02):
            return


@fault(lambda chance, world: {"callers": log_uniform(1, 100)(chance), "what": one_of("nothing", "half", "slow body")(chance)},
       weight=2)
def half_requests(arena, callers, what):
    """Connections that do not send their whole request."""
    text = {"nothing": b"", "half": b"GET /metrics HTTP/1.1\r\nHost: loc",
            "slow body": request(b"{}").replace(b"Length: 2", b"Length: 200")}[what]
    sockets = []
    while len(sockets) < callers and not arena.over and (s := zmtp.connect(arena.http)):
        sockets.append(s)
        zmtp.send(s, text)
    while not arena.sleep(0.2):
        for s in sockets:
            zmtp.send(s, b"a")
    for s in sockets:
        zmtp.drop(s)


@fault(lambda chance, world: {"callers": log_uniform(1, 10)(chance), "path": chance.choice(PATHS),
                              "requests": log_uniform(1, 2000)(chance)})
def answers_not_taken(arena, callers, path, requests):
    sockets = [s for _ in range(callers) if (s := zmtp.connect(arena.http, receive_buffer=4096))]
    text = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * requests
    for s in sockets:
        s.settimeout(0.1)
        zmtp.send(s, text)
    while not arena.sleep(0.1):
        pass
    for s in sockets:
        zmtp.drop(s)


@fault(lambda chance, world: {"times": log_uniform(10, 500)(chance), "reset": chance.random() < 0.5})
def knocks(arena, times, reset):
    for _ in range(times):
        s = zmtp.connect(arena.http)
        if s:
            zmtp.drop(s, reset)
        if arena.sleep(0.002):
            return
