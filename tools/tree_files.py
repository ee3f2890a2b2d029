# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The files of a tree that the checks read."""

import os
import pathlib
import subprocess


def files_of(root):
    """The files of a git tree, new ones included; of any other tree, those outside build/. Names are relative."""
    if (root / ".git").exists():
        listing = subprocess.run(["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                 capture_output=True, text=True, check=False)
        if listing.returncode == 0:
            return {name for name in listing.stdout.split("\0") if name}
    files = set()
    for folder, folders, names in os.walk(root):
        if pathlib.Path(folder) == root:
            folders[:] = [each for each in folders if each not in ("build", ".git")]
        files.update((pathlib.Path(folder) / name).relative_to(root).as_posix() for name in names)
    return files
