// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace iqd::radio::trigger {

/// Events of one name, which whoever waits for that name in this process hears of. Any thread.
class Event {
 public:
  /// There as long as somebody holds it.
  static std::shared_ptr<Event> named(const std::string& name);

  /// `time_ns`: of the samples that it is about; nothing: those that come next.
  void happens(std::optional<std::int64_t> time_ns);

  /// Somebody who waits. Hears of what happens as long as it is there; of the newest where they are too many.
  class Listener {
   public:
    explicit Listener(std::shared_ptr<Event> event);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    struct Heard {
      std::optional<std::int64_t> time_ns;
    };
    /// The oldest that was not taken yet.
    std::optional<Heard> take();

   private:
    friend class Event;
    std::shared_ptr<Event> event_;
    std::deque<Heard> heard_;  // guarded by the event's mutex
  };

 private:
  friend std::size_t tell(std::string_view name);
  std::mutex mutex_;
  std::vector<Listener*> listeners_;
};

/// The event of this name happens now; of every name where it is empty. How many wait for it: none where there is no
/// such name.
std::size_t tell(std::string_view name);

}  // namespace iqd::radio::trigger
