// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/latency_trace.hpp"

namespace iqd::live {

LatencyTrace::LatencyTrace(const std::string& pipeline, double deadline_s)
    : Trace(nullptr, 0,
            {{"pipeline", pipeline},
             {"port", "latency"},
             {"kind", "counts"},
             {"scale", "log2"},
             {"name", "latency"},
             {"of", nlohmann::json::object()},
             {"unit", "s"},
             {"deadline_s", deadline_s}}),
      pipeline_(pipeline),
      bins_(deadline_s) {}

void LatencyTrace::show_latency(const Histogram::Snapshot& now, double time_s, LiveHub& hub) {
  const bool is_continued = before_ && before_->count <= now.count;
  const Histogram::Snapshot since = is_continued ? now.since(*before_) : Histogram::Snapshot();
  before_ = now;
  if (!is_continued) return;
  Head head = next_head(Head::Kind::counts, WatchCopy());
  head.count = kCountBins;
  head.time_s = time_s;
  head.first = bins_.first();
  head.span = static_cast<float>(LatencyBins::octaves());
  put(hub, head, bytes_of(bins_.count(since)));
}

}  // namespace iqd::live
