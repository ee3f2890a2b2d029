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

/// Recordings that requests have started and whose files are not complete. One thread, except for `running`.
class Recordings {
 public:
  struct Recording {
    std::string pipeline;
    std::string name;  // of its file
    std::string path;
    AddedSink sink;
    std::int64_t ends_ns = 0;
    bool is_closing = false;  // its sink has been removed
  };

  /// A recording of a port, under a name that is free in the folder. It begins with the next samples.
  Recording make(const RecordingRequest& request, const Plan& plan, std::int64_t wall_ns) const;
  void add(Recording recording);
  /// Its sink has been removed.
  void close(const std::string& name);
  void remove(const std::string& name);
  void postpone(const std::string& name, std::int64_t ends_ns);
  /// One that is over and has a sink.
  const Recording* over(std::int64_t now_ns) const;
  /// Those whose sinks have been removed.
  std::vector<Recording> closing() const;
  /// The sinks of all, or all but one.
  std::vector<AddedSink> sinks(const std::string& but = {}) const;
  /// Any thread.
  std::vector<RunningRecording> running() const;

 private:
  mutable std::mutex mutex_;  // between the changing thread and readers
  std::vector<Recording> all_;
};

}  // namespace iqd
