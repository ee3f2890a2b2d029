#!/usr/bin/python3
# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""tools/image_names.py LAYOUT NAME: gives the only image of an OCI layout its name, for podman and for docker.

podman and skopeo read the name from index.json. docker reads it from manifest.json, which only docker knows; its
versions before 25 find the layers there, too.
"""

import json
import pathlib
import sys


def blob(descriptor):
    return "blobs/" + descriptor["digest"].replace(":", "/")


def main():
    layout, name = pathlib.Path(sys.argv[1]), sys.argv[2]
    index = json.loads((layout / "index.json").read_text(encoding="utf-8"))
    (entry,) = index["manifests"]
    entry["annotations"] = {"org.opencontainers.image.ref.name": name, "io.containerd.image.name": name}
    (layout / "index.json").write_text(json.dumps(index, sort_keys=True), encoding="utf-8")
    manifest = json.loads((layout / blob(entry)).read_text(encoding="utf-8"))
    docker = [{"Config": blob(manifest["config"]), "RepoTags": [name],
               "Layers": [blob(layer) for layer in manifest["layers"]]}]
    (layout / "manifest.json").write_text(json.dumps(docker, sort_keys=True), encoding="utf-8")


if __name__ == "__main__":
    main()
