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
  Counter taken_back;  // of the messages: at the end they turned out to be lost, and are refused ones
};

class ApplyOutlet;  // pipeline/outlets/apply_outlet.hpp
class SinkOutlet;   // pipeline/outlets/sink_outlet.hpp

/// What an output's messages go to, and what was sent.
struct Route {
  std::size_t output = 0;  // of the plan
  std::string to;          // the topic, or the sink's driver
  std::shared_ptr<Outlet> outlet;
  std::shared_ptr<SinkOutlet> sink;    // the same, where it is one; else null
  std::shared_ptr<ApplyOutlet> apply;  // the same
  bool send_empty = false;
  std::shared_ptr<RouteCounts> counts = std::make_shared<RouteCounts>();
  Route* before = nullptr;  // of the engine before: this one goes on from there
  bool goes_on = false;     // in a successor, if there is one

  // The publisher's.
  std::int64_t owed = 0;  // messages that were taken and lost after all, not counted yet
  std::uint64_t seq = 0;
  std::int64_t gap = 0;    // samples lost since the last message that was sent
  std::int64_t lost = 0;   // samples of blocks that the outlet did not take
  SampleIndex tuned = -1;  // the radio was set otherwise since then, from here on
};

/// Makes messages of what blocks left in their slots, sends them the routes' ways, and counts what became of each
/// block. For the publishing thread, but for `routes`. Allocates, locks and logs nothing; outlets may.
class Delivery {
 public:
  Delivery(const Plan& plan, std::vector<std::unique_ptr<Route>> routes, ResultSlots& slots, Counters& counters);
  /// Goes on where that of the engine before ended.
  void succeed(const Delivery& before);
  /// All results of a block that is done; who keeps a message holds the slot.
  void publish(const BlockWork& work, int slot);
  /// What a device did not finish is lost, and so is what comes after: nothing more is published.
  void count_failed(const BlockWork& work) noexcept;
  /// Ends the outlets that a successor does not go on with, and counts what they still lost of what they had taken.
  void finish(bool has_successor);

  std::span<const std::unique_ptr<Route>> routes() const noexcept { return routes_; }
  /// Outlets that no other engine has are closed.
  void close_outlets() { routes_.clear(); }

 private:
  /// The numbers of a port, and where each goes.
  template <class Metric> struct Numbers {
    int port;
    std::vector<Metric*> metrics;
  };
  Numbers<Counter> make_tally(int port);
  Numbers<Gauge> make_levels(int port);
  void count_events(const BlockWork& work) noexcept;
  void show_levels(const BlockWork& work) noexcept;
  void close_rows(const BlockWork& work, std::size_t index) noexcept;
  bool send(Route& route, const BlockWork& work, int slot);
  Message message_of(Route& route, const BlockWork& work) noexcept;
  void fetch_lost(Route& route);
  bool hand_over(Route& route, const Message& message, const SampleBlock& block, int slot);

  const Plan& plan_;
  std::vector<std::unique_ptr<Route>> routes_;
  ResultSlots& slots_;
  Counters& counters_;
  std::uint64_t block_ = 0;        // of the pipeline
  std::int64_t owed_samples_ = 0;  // of blocks that were lost after all, and count as published so far
  std::shared_ptr<RefusedBlocks> refused_ = std::make_shared<RefusedBlocks>();
  std::vector<Numbers<Counter>> tallies_;
  std::vector<Numbers<Gauge>> levels_;
  std::vector<FactColumn> facts_;  // of the message at hand
};

}  // namespace iqd
