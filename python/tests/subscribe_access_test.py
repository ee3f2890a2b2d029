# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd.subscribe: keys, contexts, Ctrl-C, and missing modules."""

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import zmq

import iqd
from publisher import PATIENCE, SubscribeTest, json_frames, ramp

PACKAGE = pathlib.Path(iqd.__file__).parent.parent


class Keys(SubscribeTest):
    def setUp(self):
        super().setUp()
        self.keys = {}
        for name in ("radio", "me", "stranger"):
            public, secret = self.keys[name] = zmq.curve_keypair()
            self.write(f"{name}.secret", b"secret " + secret + b" " + name.encode(), 0o600)
            self.write(f"{name}.pub", public + b" " + name.encode(), 0o644)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content, mode):
        path = pathlib.Path(self.path(name))
        path.write_bytes(content + b"\n")
        path.chmod(mode)
        return str(path)

    def guarded(self):
        """A publisher with keys that admits everyone who knows its public key."""
        def set_up(socket):
            socket.curve_server = True
            socket.curve_publickey, socket.curve_secretkey = self.keys["radio"]
        return self.publisher(set_up=set_up)

    def test_files_of_keygen_and_keys_themselves(self):
        for key, server in ((self.path("me.secret"), self.path("radio.pub")),
                            (pathlib.Path(self.path("me.secret")), pathlib.Path(self.path("radio.pub"))),
                            (self.keys["me"][1], self.keys["radio"][0]),
                            (self.keys["me"][1].decode(), self.keys["radio"][0].decode()),
                            (None, self.path("radio.pub"))):
            publisher = self.guarded()
            with iqd.subscribe(publisher.endpoint, key=key, server=server, timeout=PATIENCE) as sub:
                publisher.await_reader()
                publisher.send(json_frames("t", ramp(3)))
                self.assertEqual(next(sub).data.tolist(), [0, 1, 2])

    def test_why_a_handshake_fails(self):
        stranger = self.path("stranger.pub")
        guarded, plain, push = self.guarded(), self.publisher(), self.publisher(zmq.PUSH)
        me = self.path("me.secret")
        for publisher, options, words in (
                (guarded, {}, "has `curve:`"),
                (guarded, {"key": me, "server": stranger}, "server= must be the publisher's public key"),
                (plain, {"key": me, "server": stranger}, "publisher has no `curve:`"),
                (push, {}, "is not `kind: pub`"), (plain, {"kind": "pull"}, "is not `kind: push`"),
                (plain, {"topic": "x"}, "connected, but no message of topic 'x'")):
            with iqd.subscribe(publisher.endpoint, timeout=0.5, **options) as sub:
                with self.assertRaises(iqd.Timeout) as caught:
                    next(sub)
            self.assertIn(words, str(caught.exception))

    def test_a_side_that_binds_has_a_list(self):
        where = "ipc://" + self.path("in")
        readers = self.write("readers", self.keys["me"][0] + b" me", 0o644)

        def set_up(name):
            def give(socket):
                socket.curve_publickey, socket.curve_secretkey = self.keys[name]
                socket.curve_serverkey = self.keys["radio"][0]
            return give
        with iqd.subscribe(where, kind="pull", bind=True, key=self.path("radio.secret"), allow=readers) as sub:
            for name in ("stranger", "me"):
                self.publisher(zmq.PUSH, connect=where, set_up=set_up(name)).send(json_frames(name, ramp(1)))
            self.assertEqual(sub.receive(PATIENCE).topic, "me")
            self.assertRaises(iqd.Timeout, sub.receive, 0.5)
        with iqd.subscribe(where, kind="pull", bind=True, key=self.path("radio.secret"), allow="any") as sub:
            self.publisher(zmq.PUSH, connect=where, set_up=set_up("stranger")).send(json_frames("stranger", ramp(1)))
            while sub.receive(PATIENCE).topic != "stranger":  # the other publisher may come again
                pass

    def test_wrong_keys_and_files(self):
        me, pub = self.path("me.secret"), self.path("radio.pub")
        open_secret = self.write("open.secret", b"secret " + self.keys["me"][1], 0o644)
        loose = self.write("loose.pub", self.keys["me"][0], 0o666)
        mine = self.write("mine.pub", self.keys["me"][0], 0o600)
        junk = self.write("junk", b"no key", 0o600)
        two = self.write("two.pub", self.keys["me"][0] + b"\n" + self.keys["radio"][0], 0o644)
        for options, words in (
                ({"key": me}, "server= is missing"), ({"key": me, "server": pub, "allow": "any"}, "server= is missing"),
                ({"key": open_secret, "server": pub}, "chmod 600"), ({"key": me, "server": loose}, "chmod o-w"),
                ({"key": mine, "server": pub}, "holds a public key"), ({"key": me, "server": me}, "is a secret key"),
                ({"key": junk, "server": pub}, "is not a secret key"), ({"key": me, "server": junk}, "line 1 is not"),
                ({"key": me, "server": two}, "holds 2 public keys"), ({"key": "/no", "server": pub}, "cannot be read"),
                ({"key": self.folder, "server": pub}, "cannot be read"),
                ({"key": me, "kind": "pull", "bind": True}, "give key= and allow=")):
            with self.assertRaises(iqd.ConfigError) as caught:
                iqd.subscribe("tcp://127.0.0.1:1", **options)
            self.assertIn(words, str(caught.exception))
            self.assertNotIn(self.keys["me"][1].decode(), str(caught.exception))


class Programs(SubscribeTest):
    def run_program(self, text, *options, **more):
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
        return subprocess.Popen([sys.executable, *options, "-c", textwrap.dedent(text)], env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def output_of(self, *arguments):
        process = self.run_program(*arguments)
        out, error = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, error)
        return out.strip()

    def test_ctrl_c_ends_it_at_once_and_leaves_no_socket(self):
        publisher = self.publisher()
        threading.Thread(target=self.publish, args=(publisher,), daemon=True).start()
        for topic in ("quiet", "t"):
            for body in ("pass", "time.sleep(0.01)"):
                process = self.run_program(f"""
                    import time, zmq, iqd
                    sub = iqd.subscribe("{publisher.endpoint}", "{topic}")
                    print("reads", flush=True)
                    try:
                        for m in sub:
                            {body}
                    except KeyboardInterrupt:
                        pass
                    del sub
                    began = time.monotonic()
                    zmq.Context.instance().term()
                    print("term", time.monotonic() - began < 1)
                """)
                self.assertEqual(process.stdout.readline(), "reads\n")
                time.sleep(0.3)
                began = time.monotonic()
                process.send_signal(signal.SIGINT)
                out, error = process.communicate(timeout=PATIENCE)
                self.assertEqual((out, process.returncode), ("term True\n", 0), error)
                self.assertLess(time.monotonic() - began, 2)

    @staticmethod
    def publish(publisher):
        try:
            while True:
                publisher.send(json_frames("t", ramp(10)))
                time.sleep(0.001)
        except zmq.ZMQError:
            pass

    def test_missing_modules_are_named(self):
        for module, package in (("numpy", "python3-numpy"), ("zmq", "python3-zmq")):
            said = self.output_of(f"""
                import sys
                sys.modules["{module}"] = None
                import iqd
                try:
                    iqd.subscribe
                except iqd.MissingModule as error:
                    print(isinstance(error, ImportError), error)
            """)
            self.assertRegex(said, f"^True iqd.subscribe needs the module {module}: install {package}")

    def test_nothing_is_loaded_before_it_is_needed(self):
        said = self.output_of("""
            import sys, iqd
            print([m for m in ("numpy", "zmq") if m in sys.modules])
            iqd.subscribe("tcp://127.0.0.1:9")
            print([m for m in ("asyncio", "http.client", "zmq.asyncio", "logging") if m in sys.modules])
        """)
        self.assertEqual(said, "[]\n[]")


if __name__ == "__main__":
    unittest.main()
