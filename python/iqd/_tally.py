# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Counts what arrived and what was lost."""

# Bounds against a sender with invented topics and numbers: beyond them, messages are only counted.
_MOST_TOPICS = 4096
_MOST_MISSING = 4096


class Counts:
    """What a subscription has received, and what it has not."""

    __slots__ = ("messages", "bytes", "gap_samples", "lost_messages", "lost_samples", "out_of_order", "restarts",
                 "malformed", "malformed_why")

    def __init__(self):
        self.messages = self.bytes = self.gap_samples = self.lost_messages = self.lost_samples = 0
        self.out_of_order = self.restarts = self.malformed = 0
        self.malformed_why = ""


class _Topic:
    __slots__ = ("next", "newest_ns", "missing", "last", "pauses")

    def __init__(self):
        self.next, self.pauses = None, 0


def _is_rate(value):
    return type(value) in (int, float) and 0 < value < 1e15


def _end_of(header, sample):
    """The sample behind a block of samples; None if the header does not say how many of the source it covers."""
    dims, shape, rate = header.get("dims"), header.get("shape"), header.get("sample_rate")
    item_rate = header.get("item_rate", rate)
    if sample is None or not _is_rate(rate) or not _is_rate(item_rate):
        return None
    if dims not in (["n"], ["n", "iq"], ["channel", "n"], ["channel", "n", "iq"]) or len(dims) != len(shape):
        return None
    return sample + round(shape[dims.index("n")] * (rate / item_rate))


def _is_another_stream(before, message):
    """Whether the samples between two messages do not last as long as the time between them. `before`: header, sample
    and time of the first."""
    _, sample, time_ns = before
    samples, passed = _minus(message.sample, sample), _minus(message.time_ns, time_ns)
    rate = message.header.get("sample_rate")
    if samples is None or passed is None or not _is_rate(rate):
        return samples is not None and samples < 0
    return abs(passed / 1e9 - samples / rate) > 0.01 + 1e-3 * abs(samples / rate)


def _minus(a, b):
    return None if a is None or b is None else a - b


class Tally:
    """Follows the topics of one publisher, each with its own numbers."""

    def __init__(self, counts, is_ordered, departures):
        """`is_ordered`: all messages come over one connection, so a number that goes back means a restart.
        `departures`: a function that says how many connections have ended."""
        self._counts = counts
        self._is_ordered, self._departures = is_ordered, departures
        self._topics = {}
        self._pauses = 0

    def pause(self):
        """Nothing waits, so the next messages may be those of a publisher that was restarted."""
        self._pauses += 1

    def take(self, message, size):
        """Counts a message; (samples, messages) that were lost just before it."""
        counts = self._counts
        counts.messages += 1
        counts.bytes += size
        lost, samples, seq = 0, message.gap, message.seq
        if seq is not None:
            topic = self._topics.get(message.topic)
            if topic is None:
                if len(self._topics) >= _MOST_TOPICS:
                    return samples, 0
                topic = self._topics[message.topic] = _Topic()
            if topic.next == seq and topic.pauses == self._pauses:
                topic.next = seq + 1
            else:
                lost, samples = self._follow(topic, message)
                topic.pauses = self._pauses
            topic.last = message.header, message.sample, message.time_ns
            time_ns = message.time_ns or 0
            if topic.newest_ns < time_ns:
                topic.newest_ns = time_ns
        counts.gap_samples += message.gap
        counts.lost_samples += samples
        return samples, lost

    def _follow(self, topic, message):
        """A number that may not be the next one: (messages, samples) lost before it."""
        seq, first = message.seq, topic.next is None
        if first or self._is_restart(topic, message):
            self._counts.restarts += not first
            topic.next, topic.newest_ns, topic.missing = seq + 1, 0, {}
            return 0, message.gap
        if seq < topic.next:
            self._counts.out_of_order += 1
            if topic.missing.pop(seq, None):
                self._counts.lost_messages -= 1
            return 0, message.gap
        lost = seq - topic.next
        if lost == 0:
            topic.next = seq + 1
            return 0, message.gap
        self._counts.lost_messages += lost
        topic.missing.update(dict.fromkeys(range(max(topic.next, seq - _MOST_MISSING), seq), True))
        while len(topic.missing) > _MOST_MISSING:
            del topic.missing[next(iter(topic.missing))]
        topic.next = seq + 1
        end = _end_of(*topic.last[:2])
        on_the_way = message.sample - message.gap - end if end is not None and message.sample is not None else 0
        return lost, message.gap + max(on_the_way, 0)

    def _is_restart(self, topic, message):
        if message.seq >= topic.next:
            # A message may be read long after its connection has ended, so no departure belongs to a certain message.
            return _is_another_stream(topic.last, message) and self._departures() > 0
        if self._is_ordered:
            return True
        return message.seq == 0 and topic.next > 1 and (message.time_ns or 0) > topic.newest_ns
