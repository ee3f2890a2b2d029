// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/live/live_subject.hpp"
#include "pipeline/pipeline.hpp"
#include "pipeline/spec/key_origins.hpp"
#include "pipeline/spec/pipeline_parts.hpp"

namespace iqd {

/// The outcome of a requested change.
struct ChangeReport {
  enum class Result : std::uint8_t {
    applied,  // or there was nothing to change
    refused,  // the request is wrong, or a device refuses a value: it always will be
    unknown,  // there is no such pipeline or stage
    busy,     // not now: iqd is stopping, too many changes are queued, the radio is disconnected
  };
  Result result = Result::applied;
  std::vector<std::string> lines;  // one for each thing that was done, or that is wrong
};

/// A recording that somebody asks for.
struct RecordingRequest {
  std::string pipeline;  // may be empty if there is only one
  std::string port;
  double seconds = 0;
  std::string folder;
};

/// A recording that a request has started. Its file is not complete yet.
struct RunningRecording {
  std::string name;         // of its file
  bool is_closing = false;  // it takes no more samples
};

/// A part of a running pipeline whose keys somebody asks for.
struct AskedPart {
  std::string_view pipeline;
  const PipelinePart& part;
  const DeviceKeys& device;  // of its open radio
  const KeyOrigins& origins;
};

/// What a worker has done for a pool.
struct PoolWorkStatus {
  std::string pool;
  std::string server;
  std::string trouble;  // why it gets no blocks
  std::uint64_t done = 0, refused = 0, returned = 0, failed = 0;
};
struct WorkStatus {
  std::string name;
  int lanes = 0;
  int busy = 0;
  std::vector<PoolWorkStatus> pools;
};

/// The running daemon as the HTTP server sees it. Any thread may call; the main thread makes changes one after the
/// other, and callers wait for them.
class Service {
 public:
  virtual ~Service() = default;
  virtual double uptime_s() const = 0;
  virtual std::vector<PipelineStatus> statuses() const = 0;
  /// What keeps samples from flowing, one line each; empty: ready.
  virtual std::vector<std::string> not_ready() const = 0;
  /// The same for what only a restart fixes.
  virtual std::vector<std::string> not_healthy() const = 0;
  /// Each pipeline's plan, which does not change during the call.
  virtual void visit_plans(const std::function<void(const Plan&, const PipelineStatus&)>& visit) const = 0;
  /// Each part of each pipeline that has keys, which do not change during the call.
  virtual void visit_parts(const std::function<void(const AskedPart&)>& visit) const = 0;
  /// Of a worker; it has no pipelines.
  virtual std::optional<WorkStatus> work() const { return {}; }
  /// What the live page may show.
  virtual std::vector<live::LivePipeline> live() const { return {}; }
  /// Reads the file again, as SIGHUP does.
  virtual ChangeReport reload() = 0;
  /// Sets live keys of one stage, or keys of the `source`: `keys` is a JSON object. `pipeline` may be empty if there
  /// is only one.
  virtual ChangeReport set(std::string_view pipeline, std::string_view stage, std::string_view keys) = 0;
  /// Starts a recording; the report's last line is the name of its file.
  virtual ChangeReport record(const RecordingRequest& /*request*/) {
    return {ChangeReport::Result::refused, {"nothing can be recorded"}};
  }
  /// The recordings that requests have started.
  virtual std::vector<RunningRecording> recording() const { return {}; }
};

}  // namespace iqd
