// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/hang_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace iqd {
namespace {

/// If something hangs, the others get this long to stop, and again to close.
constexpr std::int64_t kOthersNs = 1'000'000'000;

}  // namespace

void HangWatch::warn_of_slow_stages() {
  for (const auto& p : pipelines_.list()) {
    const std::string stage = p->slow_stage();
    if (stage.empty())
      slow_.erase(p->name());
    else if (slow_.insert(p->name()).second)
      log::warn("{}: stage '{}' has spent {:.3g} s on one block without returning", p->name(), stage,
                p->spec().realtime.hang_s / 2);
  }
}

void HangWatch::look_for_silence() {
  for (const auto& p : pipelines_.list()) p->look_for_silence();
}

std::string HangWatch::hung() const {
  for (const auto& p : pipelines_.list())
    if (const std::string hangs = p->hung(); !hangs.empty()) return fmt::format("{}: {}", p->name(), hangs);
  return {};
}

void HangWatch::stop_others() {
  const auto pipelines = pipelines_.look();
  for (const auto& p : pipelines) p->stop();
  const auto is_done = [](const auto& p) { return p->finished() || !p->radio_hangs().empty(); };
  const auto wait = [&] {
    const std::int64_t until = steady_ns() + kOthersNs;
    while (steady_ns() < until && !std::ranges::all_of(pipelines, is_done))
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  wait();
  for (const auto& p : pipelines) p->interrupt();
  wait();
  for (const auto& p : pipelines)
    if (!p->finished()) p->abandon_radio();
}

bool HangWatch::abandon_late() {
  bool failed = false;
  for (const auto& p : pipelines_.list()) {
    const bool device = p->device_waits_s() > 1;
    const std::string stage = p->slow_stage(1.0);
    const std::string what = device ? "the device" : stage.empty() ? "the radio" : fmt::format("stage '{}'", stage);
    log::warn("{}: {} does not stop: exiting without it", p->spec().name, what);
    failed = failed || device || !stage.empty();
    p->abandon_radio();
  }
  return failed;
}

}  // namespace iqd
