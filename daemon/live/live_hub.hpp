// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <bitset>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace iqd::live {

/// Numbers of traces.
using TraceSet = std::bitset<256>;

/// What viewers are shown. Who puts a message waits for no viewer: each has a queue of what it wants. A viewer that falls
/// behind misses older messages, which are counted. Any thread.
class LiveHub {
 public:
  /// A viewer may be behind by so many messages that it wants.
  static constexpr std::size_t kKept = 32;
  static constexpr std::size_t kMostViewers = 24;

  struct Message {
    static constexpr int kForAll = -1;
    bool is_text = false;
    int trace = kForAll;  // for viewers of this trace
    std::string bytes;
  };
  using Shared = std::shared_ptr<const Message>;

  /// For viewers that want its trace; a slow one may miss it.
  void put(Message message);
  /// A text for all viewers that none may miss; a viewer that is too slow for that leaves.
  void tell(std::string text);
  /// Texts for viewers that have come since the last call, before anything else.
  void greet(const std::vector<std::string>& texts);
  /// All viewers leave, and no other comes.
  void close();

  bool is_watched() const noexcept { return viewers() > 0; }
  std::size_t viewers() const noexcept { return count_.load(std::memory_order_relaxed); }
  /// Messages that viewers were too slow for.
  std::uint64_t skipped() const noexcept { return skipped_.load(std::memory_order_relaxed); }
  /// What viewers want; grows with each viewer that comes or leaves.
  TraceSet wanted() const;
  std::uint64_t changes() const noexcept { return changes_.load(std::memory_order_acquire); }

  /// Returns when there is a viewer; false: closed.
  bool wait_for_viewer();
  /// Waits for this time, or until a viewer comes or leaves; false: closed.
  bool pause(std::chrono::milliseconds most);

  /// One viewer, for the thread that serves it.
  class Viewer {
   public:
    Viewer(LiveHub& hub, TraceSet traces);
    ~Viewer();
    Viewer(const Viewer&) = delete;
    Viewer& operator=(const Viewer&) = delete;
    /// False: there are too many already.
    bool is_in() const noexcept { return is_in_; }
    /// Waits for what is new, at most a second, and puts it into `out`. False: it is over.
    bool next(std::vector<Shared>& out);

   private:
    friend class LiveHub;
    struct Queued {
      Shared message;
      bool may_be_missed;
    };
    bool wants(const Message& message) const noexcept;
    void add(const Shared& message);
    void add_text(const Shared& text);
    void skip();

    LiveHub& hub_;
    const TraceSet traces_;
    bool is_in_ = false;
    bool is_greeted_ = false;
    std::deque<Queued> queue_;
    std::size_t texts_ = 0;  // in it, which may not be missed
  };

 private:
  /// For a viewer that does not come for them.
  static constexpr std::size_t kMostQueued = 256;
  static constexpr std::size_t kMostTexts = 256;

  void changed() noexcept;

  mutable std::mutex mutex_;
  std::condition_variable news_;     // for viewers
  std::condition_variable arrival_;  // for the thread that puts
  bool is_closed_ = false;
  std::vector<Viewer*> all_;
  std::atomic<std::size_t> count_{0};
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> skipped_{0};
};

}  // namespace iqd::live
