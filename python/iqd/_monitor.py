# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Calls the HTTP port of a running iqd (docs/http.md)."""

import http.client
import json
import os
import socket
from urllib.parse import quote

from iqd._errors import ConfigError, Error
from iqd._keys import read_token

_PATIENCE = 10.0  # an answer that takes longer is none…
_PATIENCE_OF_CHANGE = 120.0  # …but a change may close a radio and open another


class NothingAnswers(Error):
    """No connection was made."""


class NoSuchName(Error, KeyError):
    """A pipeline, stage or key that the daemon does not have."""

    __str__ = Exception.__str__


def parse_address(text):
    """(host, port) of `HOST:PORT`, `HOST`, `PORT`, `:PORT` or `[ADDRESS]:PORT`, also as the URL `http://…/`. What is
    missing is 127.0.0.1 and 9464."""
    def refuse(why):
        raise ConfigError(f"'{text}' is not the address of a monitor: {why}; use HOST:PORT, such as 127.0.0.1:9464")
    rest = str(text)
    if rest.startswith("https://"):
        refuse("a monitor has no TLS")
    rest = rest.removeprefix("http://").rstrip("/")
    if not rest or set(rest) & set("/ @?#"):
        refuse("expected a host and a port")
    host, colon, port = rest.rpartition(":")
    if rest.isdigit():
        host, colon, port = "", ":", rest
    elif not colon or rest.endswith("]") or (":" in host and not host.startswith("[")):
        host, port = rest, "9464"  # an IPv6 address alone has no brackets
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        refuse(f"'{port}' is not a port (1 to 65535)")
    return host.strip("[]") or "127.0.0.1", int(port)


def _plain(value):
    """For JSON: arrays and NumPy's numbers as Python's, and complex numbers as pairs."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, complex):
        return [value.real, value.imag]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_plain(one) for one in value]
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def to_json(keys):
    """The text of keys and their values. Raises ConfigError for what iqd does not take."""
    try:
        return json.dumps(_plain(keys), allow_nan=False)
    except ValueError:
        raise ConfigError(f"{', '.join(map(str, keys))}: a number is NaN or infinite, which no key takes") from None
    except (TypeError, RecursionError) as error:
        raise ConfigError(f"{', '.join(map(str, keys))}: {error}") from None


class Monitor:
    """One request for each connection. Any thread."""

    def __init__(self, address, token=None):
        self.host, self.port = parse_address(address or os.environ.get("IQD_MONITOR") or "127.0.0.1:9464")
        self._token = None if token is None else read_token(token)
        self.as_shown = str  # what problems call the file

    @property
    def address(self):
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def open(self, method, path, body=None, patience=None):
        """A connection, and its answer. The caller closes the connection."""
        headers = {"Connection": "close"}
        if self._token is not None:
            headers["Authorization"] = "Bearer " + self._token
        if method != "GET":
            headers["Content-Type"] = "application/json"
        if patience is None:
            patience = _PATIENCE if method == "GET" else _PATIENCE_OF_CHANGE
        connection = http.client.HTTPConnection(self.host, self.port, timeout=patience)
        try:
            try:
                connection.connect()
            except OSError as error:
                raise NothingAnswers(
                    f"nothing answers on {self.address}: {error.strerror or error}. Is iqd running, with `monitor: "
                    f"{{listen: \"{self.address}\"}}` in its file?") from None
            connection.request(method, path, body, headers)
            return connection, connection.getresponse()
        except BaseException as error:
            connection.close()
            self._explain(error)
            raise

    def _explain(self, error):
        if isinstance(error, socket.timeout):
            raise Error(f"{self.address} gave no answer in time") from None
        if isinstance(error, http.client.BadStatusLine) and not isinstance(error, http.client.RemoteDisconnected):
            raise Error(f"{self.address} does not answer as an HTTP server does; is it the port of a `monitor`?"
                        ) from None
        if isinstance(error, (OSError, http.client.HTTPException)) and not isinstance(error, Error):
            raise Error(f"{self.address} gave no answer: {error}") from None

    def ask(self, method, path, body=None, patience=None):
        """(status, text)."""
        connection, answer = self.open(method, path, body, patience)
        try:
            return answer.status, answer.read().decode("utf-8", "replace")
        except (OSError, http.client.HTTPException) as error:
            self._explain(error)
            raise
        finally:
            connection.close()

    def call(self, method, path, keys=None):
        """The JSON of the answer. Raises ConfigError, NoSuchName or Error, with the daemon's reasons."""
        status, text = self.ask(method, path, None if keys is None else to_json(keys))
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if status == 200 and isinstance(answer, dict):
            return answer
        raise self.refusal(status, answer)

    def refusal(self, status, answer):
        """What an answer other than 200 means."""
        if status == 401:
            return Error(f"{self.address} requires a token for changes: give token=" if self._token is None
                         else f"{self.address} requires another token than that of token=")
        problems = answer.get("problems") if isinstance(answer, dict) else None
        if not isinstance(problems, list) or status == 405:
            return Error(f"{self.address} gave the answer {status}, which is none of iqd's: another program, or an "
                         "older iqd?")
        problems = [self.as_shown(str(problem)) for problem in problems]
        if status == 413:
            problems = ["the values are larger than 64 KiB: write them into a file, as `taps: \"@taps.npy\"`, and reload"]
        if status in (400, 413, 422):
            return ConfigError(problems)
        return (NoSuchName if status == 404 else Error)("\n".join(problems))


def path_of_stage(pipeline, stage=""):
    path = f"/api/pipelines/{quote(pipeline, safe='')}/stages" if pipeline else "/api/stages"
    return f"{path}/{quote(stage, safe='')}" if stage else path
