# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The files of a SigMF recording: two, or one archive."""

import os
import tarfile

from iqd._errors import ConfigError
from iqd._sigmf import Metadata

_MOST_META = 256 << 20
_MOST_NAMES = 20


def paths_of(path):
    """(metadata, data) of a recording that is named by either of its files, or by the part that their names share."""
    for end in (".sigmf-meta", ".sigmf-data"):
        path = path.removesuffix(end)
    return path + ".sigmf-meta", path + ".sigmf-data"


def _read(path):
    try:
        if os.path.getsize(path) > _MOST_META:
            raise ConfigError(f"{path}: {os.path.getsize(path) >> 20} MB cannot be metadata")
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {getattr(error, 'strerror', None) or 'is not UTF-8'}") from None


def _parsed(text, name):
    meta = Metadata(text, name)
    if meta.problems:
        raise ConfigError(meta.problems)
    return meta


def _no_recording(path, meta):
    if path.endswith(".sigmf-collection"):
        streams = _streams_of(path)
        return (f"{path}: is a SigMF collection, which has no samples itself; name one of its recordings"
                + (": " + ", ".join(streams[:_MOST_NAMES]) if streams else ""))
    if os.path.isfile(path) and not path.endswith((".sigmf-meta", ".sigmf-data")):
        return (f"{path}: is no SigMF recording; `iqd convert {path} NAME.sigmf-meta` makes one of WAV, NumPy and raw "
                "files")
    return f"{meta}: {os.strerror(2)}; a recording consists of NAME.sigmf-meta and NAME.sigmf-data"


def _streams_of(path):
    import json  # pylint: disable=import-outside-toplevel
    try:
        streams = json.loads(_read(path))["collection"]["core:streams"]
        return [stream["name"] for stream in streams]
    except (ConfigError, ValueError, KeyError, TypeError):
        return []


def _open_files(path):
    meta_path, data = paths_of(path)
    if path.endswith(".sigmf-collection") or not os.path.exists(meta_path):
        beside = os.path.splitext(path)[0] + ".sigmf-meta"  # a dataset of another name
        if beside == meta_path or not os.path.isfile(beside) or not os.path.isfile(path):
            raise ConfigError(_no_recording(path, meta_path))
        meta_path = beside
        if Metadata(_read(meta_path), meta_path).dataset != os.path.basename(path):
            raise ConfigError(_no_recording(path, paths_of(path)[0]))
    meta = _parsed(_read(meta_path), meta_path)
    if meta.dataset:
        data = os.path.join(os.path.dirname(meta_path), meta.dataset)
    if not os.path.isfile(data):
        why = ("holds metadata only (core:metadata_only), without samples" if meta.is_metadata_only
               else f"{data}: {os.strerror(2)}")
        raise ConfigError(f"{meta_path}: {why}" if meta.is_metadata_only else why)
    return meta, meta_path, data, data, 0, os.path.getsize(data)


def _members(archive):
    try:
        with tarfile.open(archive, "r:") as tar:
            return {member.name: member for member in tar if member.isreg()}
    except tarfile.ReadError:
        with open(archive, "rb") as file:
            start = file.read(6)
        packed = start.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK"))
        raise ConfigError(f"{archive}: " + ("is compressed, so it cannot be read in place; unpack it first (tar -xf)"
                                            if packed else "is not a tar archive, or damaged")) from None
    except OSError as error:
        raise ConfigError(f"{archive}: {error.strerror}") from None


def _open_archive(archive, name):
    members, wanted = _members(archive), paths_of(name)[0] if name else ""
    metas = [m for m in members if m.endswith(".sigmf-meta") and not os.path.basename(m).startswith("._")]
    meant = [m for m in metas if not name or m == wanted or m.endswith("/" + wanted)]
    listed = ", ".join(metas[:_MOST_NAMES]) + (", …" if len(metas) > _MOST_NAMES else "")
    if not metas:
        raise ConfigError(f"{archive}: is an archive without a .sigmf-meta file")
    if not meant:
        raise ConfigError(f"{archive}: has no recording {name}; it has {listed}")
    if len(meant) > 1:
        raise ConfigError(f"{archive}: has {len(meant)} recordings; name one, as {archive}/NAME: {listed}")
    about = members[meant[0]]
    if about.size > _MOST_META:
        raise ConfigError(f"{archive}: {about.size >> 20} MB cannot be metadata")
    with open(archive, "rb") as file:
        file.seek(about.offset_data)
        text = file.read(about.size).decode("utf-8", "replace")
    meta = _parsed(text, f"{archive}({meant[0]})")
    data = paths_of(meant[0])[1]
    if meta.dataset:
        data = os.path.join(os.path.dirname(data), meta.dataset)
    if data not in members:
        raise ConfigError(f"{archive}: " + ("holds metadata only (core:metadata_only), without samples"
                                            if meta.is_metadata_only else f"has no data file for {meant[0]}"))
    begin, size = members[data].offset_data, members[data].size
    if begin + size > os.path.getsize(archive):
        raise ConfigError(f"{archive}: is cut short: {data} has {size} bytes")
    return meta, f"{archive}({meant[0]})", f"{archive}({data})", archive, begin, size


def open_recording(path):
    """(metadata, their name, the data's name, the file with the samples, where they begin in it, their bytes). Raises
    ConfigError."""
    try:
        path = os.fspath(path)
    except TypeError:
        raise ConfigError(f"{path!r} is not the path of a recording") from None
    archive, separator, name = path.partition(".sigmf/")
    if separator and name and os.path.isfile(archive + ".sigmf"):
        return _open_archive(archive + ".sigmf", name)
    if path.endswith(".sigmf") and os.path.isfile(path):
        return _open_archive(path, "")
    return _open_files(path)
