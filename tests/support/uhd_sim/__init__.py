# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A USRP without hardware: the simulator of Debian's python3-uhd (an E320 with one working channel), for tests.

    if reason := uhd_sim.enter_namespace(): …    # skip
    with uhd_sim.UhdSim(folder, samples) as sim:
        …                                        # libuhd's args: uhd_sim.ARGS

It uses fixed ports on all addresses, so the whole test program runs in its own network namespace. It repeats `samples`,
sends them at the configured rate, and writes what is transmitted to `sim.transmitted`. It loses packets and stalls on
demand. With `clock=True` it has a clock, external sources and sensors (radio.py). A second board has its own network
namespace, and forms an array with the first: uhd_sim.ARRAY_ARGS. It cannot do: two channels of one board, tuning,
underflows.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

import numpy as np

ARGS = "addr=127.0.0.1,type=e3xx"
ARRAY_ARGS = "addr0=127.0.0.1,addr1=10.99.1.2"
PACKET_SAMPLES = 371
DISCOVERY_PORT, RPC_PORT = 49600, 49601
SERIAL = "FA4EDE7"
PYTHON = "/usr/bin/python3"  # Debian's modules belong to Debian's Python
INSIDE = "IQD_TEST_IN_NAMESPACE"
MODULES = "uhd.chdr, gevent, msgpack, pyroute2, pyudev, netaddr, six, systemd"  # python3-uhd brings usrp_mpm as well
# libuhd discovers devices by broadcast, which a loopback alone does not support.
NETWORK = "ip link set lo up && ip link add usrp0 type veth peer name usrp1 && " \
          "ip address add 10.99.0.1/24 dev usrp0 && ip link set usrp0 up && ip link set usrp1 up"


def why_not():
    """Why the simulator cannot run here; empty if it can."""
    for program in ("unshare", "ip", PYTHON):
        if not shutil.which(program):
            return f"there is no {program}"
    modules = subprocess.run([PYTHON, "-c", f"import {MODULES}"], capture_output=True, text=True, check=False)
    if modules.returncode:
        return f"the packages of tools/setup are not all installed: {modules.stderr.strip().splitlines()[-1]}"
    return "" if unshare() else "cannot create a network namespace here, not even as root"


def unshare():
    """The command that creates a network namespace: as a user, or as root if users may not; empty if impossible."""
    for command in (["unshare", "-rn"], ["unshare", "-n"]):
        if subprocess.run([*command, "sh", "-c", NETWORK], capture_output=True, check=False).returncode == 0:
            return command
    return []


def enter_namespace():
    """Restarts this program in its own network namespace; returns there, or with the reason why it cannot."""
    if os.environ.get(INSIDE):
        return ""
    if reason := why_not():
        return reason
    os.environ[INSIDE] = "1"
    os.execvp("unshare", [*unshare(), "sh", "-c", f'{NETWORK} && exec "$@"', "sh", sys.executable, *sys.orig_argv[1:]])


def answers(address="127.0.0.1"):
    """Whether it answers discovery and calls, which have a process each."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as finder, socket.socket() as caller:
        finder.settimeout(0.5)
        try:
            finder.connect((address, DISCOVERY_PORT))
            finder.send(b"MPM-DISC")
            return b"e3xx" in finder.recv(1 << 14) and caller.connect_ex((address, RPC_PORT)) == 0
        except OSError:
            return False


class UhdSim:
    """The simulator as a process; `samples`: int16 [n][2]; it uses whole packets of them."""

    def __init__(self, folder, samples, clock=False, board=0):
        self.folder = pathlib.Path(folder) / f"board{board}"
        self.folder.mkdir(exist_ok=True)
        self._clock, self._board = clock, board
        self._address = "10.99.1.2" if board else "127.0.0.1"
        self.period = len(samples) // PACKET_SAMPLES * PACKET_SAMPLES
        self.transmitted = self.folder / "transmitted.sc16"
        self._fault = self.folder / "fault"
        self._behaves = self.folder / "behaves"
        self._dropped = self.folder / "dropped"
        np.ascontiguousarray(samples[:self.period], "<i2").tofile(self.folder / "received.sc16")
        (self.folder / "sim.cfg").write_text(
            f"[hardware]\npreset = E320\nserial_num = {SERIAL[:-1]}{int(SERIAL[-1]) + board}\n"
            "[sample.source]\nclass = FileSource\nread_file = received.sc16\nrepeat = True\n"
            "[sample.sink]\nclass = FileSink\nwrite_file = transmitted.sc16\n", encoding="utf-8")
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()

    def start(self, seconds=30):
        here = pathlib.Path(__file__).parent
        command = [PYTHON, "-B", str(here / "simulator.py"), "sim.cfg", *(["clock"] if self._clock else [])]
        if self._board:
            command = ["unshare", "-n", "sh", "-c", 'read ready && exec "$@"', "sh", *command]
        with open(self.folder / "sim.log", "ab") as log:
            self.process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.PIPE, stdout=log, stderr=log,
                                            start_new_session=True, env={**os.environ, "PYTHONPATH": str(here)})
        ends = time.monotonic() + seconds
        if self._board:
            self._connect(ends)
        self.process.stdin.close()
        while time.monotonic() < ends and self.process.poll() is None:
            if answers(self._address):
                return
            time.sleep(0.05)
        raise AssertionError(f"the simulator does not start:\n{self.log}")

    def _connect(self, ends):
        """A cable from here to the board's own network namespace; it goes with the board."""
        there = f"/proc/{self.process.pid}/ns/net"
        while os.readlink(there) == os.readlink("/proc/self/ns/net"):
            assert time.monotonic() < ends, "cannot create a network namespace for the board"
            time.sleep(0.01)
        here, far = f"usrp{2 * self._board}", f"usrp{2 * self._board + 1}"
        inside = f"ip link set lo up && ip address add {self._address}/24 dev {far} && ip link set {far} up"
        for command in (["ip", "link", "add", here, "type", "veth", "peer", "name", far, "netns", str(self.process.pid)],
                        ["ip", "address", "add", "10.99.1.1/24", "dev", here], ["ip", "link", "set", here, "up"],
                        ["nsenter", "-t", str(self.process.pid), "-n", "sh", "-c", inside]):
            subprocess.run(command, check=True)
        self.process.stdin.write(b"\n")

    def kill(self):
        """Acts as if it were unplugged."""
        if self.process:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def freeze(self):
        """It stops answering, but keeps running."""
        os.killpg(self.process.pid, signal.SIGSTOP)

    @property
    def log(self):
        return (self.folder / "sim.log").read_text(encoding="utf-8", errors="replace")

    def drop_one_of(self, packets, burst=1):
        """From now on: one of N packets is lost, or `burst` in a row."""
        self._say(f"drop {packets} {burst}")

    def swap_one_of(self, packets):
        """From now on: one of N packets is swapped with the next."""
        self._say(f"swap {packets}")

    def double_one_of(self, packets):
        """From now on: one of N packets is sent twice."""
        self._say(f"double {packets}")

    def damage_one_of(self, packets):
        """From now on: one of N packets has an invalid header."""
        self._say(f"damage {packets}")

    def jump(self, seconds):
        """Once: steps the time of what is sent from now on."""
        self._say(f"jump {seconds}")

    def stall(self, seconds):
        """Once: sends nothing for this time; what was due meanwhile is sent later."""
        self._say(f"stall {seconds}")

    def unlock(self, *names):
        """From now on these are not locked: reference, gps, pps, lo. All others are."""
        (self.folder / "unlocked").write_text(" ".join(names), encoding="utf-8")

    @property
    def calls(self):
        """All calls to the front ends so far, each as its words."""
        calls = self.folder / "calls"
        return [line.split() for line in calls.read_text(encoding="utf-8").splitlines()] if calls.exists() else []

    def behave(self, seconds=30):
        """Ends all faults; returns when the simulator has noticed."""
        self._behaves.unlink(missing_ok=True)
        self._fault.unlink(missing_ok=True)
        ends = time.monotonic() + seconds
        while not self._behaves.exists():
            assert time.monotonic() < ends, self.log
            time.sleep(0.02)

    def _say(self, fault):
        draft = self.folder / "fault.new"
        draft.write_text(fault, encoding="utf-8")
        draft.rename(self._fault)

    @property
    def dropped(self):
        """Packets lost on purpose so far."""
        return self._dropped.stat().st_size if self._dropped.exists() else 0
