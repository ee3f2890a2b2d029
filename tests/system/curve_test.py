# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""CURVE keys: peers with the right keys read, others get nothing and are counted; the stream is unaffected."""

import concurrent.futures
import os
import socket
import subprocess
import sys
import threading
import unittest

import zmq

import iqd

PAGE = iqd.ROOT / "docs" / "security.md"


def key_of(path):
    """The key in a file of `iqd keygen`."""
    words = path.read_text(encoding="ascii").split()
    return (words[1] if path.suffix == ".secret" else words[0]).encode()


class CurveReader(iqd.Reader):
    """A SUB socket as docs/security.md describes it; `own` and `server` are paths without a suffix."""

    def __init__(self, where, topic, own=None, server=None):
        self.socket = zmq.Context.instance().socket(zmq.SUB)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.SUBSCRIBE, f"{topic} ".encode())
        if own:
            secret = key_of(own.with_suffix(".secret"))
            self.socket.curve_secretkey = secret
            self.socket.curve_publickey = zmq.curve_public(secret)
            self.socket.curve_serverkey = key_of(server.with_suffix(".pub"))
        self.socket.connect(where)


class Curve(iqd.SystemTest):
    def setUp(self):
        super().setUp()
        for name in ("lab", "bob", "eve"):
            done = iqd.command("keygen", name, "--directory", self.folder)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.allow("bob")

    def key(self, name):
        return self.folder / name

    def allow(self, *names):
        """Writes these keys to the list; replaces it in one step, as editors do."""
        text = "".join((self.folder / f"{name}.pub").read_text(encoding="ascii") for name in names)
        (self.folder / "list.new").write_text("# readers\n" + text, encoding="ascii")
        os.replace(self.folder / "list.new", self.folder / "list")

    def curve(self, allow="list"):
        allow = allow if allow == "any" else self.folder / allow
        return f"{{secret: {self.folder}/lab.secret, allow: {allow}}}"

    def document(self, where, curve=None, rate=200e3):
        return (f"name: test\nsource: {{soapy: {{args: driver=iqdsim, rate: {rate}}}}}\nblock: 4096\npublish:\n"
                f"  - {{port: source, topic: iq, bind: \"{where}\", curve: {curve or self.curve()}}}\n")

    def curve_reader(self, where, own=None, server="lab", topic="iq"):
        reader = CurveReader(where, topic, own and self.key(own), server and self.key(server))
        self._readers.append(reader)
        return reader

    def assertNoSecretIn(self, *texts):
        for name in ("lab", "bob", "eve"):
            secret = key_of(self.folder / f"{name}.secret").decode()
            for text in texts:
                self.assertNotIn(secret, text)

    def test_who_may_read(self):
        where = iqd.endpoint()
        with self.daemon(self.document(where)) as daemon:
            bob = self.curve_reader(where, "bob")
            messages = bob.take(5)
            daemon.wait_for(lambda s: s["endpoints"][0]["connected"] == 1)
            failures = 0
            # A refused peer retries ten times a second, and may be counted once more after it closed.
            for own, server in (("eve", "lab"), (None, None), ("bob", "eve")):
                refused = self.curve_reader(where, own, server)
                status = daemon.wait_for(lambda s, f=failures: s["endpoints"][0]["handshake_failures"] > f)
                self.assertIsNone(refused.receive(0.5), (own, server))
                refused.close()
                failures = status["endpoints"][0]["handshake_failures"]
            daemon.wait_for(lambda s: s["endpoints"][0]["connected"] == 1)
            self.assertEqual(status["endpoints"][0]["endpoint"], where)
            self.assertContinuous(messages + bob.rest(0.01))
            daemon.wait_for_log("is not in")
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertNoSecretIn(daemon.text, str(daemon.statuses))
        explained = iqd.command("explain", self.folder / "pipeline.yaml")
        self.assertNoSecretIn(explained.stdout, explained.stderr)

    def test_a_list_that_changes(self):
        where = iqd.endpoint()
        with self.daemon(self.document(where)) as daemon:
            bob, eve = self.curve_reader(where, "bob"), self.curve_reader(where, "eve")
            bob.take(1)
            daemon.wait_for(lambda s: s["endpoints"][0]["handshake_failures"] > 0)
            daemon.wait_for(lambda s: True)  # wait a second: iqd logs at most one line a second
            (self.folder / "list").write_text("not a key\n", encoding="ascii")
            late = self.curve_reader(where, "eve")
            daemon.wait_for_log("until the list is fixed")
            self.assertIsNone(late.receive(0.5))
            self.allow("eve")
            eve.take(3)
            late.take(3)
            bob.rest(0)
            bob.take(3)  # connected peers stay connected
            self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_anybody_who_knows_the_publishers_key(self):
        where = iqd.endpoint()
        with self.daemon(self.document(where, self.curve("any"))) as daemon:
            plain = self.curve_reader(where, None)
            self.curve_reader(where, "eve").take(3)
            self.assertIsNone(plain.receive(0.2))
            self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_keys_that_are_wrong_stop_it_before_it_starts(self):
        path = self.folder / "p.yaml"
        secret = self.folder / "lab.secret"

        def refused(curve, *words):
            path.write_text(self.document("tcp://127.0.0.1:5999", curve), encoding="utf-8")
            for command in ("check", "run"):
                done = iqd.command(command, path)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, r"p\.yaml:5:\d+ publish\[0\]\.curve")
                for word in words:
                    self.assertIn(word, done.stderr)
                self.assertNoSecretIn(done.stdout, done.stderr)

        refused(f"{{secret: {self.folder}/none, allow: any}}", "No such file")
        refused(f"{{secret: {self.folder}/lab.pub, allow: any}}", "chmod 600")
        (self.folder / "lab.pub").chmod(0o600)
        refused(f"{{secret: {self.folder}/lab.pub, allow: any}}", "holds a public key")
        refused(f"{{secret: {secret}, allow: {self.folder}/bob.secret}}", "line 1 is a secret key")
        refused(f"{{secret: {secret}, allow: {self.folder}}}", "is not a file with keys")
        refused(f"{{secret: {secret}}}", "needs `allow:`")
        (self.folder / "list").chmod(0o666)
        refused(self.curve(), f"chmod o-w {self.folder}/list")
        secret.chmod(0o644)
        refused(self.curve(), f"chmod 600 {secret}")

    def test_one_iqd_reads_another(self):
        """samples: publisher -> source (which connects), whose sink -> a third, which binds."""
        where, there, level = iqd.endpoint(), iqd.endpoint(), iqd.endpoint()
        client = f"{{secret: {self.folder}/bob.secret, server: {self.folder}/lab.pub}}"
        relay = (f"name: relay\nsource: {{zmq: {{connect: \"{where}\", topic: iq, rate: 200e3, element: sc16, "
                 f"curve: {client}}}}}\nblock: 4096\n"
                 f"sinks:\n  - {{port: source, zmq: {{connect: \"{there}\", topic: iq, curve: {client}}}}}\n")
        last = (f"name: last\nsource: {{zmq: {{bind: \"{there}\", kind: pull, rate: 200e3, element: sc16, "
                f"curve: {self.curve()}}}}}\nblock: 4096\n"
                f"publish:\n  - {{port: source, topic: iq, bind: \"{level}\"}}\n")
        with self.daemon(last, name="last.yaml") as third, self.daemon(relay, name="relay.yaml") as second, \
                self.daemon(self.document(where)) as first:
            messages = self.reader(level, "iq").take(10)
            for daemon in (first, second, third):
                self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertContinuous(messages, lossless=False)

    def test_a_flood_of_rubbish(self):
        where = iqd.endpoint()
        port = int(where.rsplit(":", 1)[1])
        done = threading.Event()
        knocks = [0]

        def flood():
            while not done.is_set():
                try:
                    with socket.create_connection(("127.0.0.1", port), 5) as s:
                        s.sendall(os.urandom(1 + knocks[0] % 200))
                except OSError:
                    pass
                knocks[0] += 1

        with self.daemon(self.document(where), "--wait-subscribers", 1) as daemon:
            bob = self.curve_reader(where, "bob")
            first = bob.receive()
            thread = threading.Thread(target=flood)
            thread.start()
            try:
                messages = [first] + bob.take(200)
            finally:
                done.set()
                thread.join()
            daemon.wait_for(lambda s: s["endpoints"][0]["handshake_failures"] > 10)
            daemon.wait_for(lambda s: s["endpoints"][0]["connected"] == 1)
            self.assertEqual(daemon.stop(), 0, daemon.text)
            self.assertEqual(daemon.final[0]["ports"][0]["refused"], 0)
        self.assertGreater(knocks[0], 10)
        self.assertContinuous(messages, lossless=False)

    def sub(self, *arguments):
        return iqd.command("sub", *arguments, "--quiet")

    def subs(self, *all_arguments):
        """Runs several at once."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            return list(pool.map(lambda arguments: self.sub(*arguments), all_arguments))

    def assertHints(self, *all_arguments):
        """Of several readers at once: the words that each must say, and its arguments."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for (words, *_), said in zip(all_arguments, pool.map(lambda a: iqd.hints_of(*a), all_arguments)):
                self.assertIn(words, said)

    def test_sub_has_keys_and_says_what_may_be_wrong(self):
        where = iqd.endpoint()
        keys = ["--key", self.folder / "bob.secret", "--server", self.folder / "lab.pub"]
        with self.daemon(self.document(where)) as daemon:
            daemon.wait_for(lambda s: s["received"] > 0)
            good = self.sub(where, "iq", "--count", 3, "--seconds", iqd.PATIENCE, *keys)
            self.assertEqual((good.returncode, good.stderr), (0, ""))
            plain = [where, "iq"]
            wrong = [where, "iq", "--key", self.folder / "eve.secret", *keys[2:]]
            nobody = [iqd.endpoint(), "iq", *keys]
            self.assertHints(("the publisher has `curve:`: give --server and --key", *plain),
                             ("the handshake fails: --server must be", *wrong),
                             ("nothing listens there", *nobody))
            done = self.subs(*([*arguments, "--seconds", 1] for arguments in (plain, wrong, nobody)))
            self.assertEqual([d.returncode for d in done], [1, 1, 1])
            self.assertEqual(daemon.stop(), 0, daemon.text)
        self.assertEqual(self.sub(where, "iq", *keys[:2]).returncode, 2)

    def test_sub_can_be_the_side_that_binds(self):
        where = iqd.endpoint()
        client = f"{{secret: {self.folder}/bob.secret, server: {self.folder}/lab.pub}}"
        text = self.document(where, client).replace("bind:", "kind: push, connect:")
        with self.daemon(text) as daemon:
            got = self.sub(where, "iq", "--push", "--bind", "--count", 3, "--seconds", iqd.PATIENCE,
                           "--key", self.folder / "lab.secret", "--allow", self.folder / "list")
            self.assertEqual(got.returncode, 0, got.stderr)
            self.assertIn("1 key(s) in", got.stderr)
            self.assertEqual(daemon.stop(), 0, daemon.text)

    @unittest.skipUnless(PAGE.exists(), "a bundle has no docs")
    def test_the_example_for_python_runs(self):
        where = iqd.endpoint()
        page = PAGE.read_text(encoding="utf-8")
        example = page.split("```python\n")[1].split("```")[0]
        for name, real in (("tcp://basestation:5555", where), ("basestation", "lab"), ("alice", "bob"),
                           ("while True:", "if True:")):
            self.assertIn(name, example)
            example = example.replace(name, real)
        with self.daemon(self.document(where)) as daemon:
            done = subprocess.run([sys.executable, "-c", example], cwd=self.folder, capture_output=True, text=True,
                                  timeout=iqd.PATIENCE, check=False)
            self.assertIn('iq {"v":1', done.stdout, done.stderr)
            self.assertEqual(daemon.stop(), 0, daemon.text)

    def test_keygen(self):
        def keygen(*arguments):
            return iqd.command("keygen", *arguments, cwd=self.folder)

        made = keygen("new")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertIn("curve: {secret: ", made.stdout)
        self.assertNotIn(key_of(self.folder / "new.secret").decode(), made.stdout)
        self.assertEqual((self.folder / "new.secret").stat().st_mode & 0o777, 0o600)
        self.assertEqual(zmq.curve_public(key_of(self.folder / "new.secret")), key_of(self.folder / "new.pub"))
        before = (self.folder / "new.secret").read_bytes()
        again = keygen("new")
        self.assertEqual(again.returncode, 1)
        self.assertIn("--force", again.stderr)
        self.assertEqual((self.folder / "new.secret").read_bytes(), before)
        self.assertEqual(keygen("new", "--force").returncode, 0)
        self.assertNotEqual((self.folder / "new.secret").read_bytes(), before)
        self.assertEqual(keygen("../x").returncode, 2)


if __name__ == "__main__":
    unittest.main()
