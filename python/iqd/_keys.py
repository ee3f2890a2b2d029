# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Keys and tokens: the files of docs/security.md and docs/http.md."""

import os
import stat

from iqd._errors import ConfigError

_ALPHABET = frozenset(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#")
_MOST_BYTES = 1 << 20


def _is_key(word):
    return len(word) == 40 and _ALPHABET.issuperset(word)


def _given_key(value):
    """The bytes of a key that was given itself; None if `value` names a file."""
    if isinstance(value, str) and not os.path.exists(value):
        value = value.encode()
    return value if isinstance(value, bytes) and _is_key(value) else None


def read_file(path, secret=False):
    """The bytes of a file with keys, which not everybody may change, nor read if it is a secret."""
    try:
        # Non-blocking: a FIFO would block forever.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            about = os.fstat(file.fileno())
            text = file.read(_MOST_BYTES) if stat.S_ISREG(about.st_mode) else None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if text is None:
        raise ConfigError(f"{path}: is not a file with keys")
    if secret and about.st_mode & 0o077:
        raise ConfigError(f"{path}: other users have access to this secret: `chmod 600 {path}`, or replace it if they "
                          "may have read it")
    if not secret and about.st_mode & stat.S_IWOTH:
        raise ConfigError(f"{path}: any user can write to it and add a key: `chmod o-w {path}`")
    return text


def read_secret_key(value):
    """The secret key in a file of `iqd keygen`, or the key itself. Messages never contain it."""
    if (given := _given_key(value)) is not None:
        return given
    words = read_file(value, secret=True).split()
    if words and _is_key(words[0]):
        raise ConfigError(f"{value}: holds a public key; the secret key is in NAME.secret from `iqd keygen`")
    if len(words) < 2 or words[0] != b"secret" or not _is_key(words[1]):
        raise ConfigError(f"{value}: is not a secret key: expected one line `secret KEY NAME`, as `iqd keygen` "
                          "writes it")
    return words[1]


def read_public_keys(path):
    """All keys of a file with a line `KEY NAME` for each."""
    keys = set()
    for number, line in enumerate(read_file(path).splitlines(), 1):
        words = line.split()
        if words and _is_key(words[0]):
            keys.add(words[0])
        elif words and words[0] == b"secret":
            raise ConfigError(f"{path}: line {number} is a secret key; the public key is in NAME.pub")
        elif words and not words[0].startswith(b"#"):
            raise ConfigError(f"{path}: line {number} is not a public key: expected a line `KEY NAME`, as in NAME.pub "
                              "from `iqd keygen`")
    return keys


def read_public_key(value):
    """The public key in a file, or the key itself."""
    if (given := _given_key(value)) is not None:
        return given
    keys = read_public_keys(value)
    if len(keys) != 1:
        raise ConfigError(f"{value}: holds {len(keys)} public keys; expected one")
    return keys.pop()


def read_token(value):
    """A token, or the one in a file that only its owner may read."""
    if isinstance(value, str) and not os.path.isfile(value):
        token = value
    else:
        token = read_file(value, secret=True).decode("utf-8", "replace").strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError("a token is one line of visible characters, or the path of a file with it")
    return token
