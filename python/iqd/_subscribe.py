# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Reads what an iqd publishes."""

import numpy as np

from iqd._errors import ConfigError
from iqd._feed import Keys, check_endpoint
from iqd._message import Message  # pylint: disable=unused-import
from iqd._seconds import seconds_of
from iqd._subscription import Subscription


class _Options:
    """How the sockets are opened."""

    def __init__(self, kind, bind, hwm, dtype):
        if kind not in ("sub", "pull"):
            raise ConfigError(f"kind '{kind}' is neither \"sub\" nor \"pull\"")
        if bind and kind != "pull":
            raise ConfigError("bind=True is for kind=\"pull\": a publisher that connects")
        try:
            np.dtype("<i2" if dtype == "sc16" else dtype)
        except TypeError:
            raise ConfigError(f"dtype {dtype!r} is not a type of samples, such as \"<f4\" or \"sc16\"") from None
        if hwm is not None and (not isinstance(hwm, int) or hwm < 0):
            raise ConfigError(f"hwm is {hwm!r}; it must be a number of messages, or 0 for any number")
        self.kind, self.bind, self.hwm, self.dtype = kind, bind, hwm, dtype


def _list_of(value):
    return list(value) if isinstance(value, (list, tuple, set)) else [value]


def _check_topics(topics):
    for topic in topics:
        if not isinstance(topic, str) or set(topic) & set(" \t\n"):
            raise ConfigError(f"{topic!r} is not a topic: a text without spaces")
    return topics


def subscribe(endpoint, topic="", *, key=None, server=None, allow=None, kind="sub", bind=False, timeout=None,
              reconnect=1.0, raise_on_gap=False, dtype=None, hwm=None, context=None):
    """Reads what an iqd publishes: `for message in iqd.subscribe("tcp://127.0.0.1:5555", "iq"):`.

    endpoint      such as tcp://host:5555 or ipc:///run/iqd/iq, or a list of them
    topic         exactly this topic, or each of a list; "" for all
    key, server   your secret key and the publisher's public key, if it has `curve:`: files of `iqd keygen`, or the keys
    kind          "pull" for a publisher with `kind: push`; with bind=True it connects to this side, and `allow` is the
                  file with the public keys that may connect, or "any"
    timeout       seconds without a message, after which iqd.Timeout is raised, with the reason
    reconnect     when the publisher has closed the connection, its stream has ended, or it is restarted: the iteration
                  ends unless it is back after so many seconds. None: wait without end
    raise_on_gap  raise iqd.Gap where samples or messages are missing; the next call continues behind the gap
    dtype         of the samples with `framing: gnuradio-tags`, which does not say it: "<f4", "sc16" …
    hwm           messages that wait for this program at most (1000); libzmq drops the ones that come after them
    context       a zmq.Context of your own, instead of zmq.Context.instance()

    Lost samples and messages are counted: see the attributes of Subscription.
    """
    endpoints = _list_of(endpoint)
    for one in endpoints:
        check_endpoint(one)
    if not endpoints:
        raise ConfigError("there is no endpoint")
    options = _Options(kind, bind, hwm, dtype)
    return Subscription(endpoints, _check_topics(_list_of(topic)), Keys(key, server, allow, bind), options,
                        timeout=seconds_of("timeout", timeout), reconnect=seconds_of("reconnect", reconnect),
                        raise_on_gap=raise_on_gap, context=context)
