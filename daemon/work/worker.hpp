// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/metric.hpp"
#include "base/slot_mask.hpp"
#include "daemon/command/work_config.hpp"
#include "daemon/http/service.hpp"
#include "hosts/work_link.hpp"
#include "pipeline/ordered_plan.hpp"

namespace iqd {

/// What became of the blocks that a worker has fetched, of one pool.
struct WorkCounts {
  Counter done;
  Counter refused;   // given back: the order or the block is wrong
  Counter returned;  // given back: the worker stops
  Counter failed;    // computed, but the server did not take the results in time
};

/// Fetches blocks of pools, computes them, and sends the results. Several threads carry blocks; as many of them as there
/// are lanes compute, and the others hold the next ones.
class Worker {
 public:
  /// Connects. Throws SetupError. `ends` is called, by any thread, when only a restart helps.
  Worker(const WorkConfig& config, const Catalogue& catalogue, std::function<void(const std::string& why)> ends);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Fetches no more; `is_idle` when what is computed has been sent.
  void stop() noexcept;
  bool is_idle() const noexcept { return carrying_.load(std::memory_order_acquire) == 0; }

  // Any thread.
  WorkStatus status() const;
  /// One line for the operator.
  std::string sentence() const;

 private:
  int lanes() const noexcept { return lanes_.slots(); }
  int busy() const noexcept { return lanes_.slots() - lanes_.available(); }
  struct PoolWork {
    std::string name;
    std::unique_ptr<hosts::WorkLink> link;
    WorkCounts counts;
    std::atomic<bool> admitted{false};
    std::atomic<double> ack_wait_s{1};
    std::atomic<double> patience_s{2};
    std::mutex plan_mutex;
    std::list<std::pair<std::string, std::shared_ptr<OrderedPlan>>> plans;  // by hash; the last used last
    mutable std::mutex mutex;                                               // of the following
    std::string trouble;
    std::string refusal;  // of the last block
  };
  /// A block that is held, for the thread that beats.
  struct Held {
    hosts::HeldBlock* block = nullptr;
    const PoolWork* pool = nullptr;
    std::int64_t since_ns = 0;
    std::shared_ptr<OrderedPlan> plan{};  // while it is computed
    int lane = -1;
  };

  void carry(PoolWork& pool);
  void serve(PoolWork& pool, hosts::HeldBlock& block, Held& held);
  bool send(PoolWork& pool, hosts::HeldBlock& block, const std::string& result);
  std::string result_of(const hosts::HeldBlock& block, const OrderedPlan& plan, int lane,
                        std::int64_t compute_ns) const;
  std::shared_ptr<OrderedPlan> plan_of(PoolWork& pool, const std::string& hash);
  int take_lane();
  void give_lane(int lane);
  void refuse(PoolWork& pool, hosts::HeldBlock& block, const std::string& why);
  void beat();
  void report();
  void meet_home(PoolWork& pool);

  const WorkConfig config_;
  const Catalogue catalogue_;
  const std::function<void(const std::string&)> ends_;
  std::string name_;
  std::vector<std::unique_ptr<PoolWork>> pools_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> over_{false};
  std::atomic<int> carrying_{0};
  std::atomic<std::uint64_t> device_done_{0};
  SlotMask lanes_;
  std::mutex lane_mutex_;
  std::condition_variable lane_free_;
  std::mutex held_mutex_;
  std::list<Held> held_;
  std::vector<std::thread> threads_;
};

}  // namespace iqd
