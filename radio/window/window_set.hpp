// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "radio/window/manifest.hpp"

namespace iqd::radio {

/// The windows that are there of what one sink gets.
class WindowSet {
 public:
  /// Those of `count` windows in a folder, by the sink's file name, and those of other sinks of the same runs. A window
  /// whose manifest cannot be read is not there; `unreadable` says why. Throws SetupError if the folder cannot be read.
  static std::vector<WindowSet> in(const std::string& folder, std::int64_t count, std::vector<std::string>& unreadable);

  const std::string& name() const noexcept { return name_; }
  const std::map<std::int64_t, Manifest>& windows() const noexcept { return windows_; }
  /// With those whose results are cut short, and, unless losses are accepted, those that lost samples on the way.
  std::vector<std::int64_t> missing(bool lossy) const;
  /// Why they do not make up one run, a line each: other versions, pipelines or data, holes, overlaps, damaged results.
  /// None is missing.
  std::vector<std::string> faults() const;
  /// Why the whole may differ from one run; empty if it does not.
  std::vector<std::string> remarks() const;
  /// Gives a sink the messages of all windows as one run would. Throws SetupError if it refuses one.
  void join(Sink& sink) const;

 private:
  WindowSet(std::string folder, std::string name, std::int64_t count)
      : folder_(std::move(folder)), name_(std::move(name)), count_(count) {}
  std::string results(std::int64_t window) const;
  bool is_missing(std::int64_t window, bool lossy) const;

  std::string folder_;
  std::string name_;
  std::int64_t count_;
  std::map<std::int64_t, Manifest> windows_;
};

}  // namespace iqd::radio
