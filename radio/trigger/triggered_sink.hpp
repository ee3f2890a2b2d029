// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "base/log.hpp"
#include "radio/trigger/condition.hpp"
#include "radio/trigger/event.hpp"

namespace iqd::radio::trigger {

/// When a sink gets something of its stream.
struct Settings {
  std::string when;  // a condition of the port itself
  std::string name;  // of an event
  double pre_s = 0;
  double post_s = 1;
  std::int64_t count = 0;
  double window_s = 0.001;

  bool given() const noexcept { return !when.empty() || !name.empty(); }
  void fields(FieldVisitor& visitor);
  /// Whether this can be asked of a port; what is wrong goes to the section.
  void check(const PortFormat& format, const Section& section) const;
  /// What it takes of the host to keep what is before a trigger.
  Needs needs(const PortFormat& format) const;
  /// The sink, behind a trigger; the same sink where none is given. `over` is called, in the sink's thread, when
  /// `count` recordings are done.
  std::unique_ptr<Sink> put_before(std::unique_ptr<Sink> sink, const PortFormat& format,
                                   std::function<void()> over = {}) const;
};

/// Hands on what is around a trigger: `pre` before it, `post` behind it, and nothing else. The last `pre` of the stream
/// are kept in memory for that. The first message of each tells of its trigger. A trigger while samples are handed on
/// is not one; when they are over the next may come at once, and nothing is handed on twice.
class TriggeredSink final : public Sink {
 public:
  TriggeredSink(std::unique_ptr<Sink> sink, const Settings& settings, const PortFormat& format,
                std::function<void()> over);

  bool send(const Message& message) override;
  void finish() override { sink_->finish(); }
  SinkCounts counts() const noexcept override { return sink_->counts(); }
  void interrupt() noexcept override { sink_->interrupt(); }

 private:
  /// A message's part that was kept.
  struct Kept {
    Message message;
    std::vector<std::byte> payload;
  };
  /// What one trigger makes a recording of; items, counted from the message's first.
  struct Stretch {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t found;      // what it is about
    std::int64_t found_end;  // behind the last item that was looked at for it
    std::string_view reason;
  };
  std::optional<Stretch> next_stretch(const Message& message, std::int64_t from);
  std::optional<std::int64_t> heard(const Message& message, std::int64_t from);
  void pass_over();
  bool record(const Message& message, std::int64_t from, const Stretch& stretch);
  bool hand_on(const Message& message, std::int64_t from, std::int64_t n);
  bool hand_on_kept(std::int64_t oldest, std::int64_t newest);
  void forget();
  void keep(const Message& message, std::int64_t from);
  void begin_or_end(bool begins);

  std::unique_ptr<Sink> sink_;
  Settings settings_;
  PortFormat format_;
  std::function<void()> over_;
  std::int64_t pre_, post_;  // items
  std::int64_t most_kept_;
  std::optional<Watch> watch_;
  std::optional<Event::Listener> listener_;
  std::optional<Event::Listener::Heard> waits_;  // an event whose samples have not come yet
  std::deque<Kept> kept_;
  std::vector<std::vector<std::byte>> spare_;
  std::int64_t kept_items_ = 0;
  std::int64_t usable_ = 0;  // the newest of them, which were not handed on
  bool follows_ = false;     // they follow what was handed on
  std::vector<std::byte> part_;
  const Trigger* trigger_ = nullptr;  // that the next to be handed on is told
  std::int64_t left_ = 0;             // items of the recording under way
  std::int64_t begun_ = 0;            // recordings
  log::RateLimit told_;
};

}  // namespace iqd::radio::trigger
