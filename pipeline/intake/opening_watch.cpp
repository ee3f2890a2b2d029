// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/opening_watch.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/clock.hpp"

namespace iqd {

OpeningWatch::Call::Call(OpeningWatch& watch, const std::string& who, double most_s) : watch_(watch) {
  const std::lock_guard lock(watch_.mutex_);
  watch_.who_ = who;
  watch_.most_s_ = most_s;
  watch_.until_ns_ = steady_ns() + std::llround(most_s * 1e9);
}

OpeningWatch::Call::~Call() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.until_ns_ = 0;
}

std::string OpeningWatch::overdue() const {
  const std::lock_guard lock(mutex_);
  if (until_ns_ == 0 || steady_ns() < until_ns_) return {};
  return fmt::format("{} does not return; the limit is {:.3g} s (`realtime: {{hang: …}}`)", who_, most_s_);
}

}  // namespace iqd
