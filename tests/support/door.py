# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The HTTP port of a running daemon, for system tests."""

import http.client
import json
import re
import socket
import time

import iqd

SERIES = re.compile(r'([a-z_]+)(?:\{(.*)\})? (\S+)')


def simulated(args="", rate=1e6, stages="", more=""):
    return (f"name: test\nsource: {{soapy: {{args: \"driver=iqdsim,{args}\", rate: {rate}}}}}\nblock: 4096\n"
            f"stages: [{stages}]\n{more}publish: [{{port: source, topic: t, bind: \"{iqd.endpoint()}\"}}]\n")


class Door:
    """The HTTP port of a daemon."""

    def __init__(self, daemon):
        daemon.wait_for_log("http: listening on ")
        self.host, port = re.search(r"http: listening on (\S+):(\d+)", daemon.text).groups()
        self.port = int(port)

    def ask(self, method, path, body=None, headers=None):
        """Status and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=iqd.PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def get(self, path):
        status, body = self.ask("GET", path)
        assert status == 200, (status, body)
        return body

    def change(self, method, path, keys=None):
        """Requests a change: status, and the answer."""
        status, body = self.ask(method, path, None if keys is None else json.dumps(keys))
        return status, json.loads(body)

    def status(self):
        return json.loads(self.get("/api/status"))["pipelines"][0]

    def series(self):
        """The metrics: name with labels as a dictionary → value."""
        found = {}
        for line in self.get("/metrics").splitlines():
            if not line.startswith("#"):
                name, labels, value = SERIES.fullmatch(line).groups()
                found[name, frozenset(re.findall(r'([a-z_]+)="([^"]*)"', labels or ""))] = float(value)
        return found

    def wait_for_state(self, path, status, seconds=iqd.PATIENCE):
        ends = time.monotonic() + seconds
        while (answer := self.ask("GET", path))[0] != status:
            assert time.monotonic() < ends, f"{path} stays at {answer}"
            time.sleep(0.05)
        return answer[1]

    def raw(self, data):
        """Sends bytes, and returns what arrives until the other end closes or is silent for a while."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as s:
            answer = b""
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                while part := s.recv(65536):
                    answer += part
            except OSError:
                pass
            return answer
