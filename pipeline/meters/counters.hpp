// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/block.hpp"
#include "base/metric.hpp"
#include "pipeline/meters/clock_drift.hpp"
#include "pipeline/meters/level_meter.hpp"

namespace iqd {

/// Why received samples were dropped.
enum class Drop : std::uint8_t {
  lanes,    // every lane was busy and the ring was full
  slots,    // every result slot was held, by subscribers or sinks
  refused,  // a publisher or a sink could not take the result
  stopped,  // received while stopping
  device,   // a device failed
  stage,    // a stage could not compute the block
  // A block was sent to other hosts in vain, see PoolLoss:
  pool_full,
  pool_away,
  pool_poison,
  pool_lost,
};
inline constexpr std::array<std::string_view, 10> kDropNames{
    "lanes", "slots", "refused", "stopped", "device", "stage", "pool_full", "pool_away", "pool_poison", "pool_lost"};

enum class SourceState : std::uint8_t { closed, opening, streaming, stalled, reconnecting, failed, ended };
inline constexpr std::array<std::string_view, 7> kSourceStateNames{"closed",       "opening", "streaming", "stalled",
                                                                   "reconnecting", "failed",  "ended"};

/// The name of a number that a stage reports to the operator.
struct StageNumber {
  std::string stage;
  std::string name;
  std::string dimension = {};  // if there are several numbers: the dimension, and the entry in it
  std::string entry = {};
  friend bool operator<(const StageNumber& a, const StageNumber& b) {
    return std::tie(a.stage, a.name, a.dimension, a.entry) < std::tie(b.stage, b.name, b.dimension, b.entry);
  }
};

/// The numbers of all stages. They continue over reloads: the same name is the same number.
template <class Metric> class StageNumbers {
 public:
  using Value = decltype(std::declval<const Metric&>().value());
  Metric& at(const StageNumber& name) {
    const std::lock_guard lock(mutex_);
    return metrics_[name];
  }
  std::vector<std::pair<StageNumber, Value>> values() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<StageNumber, Value>> all;
    for (const auto& [name, metric] : metrics_) all.emplace_back(name, metric.value());
    return all;
  }

 private:
  mutable std::mutex mutex_;
  std::map<StageNumber, Metric> metrics_;
};

/// The values of the counters of counters.def.
struct CounterValues {
#define COUNTER(of, name, metric, help) std::uint64_t name = 0;
#include "pipeline/meters/counters.def"
#undef COUNTER
};

/// The counters of one pipeline. Samples are counted per channel.
struct Counters {
#define COUNTER(of, name, metric, help) Counter name;
#include "pipeline/meters/counters.def"
#undef COUNTER
  Counter taken_back;  // published samples that an outlet lost later
  std::array<Counter, kDropNames.size()> dropped;
  Histogram latency;                   // last sample received → handed over
  StageNumbers<Counter> tallies;       // what stages count
  StageNumbers<Gauge> levels;          // what they last measured
  Gauge calibrated;                    // 1 while the source's calibration holds, 0 while not; NaN: it has none
  std::vector<ChannelLevel> channels;  // of the source; their number is known once it is open
  ClockDrift drift;                    // of the radio's clock
  Gauge ahead_s;                       // the radio's time minus the host's, as samples arrive
  Gauge frequency_hz;
  std::atomic<SampleIndex> tuned{-1};  // first sample after the last retune; -1: none since it was opened
  std::atomic<SourceState> state{SourceState::closed};

  std::uint64_t published_for_good() const noexcept {
    const std::uint64_t back = taken_back.value();
    return published.value() - back;
  }
  Counter& drops(Drop reason) noexcept {
    return dropped[static_cast<std::size_t>(reason)];
  }
  std::uint64_t all_dropped() const noexcept {
    std::uint64_t n = 0;
    for (const Counter& c : dropped) n += c.value();
    return n;
  }
};

/// A line of counters.def.
struct CounterEntry {
  enum class Of : std::uint8_t { samples, pipeline, radio, setting } of;
  const char* name;
  const char* metric;
  const char* help;
  Counter Counters::*counter;
  std::uint64_t CounterValues::*value;
};
inline constexpr CounterEntry kCounterEntries[] = {
#define COUNTER(of, name, metric, help) \
  {CounterEntry::Of::of, #name, metric, help, &Counters::name, &CounterValues::name},
#include "pipeline/meters/counters.def"
#undef COUNTER
};

}  // namespace iqd
