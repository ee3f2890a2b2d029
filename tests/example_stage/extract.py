# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""extract.py PAGE FOLDER: writes the C++ files of the stage in docs/adding-a-stage.md below FOLDER.

A section `### NAME.hpp: …` has the file in its first block of C++. Files that do not change are not written again.
"""

import pathlib
import re
import sys

SECTION = re.compile(r"^### (dc_offset\w*\.[ch]pp)\b.*?^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main():
    page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    files = SECTION.findall(page.read_text(encoding="utf-8"))
    wanted = ["dc_offset.hpp", "dc_offset_cpu.cpp", "dc_offset_stage.cpp", "dc_offset_test.cpp"]
    if [name for name, _ in files] != wanted:
        sys.exit(f"{page} has {[name for name, _ in files]}, not {wanted}")
    target = folder / "pipeline" / "stages" / "filters" / "dc_offset"
    target.mkdir(parents=True, exist_ok=True)
    for name, text in files:
        file = target / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
