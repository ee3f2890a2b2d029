// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/live/live_hub.hpp"
#include "daemon/live/live_subject.hpp"
#include "daemon/live/trace.hpp"

namespace iqd::live {

/// The traces of all pipelines and their numbers. A trace that continues to exist keeps its number. One thread.
class TraceTable {
 public:
  ~TraceTable() { aim({}); }
  /// Makes the traces of the pipelines that run now. True if they have changed.
  bool renew(const std::vector<LivePipeline>& pipelines);
  /// Tells outlets what viewers want.
  void aim(const TraceSet& wanted);
  /// Makes messages of what outlets have copied.
  void collect(LiveHub& hub);
  void show_latencies(const LiveSubject::Look& look, double time_s, LiveHub& hub);
  /// For `hello`.
  nlohmann::json descriptions() const;

 private:
  using Traces = std::vector<std::unique_ptr<Trace>>;
  void number(Traces& traces);
  void collect(WatchOutlet& outlet, const std::vector<Trace*>& traces, LiveHub& hub) const;
  bool is_wanted(const Trace& trace) const { return wanted_.test(static_cast<std::size_t>(trace.number())); }

  std::vector<std::pair<std::string, const WatchOutlet*>> seen_;  // pipelines and their outlets, as of the last `renew`
  Traces traces_;
  std::vector<std::pair<std::shared_ptr<WatchOutlet>, std::vector<Trace*>>> by_outlet_;
  TraceSet wanted_;
};

}  // namespace iqd::live
