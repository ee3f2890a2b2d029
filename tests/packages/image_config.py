#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tests/packages/image_config.py LAYOUT NAME FOLDER: checks the name and configuration of the only image in a layout.

Writes what a container engine needs into FOLDER, a word a line: command, environment, folder, signal; and `layer`, the
path of the only layer.
"""

import hashlib
import json
import pathlib
import sys

EXPECTED = {"User": "iqd", "Entrypoint": ["iqd"], "Cmd": ["run", "/etc/iqd/example.yaml"], "WorkingDir": "/var/lib/iqd",
            "StopSignal": "SIGTERM", "Volumes": {"/etc/iqd": {}, "/var/lib/iqd": {}},
            "ExposedPorts": {"9464/tcp": {}, "5555/tcp": {}}}
LABELS = ("title", "description", "version", "created", "licenses")


def main():
    layout, name, folder = pathlib.Path(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])

    def blob(digest):
        path = layout / "blobs" / digest.replace(":", "/")
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name, f"{path} is damaged"
        return path

    index = json.loads((layout / "index.json").read_text(encoding="utf-8"))
    (entry,) = index["manifests"]
    assert entry["annotations"]["org.opencontainers.image.ref.name"] == name, entry
    manifest = json.loads(blob(entry["digest"]).read_text(encoding="utf-8"))
    image = json.loads(blob(manifest["config"]["digest"]).read_text(encoding="utf-8"))
    (layer,) = manifest["layers"]
    (docker,) = json.loads((layout / "manifest.json").read_text(encoding="utf-8"))
    assert docker["RepoTags"] == [name], docker
    assert [layout / path for path in docker["Layers"]] == [blob(layer["digest"])], docker
    used = {blob(digest).name for digest in (entry["digest"], manifest["config"]["digest"], layer["digest"])}
    stored = {path.name for path in (layout / "blobs/sha256").iterdir()}
    assert stored == used, f"stored but unused: {stored - used}"

    config = image["config"]
    for key, value in EXPECTED.items():
        assert config.get(key) == value, f"{key}: {config.get(key)}, not {value}"
    labels = {f"org.opencontainers.image.{each}" for each in LABELS}
    assert set(config["Labels"]) == labels and all(config["Labels"].values()), config["Labels"]
    assert image["os"] == "linux" and image["architecture"], image

    words = {"command": config["Entrypoint"] + config["Cmd"], "environment": config["Env"],
             "folder": [config["WorkingDir"]], "signal": [config["StopSignal"]], "layer": [str(blob(layer["digest"]))]}
    for file, lines in words.items():
        (folder / file).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


if __name__ == "__main__":
    main()
