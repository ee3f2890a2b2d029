// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/metric.hpp"
#include "pipeline/watch/watches.hpp"

namespace iqd::live {

/// A pipeline as the live page sees it.
struct LivePipeline {
  std::string name;
  double block_s = 0;  // how long a block lasts
  std::vector<WatchedPort> ports;
};

/// What the live page shows. Any thread may call.
class LiveSubject {
 public:
  virtual ~LiveSubject() = default;
  /// The pipelines that run now.
  virtual std::vector<LivePipeline> pipelines() const = 0;
  struct Look {
    std::string status;                                                  // as /api/status answers
    std::vector<std::pair<std::string, Histogram::Snapshot>> latencies;  // by pipeline
  };
  virtual Look look() const = 0;
  /// The other iqds of the file and whether they are ready, as a JSON list; empty: there are none, or nothing is known
  /// yet. They are asked because of this call.
  virtual std::string peers() const { return {}; }
};

}  // namespace iqd::live
