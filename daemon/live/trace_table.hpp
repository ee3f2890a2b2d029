// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/live/live_hub.hpp"
#include "daemon/live/live_subject.hpp"
#include "daemon/live/trace.hpp"

namespace iqd::live {

/// The traces of all pipelines and their numbers. A trace that continues to exist keeps its number, and one that comes
/// back gets it again unless another trace has it by then. One thread.
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
  bool number_as_before(Trace& trace, TraceSet& taken) const;
  void collect(WatchOutlet& outlet, const std::vector<Trace*>& traces, LiveHub& hub) const;
  bool is_wanted(const Trace& trace) const { return wanted_.test(static_cast<std::size_t>(trace.number())); }

  std::vector<std::pair<std::string, const WatchOutlet*>> seen_;  // pipelines and their outlets, as of the last `renew`
  bool is_made_ = false;                                          // for these
  Traces traces_;
  std::array<std::pair<std::string, std::uint32_t>, TraceSet().size()> last_;  // key and `seq` of who had each number
  std::vector<std::pair<std::shared_ptr<WatchOutlet>, std::vector<Trace*>>> by_outlet_;
  TraceSet wanted_;
};

}  // namespace iqd::live
