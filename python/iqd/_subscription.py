# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""An iterator over the messages of one or several endpoints."""

import math
import operator
import time
import warnings

import zmq

from iqd._errors import Error, Gap, Timeout
from iqd._feed import Feed
from iqd._seconds import seconds_of
from iqd._tally import Counts

_PATIENCE = 3.0  # seconds without any message, after which a warning says why
_LAST = 0.05  # seconds in which messages may still arrive after the connection has ended
_TURN = 16  # messages after which an asynchronous reader lets others run


def _count(name, doc):
    return property(operator.attrgetter("_counts." + name), doc=doc)


class Subscription:
    """An iterator over messages, also for `async for`, and a context manager. `iqd.subscribe` makes it. For one thread
    and one task at a time."""

    messages = _count("messages", "messages that were read")
    bytes = _count("bytes", "bytes of these, with their headers")
    gap_samples = _count("gap_samples", "samples that the radio or iqd lost, by the headers' gaps")
    lost_messages = _count("lost_messages", "messages between iqd and this program that did not come, by seq")
    lost_samples = _count("lost_samples", "all missing samples: of gaps, and of lost messages of a stream of samples")
    out_of_order = _count("out_of_order", "messages that came after a later one")
    restarts = _count("restarts", "how often a publisher has begun again")
    malformed = _count("malformed", "messages that are not of the wire format; they are left out")
    malformed_why = _count("malformed_why", "what was wrong with the last one")

    def __init__(self, endpoints, topics, keys, options, *, timeout, reconnect, raise_on_gap, context):
        self._feeds, self._counts = [], Counts()
        self._topics, self._has_keys, self._is_pull = topics, keys.are_given, options.kind == "pull"
        self._timeout, self._reconnect, self._raise_on_gap = timeout, reconnect, raise_on_gap
        self._own_context = self._authenticator = None
        self._turn = self._first = 0
        self._gone_since = self._warn_at = None
        self._news = None  # the future of a task that waits
        try:
            context = self._context_for(context, keys, options)
            for endpoint in endpoints:
                self._feeds.append(Feed(context, endpoint, topics, keys, options, self._counts))
        except BaseException:
            self.close()
            raise
        self._polled = [(s, zmq.POLLIN) for feed in self._feeds for s in (feed.socket, feed.peer.monitor)]
        self._warn_at = time.monotonic() + _PATIENCE

    def _context_for(self, context, keys, options):
        if not (options.bind and keys.are_given):
            return context or zmq.Context.instance()
        # A context has one handler for keys.
        if context is None:
            context = self._own_context = zmq.Context()
        if keys.allow != "any":
            from zmq.auth.thread import ThreadAuthenticator  # pylint: disable=import-outside-toplevel
            self._authenticator = ThreadAuthenticator(context)
            self._authenticator.start()
            self._authenticator.configure_curve_callback("*", keys)
        return context

    @property
    def closed(self):
        return not self._feeds

    @property
    def sockets(self):
        """The ZeroMQ sockets, one for each endpoint, for a poller of your own."""
        return [feed.socket for feed in self._feeds]

    def close(self):
        """Closes the sockets. The counts stay."""
        feeds, self._feeds = self._feeds, []
        for feed in feeds:
            feed.close()
        self._wake()
        if self._authenticator:
            self._authenticator.stop()
        if self._own_context:
            self._own_context.destroy(0)
        self._authenticator = self._own_context = None

    def _take(self):
        """The next message that waits, or None. Raises Gap."""
        feeds = self._feeds
        for i in range(len(feeds)):
            taken = feeds[(self._first + i) % len(feeds)].take()
            if taken is None:
                continue
            self._first += i + 1  # the next endpoint has the next turn
            self._gone_since = self._warn_at = None
            message, samples, lost = taken
            if self._raise_on_gap and (samples or lost):
                raise Gap(message, samples)
            return message
        return None

    def _is_over(self):
        """Whether all publishers have closed their connections, and have not come back in time."""
        for feed in self._feeds:
            feed.peer.listen()
        if any(feed.peer.connected or not feed.peer.was_connected for feed in self._feeds):
            self._gone_since = None
            return False
        now = time.monotonic()
        if self._gone_since is None:
            self._gone_since = now
        return now - self._gone_since >= max(self._reconnect, _LAST)

    def _why_silent(self):
        whys = ((f.endpoint, f.peer.why_silent(self._topics, self._has_keys, self._is_pull)) for f in self._feeds)
        return "; ".join(f"{endpoint}: {why}" for endpoint, why in whys if why)

    def _look(self, began, timeout):
        """While nothing waits: how long to wait, or None at the end of the stream. Raises Timeout."""
        if self._is_over():
            return None
        now = time.monotonic()
        if now - began >= timeout:
            raise Timeout(f"no message in {timeout:g} s" + (f": {why}" if (why := self._why_silent()) else ""))
        if self._warn_at is not None and now >= self._warn_at:
            self._warn_at = None
            if why := self._why_silent():
                warnings.warn(f"no message yet: {why}", stacklevel=5)
        ends = [began + timeout]
        if self._warn_at is not None:
            ends.append(self._warn_at)
        if self._gone_since is not None:
            ends.append(self._gone_since + max(self._reconnect, _LAST))
        return max(min(ends) - now, 0)

    def _require_open(self):
        if not self._feeds:
            raise Error("this subscription is closed")

    def receive(self, timeout=None):
        """The next message; None at the end of the stream. `timeout`: seconds, after which it raises iqd.Timeout; None:
        that of `subscribe`."""
        self._require_open()
        return self._receive(timeout)

    def _receive(self, timeout):
        try:
            message = self._take()
            return self._wait(timeout) if message is None else message
        except (KeyboardInterrupt, SystemExit):
            self.close()
            raise

    def _wait(self, timeout):
        began, timeout = time.monotonic(), self._timeout if timeout is None else seconds_of("timeout", timeout)
        while (wait := self._look(began, timeout)) is not None:
            zmq.zmq_poll(self._polled, -1 if wait == math.inf else math.ceil(wait * 1000))
            if (message := self._take()) is not None:
                return message
        self.close()
        return None

    async def receive_async(self, timeout=None):
        """As `receive`, for asyncio."""
        self._require_open()
        if self._news is not None:
            raise Error("another task waits for this subscription")
        return await self._receive_async(self._timeout if timeout is None else seconds_of("timeout", timeout))

    async def _receive_async(self, timeout):
        import asyncio  # pylint: disable=import-outside-toplevel
        message = self._take()
        if message is not None:
            self._turn = (self._turn + 1) % _TURN
            if self._turn == 0:
                await asyncio.sleep(0)
            return message
        began, self._turn = time.monotonic(), 0
        while (wait := self._look(began, timeout)) is not None:
            await self._readable(asyncio, wait)
            if not self._feeds:
                return None
            if (message := self._take()) is not None:
                return message
        self.close()
        return None

    async def _readable(self, asyncio, seconds):
        """Returns when a socket or a monitor has news, or after this time."""
        if any(socket.EVENTS & zmq.POLLIN for socket, _ in self._polled):
            return await asyncio.sleep(0)
        # Now there is nothing to read, so the next event makes a descriptor readable.
        loop = asyncio.get_running_loop()
        self._news = loop.create_future()
        descriptors = [socket.FD for socket, _ in self._polled]
        try:
            for descriptor in descriptors:
                loop.add_reader(descriptor, self._wake)
            await asyncio.wait([self._news], timeout=None if seconds == math.inf else seconds)
        finally:
            self._news = None
            for descriptor in descriptors:
                loop.remove_reader(descriptor)
        return None

    def _wake(self):
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    def __iter__(self):
        return self

    def __next__(self):
        if not self._feeds:
            raise StopIteration
        message = self._receive(None)
        if message is None:
            raise StopIteration
        return message

    def __aiter__(self):
        return self

    async def __anext__(self):
        message = await self.receive_async() if self._feeds else None
        if message is None:
            raise StopAsyncIteration
        return message

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_feeds", None):
            self.close()

    def __repr__(self):
        where = ", ".join(feed.endpoint for feed in self._feeds) or "closed"
        return (f"<iqd.Subscription {where}: {self.messages} messages, {self.lost_messages} lost, "
                f"{self.lost_samples} samples lost, {self.malformed} malformed>")
