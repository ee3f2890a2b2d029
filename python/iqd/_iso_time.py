# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Times in the metadata of recordings."""

import datetime
import re

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|z|[+-]\d\d:\d\d)?")
_EPOCH = datetime.date(1970, 1, 1).toordinal()
_SECOND = 10**9


def parse_iso_time(text):
    """(nanoseconds since 1970, those of its last digit), or None. A time without the Z of UTC is UTC."""
    found = _TIME.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    digits, offset = (found[7] or "")[:9], found[8] or "Z"
    minutes = 0 if offset in "Zz" else (1 if offset[0] == "+" else -1) * (60 * int(offset[1:3]) + int(offset[4:]))
    try:
        days = datetime.date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None
    if not 1900 <= year <= 2150 or hour > 23 or minute > 59 or second > 60:
        return None
    seconds = (days * 24 + hour) * 3600 + (minute - minutes) * 60 + second
    return seconds * _SECOND + int(digits.ljust(9, "0")), 10 ** (9 - len(digits))


def format_iso_time(time_ns):
    """UTC with nine decimals."""
    seconds, ns = divmod(int(time_ns), _SECOND)
    time = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{ns:09}Z"
