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
  /// Those of `count` windows in a folder, by the sink's file name. Throws SetupError if the folder or a manifest cannot
  /// be read.
  static std::vector<WindowSet> in(const std::string& folder, std::int64_t count);

  const std::string& name() const noexcept { return name_; }
  const std::map<std::int64_t, Manifest>& windows() const noexcept { return windows_; }
  /// Of those that are there, the ones that lost samples on the way count as missing, unless losses are accepted.
  std::vector<std::int64_t> missing(bool lossy) const;
  /// Why they do not make up one run, a line each: other versions, pipelines or data, holes, overlaps, damaged results.
  /// None is missing.
  std::vector<std::string> faults() const;
  /// Why the whole may differ from one run; empty if it does not.
  std::vector<std::string> remarks() const;
  /// Gives a sink the messages of all windows as one run would. Throws SetupError if it takes one not.
  void join(Sink& sink) const;

 private:
  WindowSet(std::string folder, std::string name, std::int64_t count)
      : folder_(std::move(folder)), name_(std::move(name)), count_(count) {}
  std::string results(std::int64_t window) const;

  std::string folder_;
  std::string name_;
  std::int64_t count_;
  std::map<std::int64_t, Manifest> windows_;
};

}  // namespace iqd::radio
