// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/driver.hpp"

namespace iqd::radio {

/// `file`: plays and writes SigMF recordings.
DriverEntry file_driver();

/// The file that a recording at this path would replace; empty if there is none. A recording in progress is not named:
/// opening it says so.
std::string existing_file(const std::string& path);

}  // namespace iqd::radio
