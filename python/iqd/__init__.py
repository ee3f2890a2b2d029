# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""iqd from Python: arrays through stages, the results of a daemon, recordings. See docs/python.md."""

import importlib

# Each name is loaded when it is first used, so that `import iqd` is quick and needs neither NumPy nor pyzmq.
_MODULES = {
    "_stages": ("stage", "chain", "from_yaml", "stages", "Stage", "Chain"),
    "_array": ("Array",),
    "_device": ("DeviceArray",),
    "_errors": ("Error", "ConfigError", "ConversionWarning", "Gap", "MissingModule", "Timeout"),
    "_subscribe": ("subscribe", "Message", "Subscription"),
    "_daemon": ("connect", "Daemon"),
    "_recording": ("Recording",),
    "_map": ("map",),
    "_run": ("run",),
    "_write": ("write",),
    "_version": ("__version__",),
}
# What other modules need, and Debian's packages of them.
_OTHERS = {"numpy": "python3-numpy", "zmq": "python3-zmq"}
_WHERE = {name: module for module, names in _MODULES.items() for name in names}
__all__ = sorted(_WHERE)


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module 'iqd' has no attribute {name!r}")
    try:
        value = getattr(importlib.import_module("iqd." + _WHERE[name]), name)
    except ModuleNotFoundError as error:
        if error.name not in _OTHERS:
            raise
        raise importlib.import_module("iqd._errors").MissingModule(
            f"iqd.{name} needs the module {error.name}: install {_OTHERS[error.name]}, or in a virtual environment "
            f"{'pyzmq' if error.name == 'zmq' else error.name}", name=error.name) from None
    globals()[name] = value
    return value


def __dir__():
    return sorted(set(globals()) | set(_WHERE))
