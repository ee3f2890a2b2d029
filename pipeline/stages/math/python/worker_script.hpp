// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace iqd::python {

/// The script that a process of the stage runs, relative to this program or library: of the build tree, or as
/// installed. $IQD_PYTHON_WORKER names another one. Empty if there is none.
std::string find_worker_script();

inline constexpr const char* kNoScript =
    "the part of iqd that is written in Python is not installed: install it (`sudo apt install python3-iqd`), or name "
    "its _worker.py in $IQD_PYTHON_WORKER";

/// The path of a program in $PATH, or of one given by its path; empty if it cannot be executed.
std::string find_interpreter(const std::string& name);

}  // namespace iqd::python
