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

/// Events with a name, received by all listeners for that name in this process. Any thread.
class Event {
 public:
  /// Exists as long as somebody holds it.
  static std::shared_ptr<Event> named(const std::string& name);

  /// `time_ns`: the time of the samples concerned; nothing: the next samples.
  void happens(std::optional<std::int64_t> time_ns);

  /// Receives events during its lifetime; if there are too many, only the newest.
  class Listener {
   public:
    explicit Listener(std::shared_ptr<Event> event);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    struct Heard {
      std::optional<std::int64_t> time_ns;
    };
    /// The oldest event not yet taken.
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

/// Makes the event with this name happen now, or all events if the name is empty. Returns the number of listeners: 0 if
/// the name is unknown.
std::size_t tell(std::string_view name);

}  // namespace iqd::radio::trigger
