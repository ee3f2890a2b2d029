// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/block.hpp"

namespace iqd {

/// One of `count` runs over a recording: what its source plays, for the manifests that its sinks write. The source sets
/// what it plays before `whole`; a sink reads it after that.
struct PlayedWindow {
  // By who reads the pipeline file.
  std::int64_t number = 0;  // from 0
  std::int64_t count = 1;
  bool warmed = false;               // stages with a state see samples before the window
  std::string pipeline{};            // a hash of the file
  std::string device{};              // that computes the results
  std::vector<std::string> sinks{};  // the files that they stand for

  // By the source.
  std::string data{};     // a hash of the recording
  SampleIndex first = 0;  // the window in the recording, with the samples that are missing there
  SampleIndex end = 0;
  std::int64_t received = 0;       // samples of the window
  std::int64_t missing = 0;        // just before its blocks
  std::int64_t blocks = 0;         // that the samples are cut into
  std::atomic<bool> whole{false};  // all of it was delivered, and the recording has not changed meanwhile

  // By its sinks.
  std::atomic<bool> failed{false};  // the results of one are not whole
};

}  // namespace iqd
