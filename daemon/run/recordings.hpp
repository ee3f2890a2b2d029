// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/http/service.hpp"
#include "pipeline/plan/plan.hpp"

namespace iqd {

/// Recordings that requests have started and that are not over. One thread, except for `names`.
class Recordings {
 public:
  struct Recording {
    std::string pipeline;
    std::string name;  // of its file
    AddedSink sink;
    std::int64_t ends_ns = 0;
  };

  /// A recording of a port, under a name that is free in the folder. It begins with the next samples.
  Recording make(const RecordingRequest& request, const Plan& plan, std::int64_t wall_ns) const;
  void add(Recording recording);
  void remove(const std::string& name);
  void postpone(const std::string& name, std::int64_t ends_ns);
  /// One that is over.
  const Recording* over(std::int64_t now_ns) const;
  /// The sinks of all, or all but one.
  std::vector<AddedSink> sinks(const std::string& but = {}) const;
  /// Any thread.
  std::vector<std::string> names() const;

 private:
  mutable std::mutex mutex_;  // between the changing thread and readers
  std::vector<Recording> all_;
};

}  // namespace iqd
