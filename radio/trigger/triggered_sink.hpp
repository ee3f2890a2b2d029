// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/driver.hpp"
#include "base/log.hpp"
#include "radio/trigger/past.hpp"
#include "radio/trigger/settings.hpp"
#include "radio/trigger/stretch_finder.hpp"

namespace iqd::radio::trigger {

/// Passes on what is around a trigger: `pre` before it and `post` after it. The last `pre` of the stream stay in memory
/// for that. The first message of each recording has its trigger. A trigger during a recording is ignored. The next one
/// may follow directly, and nothing is passed on twice.
class TriggeredSink final : public Sink {
 public:
  TriggeredSink(std::unique_ptr<Sink> sink, const Settings& settings, const PortFormat& format,
                std::function<void()> over);
  TriggeredSink(const TriggeredSink&) = delete;
  TriggeredSink& operator=(const TriggeredSink&) = delete;

  bool send(const Message& message) override;
  void finish() override { sink_->finish(); }
  SinkCounts counts() const noexcept override { return sink_->counts(); }
  void interrupt() noexcept override { sink_->interrupt(); }

 private:
  bool is_over() const noexcept { return settings_.count > 0 && begun_ >= settings_.count; }
  bool record(const Message& message, std::int64_t from, const Stretch& stretch);
  bool hand_on(const Message& message, std::int64_t from, std::int64_t n);
  bool hand_on_past(std::int64_t oldest, std::int64_t newest);
  void begin();
  void end();

  std::unique_ptr<Sink> sink_;
  const Settings settings_;
  const PortFormat format_;
  std::function<void()> over_;
  StretchFinder finder_;
  Past past_;
  std::vector<std::byte> part_;
  const Trigger* trigger_ = nullptr;  // to be attached to the next message
  std::int64_t left_ = 0;             // items left in the current recording
  std::int64_t begun_ = 0;            // recordings
  log::RateLimit lines_;
};

}  // namespace iqd::radio::trigger
