// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "config/describe.hpp"

namespace iqd {

/// Something that a pipeline file names and that has keys: a stage, a source, a sink, an entry of `publish` or `apply`,
/// a pipeline itself, the monitor.
struct Described {
  std::string name;
  std::string family;  // of stages; else what it is: source, sink, outlet, file
  std::string summary;
  std::string ports;
  std::string sample;
  FieldList fields;
};

/// All of them: stages first.
std::vector<Described> all_described();

}  // namespace iqd
