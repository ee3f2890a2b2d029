# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""A cluster of Slurm on this machine, of its own, for tests: munged, slurmctld, and slurmd for each node."""

import os
import pathlib
import shutil
import socket
import subprocess
import time

import iqd

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
CONFIGURATION = """ClusterName=lab
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
MpiDefault=none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
SlurmctldPort={port}
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmdSpoolDir={folder}/spool-%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SlurmdTimeout=10
SlurmdParameters=config_overrides
JobRequeue=1
NodeName=h[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{ports}] CPUs=1 State=UNKNOWN
PartitionName=archive Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
PATIENCE = 30


def why_not():
    """Why there is no cluster here; empty if there can be one."""
    if os.geteuid() != 0:
        return "slurmd needs root"
    missing = [p for p in PROGRAMS if not find(p)]
    return f"not installed: {', '.join(missing)}" if missing else ""


def find(program):
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


class NotStarted(Exception):
    """Slurm does not run on this machine. That is not a fault of iqd."""


class Cluster:
    """`nodes` nodes of one CPU each. Ends with the `with` block."""

    def __init__(self, folder, nodes=2):
        self.folder, self.nodes = pathlib.Path(folder), nodes
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}
        self.processes = {}

    def __enter__(self):
        self.folder.mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=socket.gethostname(), folder=self.folder, nodes=self.nodes, port=iqd.free_port(),
            ports=",".join(str(iqd.free_port()) for _ in range(self.nodes))), encoding="utf-8")
        (self.folder / "state").mkdir()
        try:
            self.start("munged", "--foreground", "--force", f"--socket={self.folder}/munge.sock",
                       f"--key-file={key}", f"--pid-file={self.folder}/munged.pid",
                       f"--log-file={self.folder}/munged.log", f"--seed-file={self.folder}/munged.seed")
            self.wait_for((self.folder / "munge.sock").exists, "munged")
            self.start_controller()
            for node in range(1, self.nodes + 1):
                self.start("slurmd", "-D", "-N", f"h{node}", name=f"h{node}")
            self.wait_for(lambda: self.ask("sinfo", "--noheader", "--format=%t %D") == f"idle {self.nodes}", "sinfo")
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.ask("scancel", "--user=root", "--full", "--signal=KILL")
        self.end()

    def end(self):
        for process in reversed(self.processes.values()):
            process.kill()
            process.wait()

    def start(self, program, *arguments, name=None):
        with (self.folder / f"{name or program}.out").open("w") as out:
            self.processes[name or program] = subprocess.Popen(
                [find(program), *arguments], env=self.environment, stdout=out, stderr=subprocess.STDOUT)

    def start_controller(self):
        self.start("slurmctld", "-D")

    def kill(self, name):
        self.processes[name].kill()
        self.processes[name].wait()

    def ask(self, *command):
        """What a program says; nothing if it does not end."""
        try:
            return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False,
                                  timeout=PATIENCE).stdout.strip()
        except subprocess.TimeoutExpired:
            return ""

    def wait_for(self, condition, what):
        ends = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > ends:
                logs = [f"{p.name}: {p.read_text(errors='replace')[-600:]}" for p in self.folder.glob("*.log")]
                raise NotStarted("\n".join([f"{what}: not ready", *logs]))
            time.sleep(0.1)
