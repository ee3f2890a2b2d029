// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.hpp"

namespace iqd::radio {

/// What is known of a sink's results in one window of a recording. It stands beside them, and is written last: results
/// without it are not whole.
struct Manifest {
  std::int64_t window = 0;
  std::int64_t windows = 1;
  std::string version;
  std::string pipeline;  // hash of its file
  std::string data;      // hash of the recording
  std::string device;
  bool warmed = false;
  std::string entry;               // of `sinks`, as JSON
  std::vector<std::string> sinks;  // names of all files that come to lie in this folder
  PortFormat format;
  std::int64_t sample = 0;   // where the window begins
  std::int64_t samples = 0;  // its length, with samples that are missing
  std::int64_t missing = 0;  // samples that the recording lacks just before its blocks
  std::int64_t blocks = 0;   // that it was cut into
  std::int64_t rows = 0;     // items of the results
  std::int64_t lost = 0;     // samples without results, besides those that are missing
  std::int64_t bytes = 0;    // of the results
  std::string results;       // their hash
};

/// A recording has no more windows.
inline constexpr std::int64_t kMostWindows = 1'000'000;

/// `NAME.3-of-16`: the results of a window for the sink with this path.
std::string results_path(const std::string& path, std::int64_t window, std::int64_t windows);
/// Where their manifest is.
std::string manifest_path(const std::string& results);

std::string text_of(const Manifest& manifest);
/// Throws SetupError if the file is no manifest.
Manifest read_manifest(const std::string& path);

}  // namespace iqd::radio
