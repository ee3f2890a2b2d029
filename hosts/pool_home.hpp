// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/clock.hpp"
#include "base/spsc_queue.hpp"
#include "hosts/alarm.hpp"
#include "hosts/nats_link.hpp"
#include "hosts/pool_messages.hpp"
#include "hosts/pool_options.hpp"
#include "hosts/pool_streams.hpp"
#include "hosts/worker_list.hpp"

namespace iqd::hosts {

/// The side of a pool that has the blocks. A thread of its own sends them, and knows what becomes of each; another one
/// fetches results. The threads of the pipeline wait for neither.
class PoolHome final : public Pool {
 public:
  PoolHome(const PoolConfig& config, const PoolNeeds& needs);
  ~PoolHome() override;

  bool has_room() const noexcept override;
  void send(const PoolBlock& block, PoolTicket& ticket) noexcept override;
  void add(PoolWaiter& waiter) override;
  void remove(PoolWaiter& waiter) override;
  void interrupt() noexcept override;
  std::string refuses(const PoolNeeds& needs) const override;
  std::string failure() const override;
  PoolStatus status() const override;

 private:
  struct Job {
    PoolBlock block;
    PoolTicket* ticket = nullptr;
  };
  /// A block that is out.
  struct Out {
    Job job;
    std::int64_t since_ns = 0;
    std::int64_t again_ns = 0;   // when it is published again
    std::int64_t wait_ns = 0;    // before that
    std::uint64_t sequence = 0;  // at the server; 0: not stored yet
    int published = 0;           // times
    bool is_refused = false;     // the server had no room, the last time
  };
  struct Answer {
    std::uint64_t streams = 0;  // how often they had been made
    std::uint64_t number = 0;
    std::uint64_t sequence = 0;
    int error = 0;  // 0: stored
  };
  struct Removed {
    std::uint64_t streams = 0;  // as above
    std::uint64_t sequence = 0;
  };
  struct Poison {
    std::uint64_t sequence = 0;
  };
  struct Here {
    HereMessage worker;
  };
  struct Reconnected {};
  struct Leaderless {};
  struct Arrived {
    Held<natsMsg> message;
  };
  using Event = std::variant<Answer, Removed, Poison, Here, Reconnected, Leaderless, Arrived>;

  /// What libnats' threads put in; they may outlive the pool.
  struct Inbox {
    std::mutex mutex;
    std::vector<Event> events;
    Alarm alarm;

    void put(Event event);
  };
  /// Of a block that is not stored or removed, the longest wait until it is tried again.
  static constexpr std::int64_t kLongestRetryNs = 1'000'000'000;
  static constexpr std::int64_t kStreamCheckNs = 500'000'000;
  static constexpr std::int64_t kQueueNs = 2'000'000'000;

  void listen();
  void run();
  bool take_jobs();
  bool take_events();
  void take(const Answer& answer);
  void take(const Removed& removed);
  void take(const Poison& poison);
  void take(const Here& here);
  void take(const Reconnected&);
  void take(const Leaderless&);
  void take(Arrived& arrived);
  void look_at_clock();
  void publish(std::uint64_t number, Out& out);
  bool has_order(const WorkOrder& order);
  void publish_orders_again();
  void excuse_pause(std::int64_t now_ns);
  void has_waited() noexcept { ticked_ns_ = steady_ns(); }
  PoolStreams::Owner owner();
  void remove_block(std::uint64_t sequence) { removals_.emplace(sequence, 0); }
  void remove_blocks(std::int64_t now_ns);
  void check_streams(std::int64_t now_ns);
  void settle(std::uint64_t number, PoolLoss loss);
  void close(std::map<std::uint64_t, Out>::iterator at);
  void find_room(std::int64_t now_ns);
  void wake();
  void fetch();
  void look_at_queue();
  void look_for_leaders();
  std::string about_home() const;

  const PoolConfig config_;
  const PoolNeeds needs_;
  const PoolNames names_;
  const std::string run_;  // of this start
  const int most_out_;
  const std::int64_t patience_ns_;

  const std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
  Alarm& alarm_ = inbox_->alarm;
  std::atomic<bool> ends_{false};
  std::atomic<bool> interrupted_{false};
  std::atomic<int> out_count_{0};
  std::atomic<int> room_{0};  // how many blocks may be out now
  SpscQueue<Job> jobs_;
  std::mutex waiters_mutex_;
  std::set<PoolWaiter*> waiters_;

  // Used only by the thread that sends.
  std::map<std::uint64_t, Out> out_;
  std::map<std::uint64_t, std::uint64_t> numbers_;  // of stored blocks, by their sequences
  std::map<std::uint64_t, std::int64_t> removals_;  // blocks that the server shall remove, and when it is asked again
  std::uint64_t next_number_ = 0;
  std::deque<std::int64_t> finished_ns_;  // times of the last results
  std::deque<std::string> orders_;        // published, as many as their stream holds
  std::int64_t order_failed_ns_ = 0;
  std::int64_t ticked_ns_ = steady_ns();
  std::uint64_t streams_made_ = 0;
  std::int64_t streams_checked_ns_ = 0;
  bool streams_are_lost_ = false;
  std::string trouble_;  // with orders or streams
  std::string scratch_;
  WorkerList workers_;
  int said_workers_ = -1;
  const std::int64_t began_ns_ = steady_ns();

  Histogram round_trip_;
  mutable std::mutex status_mutex_;
  PoolStatus status_;
  std::string failure_;

  NatsLink link_;  // after what its threads use
  PoolStreams streams_;
  std::string answers_;  // subject
  std::vector<Held<natsSubscription>> subscriptions_;
  std::atomic<bool> is_taken_{false};  // the streams, by another home
  // Used only by the thread that fetches.
  std::int64_t queue_seen_ns_ = 0;
  std::int64_t led_ns_ = steady_ns();  // when a server led all streams
  std::int64_t leaders_sought_ns_ = 0;
  int owned_ = 0;  // the streams are this home's since so many connections
  std::thread sender_;
  std::thread fetcher_;
};

}  // namespace iqd::hosts
