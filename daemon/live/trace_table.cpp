// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/trace_table.hpp"

#include <algorithm>
#include <utility>

#include "daemon/live/latency_trace.hpp"
#include "daemon/live/make_traces.hpp"

namespace iqd::live {
namespace {

std::vector<std::pair<std::string, const WatchOutlet*>> outlets_of(const std::vector<LivePipeline>& pipelines) {
  std::vector<std::pair<std::string, const WatchOutlet*>> all;
  for (const LivePipeline& pipeline : pipelines) {
    all.emplace_back(pipeline.name, nullptr);
    for (const WatchedPort& port : pipeline.ports) all.emplace_back(pipeline.name, port.outlet.get());
  }
  return all;
}

}  // namespace

bool TraceTable::renew(const std::vector<LivePipeline>& pipelines) {
  auto now = outlets_of(pipelines);
  // Outlets that are held here cannot have been replaced at the same address.
  if (is_made_ && now == seen_) return false;
  is_made_ = false;
  Traces next;
  for (const LivePipeline& pipeline : pipelines)
    for (auto& trace : make_traces(pipeline)) next.push_back(std::move(trace));
  if (next.size() > TraceSet().size()) next.resize(TraceSet().size());
  number(next);
  aim({});
  traces_ = std::move(next);
  by_outlet_.clear();
  for (const auto& trace : traces_) {
    if (!trace->outlet()) continue;
    if (by_outlet_.empty() || by_outlet_.back().first != trace->outlet()) by_outlet_.push_back({trace->outlet(), {}});
    by_outlet_.back().second.push_back(trace.get());
  }
  seen_ = std::move(now);
  is_made_ = true;
  return true;
}

/// Traces that existed before continue. Those that come back get their numbers back if these are free, and the others
/// the lowest that are free.
void TraceTable::number(Traces& traces) {
  std::map<std::string, const Trace*> before;
  for (const auto& trace : traces_) {
    before[trace->key()] = trace.get();
    last_[static_cast<std::size_t>(trace->number())] = {trace->key(), trace->seq()};
  }
  TraceSet taken;
  std::vector<Trace*> fresh;
  for (const auto& trace : traces) {
    const auto at = before.find(trace->key());
    if (at == before.end()) {
      fresh.push_back(trace.get());
      continue;
    }
    trace->succeed(*at->second);
    trace->set_number(at->second->number());
    taken.set(static_cast<std::size_t>(trace->number()));
    before.erase(at);  // of equal keys only the first continues
  }
  std::erase_if(fresh, [&](Trace* trace) { return number_as_before(*trace, taken); });
  int next = 0;
  for (Trace* trace : fresh) {
    while (taken.test(static_cast<std::size_t>(next))) ++next;
    trace->set_number(next++);
  }
}

/// A pipeline that restarts has no traces for a moment.
bool TraceTable::number_as_before(Trace& trace, TraceSet& taken) const {
  const std::string key = trace.key();
  for (std::size_t i = 0; i < last_.size(); ++i) {
    if (taken.test(i) || last_[i].first != key) continue;
    taken.set(i);
    trace.set_number(static_cast<int>(i));
    trace.set_seq(last_[i].second);
    return true;
  }
  return false;
}

void TraceTable::aim(const TraceSet& wanted) {
  wanted_ = wanted;
  for (const auto& [outlet, traces] : by_outlet_) {
    std::uint64_t needs = 0;
    for (const Trace* trace : traces)
      if (is_wanted(*trace)) needs |= trace->needs();
    outlet->want(needs);
  }
}

void TraceTable::collect(LiveHub& hub) {
  for (const auto& [outlet, traces] : by_outlet_) collect(*outlet, traces, hub);
}

/// At most as many copies as there are buffers, so that a fast port does not keep others waiting.
void TraceTable::collect(WatchOutlet& outlet, const std::vector<Trace*>& traces, LiveHub& hub) const {
  for (int i = 0; i < 2; ++i) {
    const WatchCopy* const copy = outlet.take();
    if (!copy) return;
    for (Trace* trace : traces)
      if (is_wanted(*trace) && (trace->needs() & ~copy->traces) == 0) trace->show(*copy, hub);
    outlet.give_back();
  }
}

void TraceTable::show_latencies(const LiveSubject::Look& look, double time_s, LiveHub& hub) {
  for (const auto& trace : traces_) {
    auto* const latency = dynamic_cast<LatencyTrace*>(trace.get());
    if (!latency) continue;
    const auto at = std::ranges::find(look.latencies, latency->pipeline(),
                                      [](const auto& entry) -> const std::string& { return entry.first; });
    if (!is_wanted(*latency) || at == look.latencies.end())
      latency->forget();
    else
      latency->show_latency(at->second, time_s, hub);
  }
}

nlohmann::json TraceTable::descriptions() const {
  nlohmann::json all = nlohmann::json::array();
  for (const auto& trace : traces_) all.push_back(trace->description());
  return all;
}

}  // namespace iqd::live
