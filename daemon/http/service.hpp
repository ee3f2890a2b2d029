// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/pipeline.hpp"

namespace iqd {

/// What became of a change that was asked for.
struct ChangeReport {
  enum class Result : std::uint8_t {
    applied,  // or there was nothing to change
    refused,  // what was asked for is wrong: nothing has changed
    unknown,  // there is no such pipeline or stage
    busy,     // not now: it stops, or another change is under way
  };
  Result result = Result::applied;
  std::vector<std::string> lines;  // what was done, or what is wrong, one each
};

/// What a running daemon tells about itself and takes from outside. Any thread may call; changes are carried out by the
/// main thread, one after the other, and waited for.
class Service {
 public:
  virtual ~Service() = default;
  virtual double uptime_s() const = 0;
  virtual std::vector<PipelineStatus> statuses() const = 0;
  /// What keeps samples from flowing, one line each; empty: ready.
  virtual std::vector<std::string> not_ready() const = 0;
  /// The same for what only a restart mends.
  virtual std::vector<std::string> not_healthy() const = 0;
  /// Each pipeline's plan, which does not change during the call.
  virtual void visit_plans(const std::function<void(const Plan&, const PipelineStatus&)>& visit) const = 0;
  /// Reads the file again, as SIGHUP does.
  virtual ChangeReport reload() = 0;
  /// Sets live keys of one stage, or keys of the `source`: `keys` is a JSON object. `pipeline` may be empty where there
  /// is one only.
  virtual ChangeReport set(std::string_view pipeline, std::string_view stage, std::string_view keys) = 0;
};

}  // namespace iqd
