// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pipeline/stages/math/python/crew_log.hpp"
#include "pipeline/stages/math/python/worker.hpp"

namespace iqd::python {

/// The processes of a job: lanes take and return them; the keeper starts them, and starts them again.
class Crew {
 public:
  Crew(Job job, const Areas& areas);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Whether calls with such areas are possible.
  bool can_take(const Areas& areas) const;
  /// Waits until every process has loaded the program; returns why they refused it, if they did.
  Refusal wait_until_ready();
  /// Then: the names of the function's parameters; `!` after those that need a value, `**` if it takes any.
  std::vector<std::string> parameters() const;

  // Lanes. Nothing here allocates, locks or logs.

  /// A process and who has it.
  class Place {
   public:
    Worker& worker() const noexcept { return *worker_; }
    /// The setup that the process has.
    std::uint32_t setup = 0;

   private:
    friend Crew;
    enum class State : std::uint8_t {
      starting,  // the keeper's: it loads its program, or will at once
      resting,   // the keeper's: it failed, and will be started later
      idle,
      busy,      // a lane's
      returned,  // the keeper's: it has to be replaced
    };
    std::atomic<State> state_{State::starting};
    std::unique_ptr<Worker> worker_;
    std::atomic<bool> is_late_{false};
    std::atomic<bool> comes_soon_{true};  // if it rests: blocks may wait for it
    // The keeper's:
    std::int64_t start_ns_ = 0;  // when it was started or will be
    int failures_ = 0;           // in a row, without an answer
    bool has_started_ = false;
  };
  /// A free process. Waits for those before it in the queue, and if none runs, for `limit` at most; then, or if none
  /// will run soon, returns null.
  Place* take() noexcept;
  Ending call(Place& place, std::int64_t& count) noexcept { return place.worker().call(limit_ns_, count); }
  void give_back(Place& place, Ending ending) noexcept;
  /// How many processes were started again since the last call.
  std::int64_t take_restarts() noexcept { return restarts_.exchange(0, std::memory_order_relaxed); }

  // The keeper.

  /// Does what is due.
  void look(std::int64_t now_ns);
  /// Adds the files to wait for; returns when something is due by itself.
  std::int64_t add_files(std::vector<pollfd>& files) const;

 private:
  using State = Place::State;
  void look_at(Place& place, std::int64_t now_ns);
  void start(Place& place, std::int64_t now_ns);
  void hear(Place& place);
  void take_message(Place& place, std::string_view message);
  void refuse(Refusal refusal);
  void give_up(Place& place) noexcept;
  void replace(Place& place, std::int64_t now_ns);
  void plan_start(Place& place, std::int64_t now_ns);
  void changed() noexcept;

  const Job job_;
  const Areas areas_;
  const std::int64_t limit_ns_;
  std::deque<Place> places_;
  FutexWord changes_{0};
  std::atomic<int> waiting_{0};
  std::atomic<std::int64_t> restarts_{0};

  mutable std::mutex mutex_;  // what follows
  std::condition_variable is_ready_;
  std::vector<std::string> parameters_;
  Refusal refusal_;
  std::atomic<bool> is_refused_{false};
  std::size_t ready_ = 0;  // processes that have loaded the program at least once

  CrewLog log_;  // the keeper's
};

}  // namespace iqd::python
