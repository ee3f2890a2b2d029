# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Times that a caller is willing to wait."""

import math

from iqd._errors import ConfigError


def seconds_of(name, value):
    """A number of seconds; infinity for None."""
    if value is None:
        return math.inf
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise ConfigError(f"{name} is {value!r}; it must be seconds, 0 or more, or None")
    return float(value)
