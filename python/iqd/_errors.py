# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Errors and warnings of the package."""


class Error(Exception):
    """Base of all errors of iqd."""


class ConfigError(Error, ValueError):
    """Keys, files or arrays with mistakes; `problems` has all of them, each a text with its place."""

    def __init__(self, problems):
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self):
        return type(self), (self.problems,)


class MissingModule(Error, ImportError):
    """A module of another package is not installed."""


class Timeout(Error, TimeoutError):
    """What was waited for did not happen in time; the text says why, if it is known."""


class Gap(Error):
    """Samples were lost before `message`; raised only if it was asked for."""

    def __init__(self, message, samples):
        self.message, self.samples = message, samples
        super().__init__(f"{samples} samples were lost before sample {message.sample}")

    def __reduce__(self):
        return type(self), (self.message, self.samples)


class ConversionWarning(UserWarning):
    """An array had to be copied or converted, which costs time."""
