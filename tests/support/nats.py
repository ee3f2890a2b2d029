# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A NATS server of a test's own, the keys of its users, and a client that speaks the protocol as text."""

import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

import iqd

CONFIGURATION = """listen: "127.0.0.1:{port}"
max_payload: 16MB
max_pending: 256MB
jetstream {{ store_dir: "{folder}/store", max_memory_store: {memory}, max_file_store: 512MB }}
{more}
"""
SEED, USER = 18 << 3, 20 << 3  # the first letters: S, U


def program():
    return shutil.which("nats-server", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def why_not():
    """Why no server can run here; empty if it can."""
    return "" if program() else "nats-server is not installed"


class Server:
    """`nats-server` with JetStream. `more`: further lines of its configuration. Ends with the `with` block."""

    def __init__(self, folder, more="", memory="256MB", tls=False):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.port = iqd.free_port()
        self.url = f"{'tls' if tls else 'nats'}://127.0.0.1:{self.port}"
        self.urls = [self.url]
        self.process = None
        if tls:
            self.certificate = self._certificate()
            more += f'\ntls {{ cert_file: "{self.certificate}", key_file: "{self.folder}/server.key" }}'
        (self.folder / "server.conf").write_text(
            CONFIGURATION.format(port=self.port, folder=self.folder, memory=memory, more=more), encoding="utf-8")

    def _certificate(self):
        path = self.folder / "server.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                        "-nodes", "-keyout", self.folder / "server.key", "-out", path, "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
                       check=True, capture_output=True)
        return path

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    @property
    def log(self):
        return (self.folder / "server.log").read_text(encoding="utf-8", errors="replace")

    def start(self):
        with (self.folder / "server.log").open("a", encoding="utf-8") as log:
            self.process = subprocess.Popen([program(), "--config", self.folder / "server.conf"], stdout=log,
                                            stderr=subprocess.STDOUT)
        ends = time.monotonic() + iqd.PATIENCE
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > ends:
                raise AssertionError(f"the server does not start:\n{self.log}")
            time.sleep(0.02)

    def _answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as s:
                return s.recv(4) == b"INFO"
        except OSError:
            return False

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def restart(self, pause=0.0):
        """Kills it, and starts it on the same port after `pause` seconds."""
        self.kill()
        time.sleep(pause)
        self.start()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)


class Cluster:
    """Three servers that keep copies of each other's streams. Ends with the `with` block."""

    def __init__(self, folder):
        ports = [iqd.free_port() for _ in range(3)]
        routes = ", ".join(f'"nats-route://127.0.0.1:{port}"' for port in ports)
        self.servers = [
            Server(f"{folder}{n}", f'server_name: "n{n}"\n'
                   f'cluster {{ name: lab, listen: "127.0.0.1:{port}", routes: [{routes}] }}')
            for n, port in enumerate(ports)]
        self.urls = [server.url for server in self.servers]

    def __enter__(self):
        with contextlib.ExitStack() as started:
            for server in self.servers:
                started.enter_context(server)
            ends = time.monotonic() + iqd.PATIENCE
            while "error" in (answer := self.ask("STREAM.CREATE.probe", name="probe", num_replicas=3)) or not answer:
                if time.monotonic() > ends:
                    raise AssertionError(f"the cluster is not complete: {answer}")
                time.sleep(0.1)
            self.ask("STREAM.DELETE.probe")
            started.pop_all()
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.kill()

    def ask(self, what, **keys):
        """See Client. Of a server that runs."""
        with Client(next(server for server in self.servers if server.process)) as client:
            return client.ask(what, seconds=2, **keys)

    def leader(self, stream):
        """The server that has the first copy."""
        return self.servers[int(self.ask(f"STREAM.INFO.{stream}")["cluster"]["leader"][1:])]


class Relay:
    """A network before the server that can be cut, or go silent. Ends with the `with` block."""

    def __init__(self, server):
        self._server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"nats://127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._ends = []
        self._is_cut = False
        self._passes = threading.Event()
        self._passes.set()

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.close()
        self.cut()
        self._passes.set()

    def cut(self):
        with self._lock:
            self._is_cut = True
            for end in self._ends:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
            self._ends = []

    def hold(self):
        """Nothing arrives any more, and nobody gets an error."""
        self._passes.clear()

    def heal(self):
        self._is_cut = False
        self._passes.set()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near = self._listener.accept()[0]
                with self._lock:
                    if self._is_cut:
                        near.close()
                        continue
                    far = socket.create_connection(("127.0.0.1", self._server.port))
                    self._ends += [near, far]
                for pair in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source, to):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                self._passes.wait()
                to.sendall(data)
        with contextlib.suppress(OSError):
            to.shutdown(socket.SHUT_RDWR)


class Client:
    """A user without a key. Ends with the `with` block."""

    def __init__(self, server):
        self._socket = socket.create_connection(("127.0.0.1", server.port), timeout=iqd.PATIENCE)
        self._bytes = b""
        self._subscriptions = 0
        self._line()  # INFO
        self._send({"verbose": False, "pedantic": False, "headers": True, "no_responders": True})
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def _send(self, options):
        self._socket.sendall(b"CONNECT " + json.dumps(options).encode() + b"\r\n")

    def _more(self):
        part = self._socket.recv(1 << 16)
        if not part:
            raise ConnectionError("the server closed the connection")
        self._bytes += part

    def _line(self):
        while b"\r\n" not in self._bytes:
            self._more()
        line, self._bytes = self._bytes.split(b"\r\n", 1)
        return line.decode()

    def _take(self, count):
        while len(self._bytes) < count + 2:
            self._more()
        data, self._bytes = self._bytes[:count], self._bytes[count + 2:]
        return data

    def publish(self, subject, data=b"", reply="", headers=None):
        if headers is None:
            head, verb, sizes = b"", "PUB", [len(data)]
        else:
            head = ("NATS/1.0\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers.items()) + "\r\n").encode()
            verb, sizes = "HPUB", [len(head), len(head) + len(data)]
        words = [verb, subject, *([reply] if reply else []), *map(str, sizes)]
        self._socket.sendall(" ".join(words).encode() + b"\r\n" + head + data + b"\r\n")

    def subscribe(self, subject):
        self._subscriptions += 1
        self._socket.sendall(f"SUB {subject} {self._subscriptions}\r\n".encode())
        return self._subscriptions

    def flush(self):
        """Returns when the server has read all that was sent."""
        self._socket.sendall(b"PING\r\n")
        while (line := self._line()) != "PONG":
            self._read(line)

    def _read(self, line):
        """(subject, reply, data) if the line begins a message."""
        words = line.split()
        if line == "PING":
            self._socket.sendall(b"PONG\r\n")
        elif words[:1] == ["MSG"]:
            return words[1], words[3] if len(words) == 5 else "", self._take(int(words[-1]))
        elif words[:1] == ["HMSG"]:
            return words[1], words[3] if len(words) == 6 else "", self._take(int(words[-1]))[int(words[-2]):]
        elif words[:1] == ["-ERR"]:
            raise ConnectionError(line)
        return None

    def next(self, seconds=iqd.PATIENCE):
        """The next message: (subject, reply, data), or None."""
        self._socket.settimeout(seconds)
        try:
            while (message := self._read(self._line())) is None:
                pass
            return message
        except TimeoutError:
            return None
        finally:
            self._socket.settimeout(iqd.PATIENCE)

    def request(self, subject, data=b"", headers=None, seconds=iqd.PATIENCE):
        """The data of the answer; None: no answer in time; empty: also where nobody answers."""
        inbox = f"_INBOX.test{os.getpid()}.{self._subscriptions + 1}"
        number = self.subscribe(inbox)
        self.publish(subject, data, inbox, headers)
        ends = time.monotonic() + seconds
        answer = None
        while answer is None and (left := ends - time.monotonic()) > 0:
            message = self.next(left)
            if message and message[0] == inbox:
                answer = message[2]
        self._socket.sendall(f"UNSUB {number}\r\n".encode())
        return answer

    def ask(self, what, seconds=iqd.PATIENCE, **keys):
        """An answer of JetStream's, such as to `STREAM.INFO.name`."""
        answer = self.request(f"$JS.API.{what}", json.dumps(keys).encode() if keys else b"", seconds=seconds)
        return json.loads(answer) if answer else {}


def _crc16(data):
    crc = 0
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ 0x1021 if crc & 0x8000 else crc << 1) & 0xFFFF
    return crc


def _text(data):
    return base64.b32encode(data + struct.pack("<H", _crc16(data))).decode().rstrip("=")


def make_key(path):
    """Writes the seed of a new user to `path`; returns the public key."""
    private = subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-outform", "DER"], capture_output=True,
                             check=True).stdout
    public = subprocess.run(["openssl", "pkey", "-inform", "DER", "-pubout", "-outform", "DER"], input=private,
                            capture_output=True, check=True).stdout
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        print(_text(bytes([SEED | USER >> 5, (USER & 31) << 3]) + private[-32:]), file=file)
    return _text(bytes([USER]) + public[-32:])
