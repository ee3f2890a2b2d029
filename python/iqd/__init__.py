# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd from Python: arrays through stages, the results of a daemon, recordings. See docs/python.md."""

import importlib

# Each name is loaded when it is first used, so that `import iqd` is quick and needs neither NumPy nor pyzmq.
_MODULES = {
    "_stages": ("stage", "chain", "from_yaml", "stages", "Stage", "Chain"),
    "_array": ("Array",),
    "_device": ("DeviceArray",),
    "_errors": ("Error", "ConfigError", "ConversionWarning", "Gap"),
    "_subscribe": ("subscribe", "Message"),
    "_daemon": ("connect", "Daemon"),
    "_recording": ("Recording", "write"),
    "_run": ("run",),
}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_WHERE)


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module 'iqd' has no attribute {name!r}")
    value = getattr(importlib.import_module("iqd." + _WHERE[name]), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_WHERE))
