// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/outlet.hpp"
#include "pipeline/engine/block_work.hpp"
#include "pipeline/engine/refused_blocks.hpp"
#include "pipeline/engine/result_slots.hpp"
#include "pipeline/meters/counters.hpp"
#include "pipeline/plan/plan.hpp"

namespace iqd {

struct RouteCounts {
  Counter messages;
  Counter bytes;
  Counter refused;
  Counter taken_back;  // messages that were found lost at the end; they count as refused, too
};

class ApplyOutlet;  // pipeline/outlets/apply_outlet.hpp
class SinkOutlet;   // pipeline/outlets/sink_outlet.hpp

/// Where an output's messages go, and what was sent.
struct Route {
  OutputIndex output = 0;  // of the plan
  std::string to;          // the topic, or the sink's driver
  std::shared_ptr<Outlet> outlet;
  std::shared_ptr<SinkOutlet> sink;    // the same, if it is one; else null
  std::shared_ptr<ApplyOutlet> apply;  // the same
  bool send_empty = false;
  std::shared_ptr<RouteCounts> counts = std::make_shared<RouteCounts>();
  Route* before = nullptr;  // of the previous engine: this one continues it
  bool goes_on = false;     // a successor, if any, continues it

  // Used only by the publisher.
  std::int64_t owed = 0;  // messages that were taken, then lost, and are not counted yet
  std::uint64_t seq = 0;
  std::int64_t gap = 0;    // samples lost since the last message that was sent
  std::int64_t lost = 0;   // samples of blocks that the outlet did not take
  SampleIndex tuned = -1;  // the radio was retuned since then, from this sample on
};

/// Makes messages of the results in slots, sends them on their routes, and counts what became of each block. For the
/// publisher's thread, except for `routes`. Does not allocate, lock or log; outlets may.
class Delivery {
 public:
  Delivery(const Plan& plan, std::vector<std::unique_ptr<Route>> routes, ResultSlots& slots, Counters& counters);
  /// Continues from the delivery of the previous engine.
  void succeed(const Delivery& before);
  /// Sends the results of a finished block; a message that is kept holds the slot. What a stage could not compute is a
  /// gap before the next message.
  void publish(const BlockWork& work, int slot);
  /// Counts a block that is not published, like all that follow it.
  void count_dropped(const BlockWork& work, Drop why) noexcept;
  /// Ends the outlets that a successor does not continue with, and counts messages that they took and then lost.
  void finish(bool has_successor);

  std::span<const std::unique_ptr<Route>> routes() const noexcept { return routes_; }
  /// Closes the outlets that no other engine has.
  void close_outlets() { routes_.clear(); }

 private:
  /// The numbers of a port, and the metric of each.
  template <class Metric> struct Numbers {
    PortIndex port;
    std::vector<Metric*> metrics;
  };
  Numbers<Counter> make_tally(PortIndex port);
  Numbers<Gauge> make_levels(PortIndex port);
  void count_events(const BlockWork& work) noexcept;
  void show_levels(const BlockWork& work) noexcept;
  void close_rows(const BlockWork& work, OutputIndex index) noexcept;
  bool is_missing_for_any(const BlockWork& work) const noexcept;
  bool send(Route& route, const BlockWork& work, int slot);
  Message message_of(Route& route, const BlockWork& work, int slot) noexcept;
  std::span<const FactColumn> facts_of(OutputIndex index, const BlockWork& work, int slot) noexcept;
  void fetch_lost(Route& route);
  bool hand_over(Route& route, const Message& message, const SampleBlock& block, int slot);

  const Plan& plan_;
  std::vector<std::unique_ptr<Route>> routes_;
  ResultSlots& slots_;
  Counters& counters_;
  std::uint64_t block_ = 0;  // of the pipeline
  std::shared_ptr<RefusedBlocks> refused_ = std::make_shared<RefusedBlocks>();
  std::vector<Numbers<Counter>> tallies_;
  std::vector<Numbers<Gauge>> levels_;
  std::size_t slot_facts_ = 0;           // columns of one slot
  std::vector<std::size_t> first_fact_;  // of each output, in its slot
  std::vector<FactColumn> facts_;        // of the messages in each slot: they are as long valid as the results
};

}  // namespace iqd
