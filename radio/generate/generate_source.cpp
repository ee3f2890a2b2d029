// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/generate/generate_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "radio/plausible.hpp"

namespace iqd::radio::generate {
namespace {

constexpr std::int64_t kMostWaitNs = 100'000'000;
constexpr double kMostSamples = 9e15;  // exact as a double

/// Returns -1 for `unlimited`, and nothing if the text is neither that nor a whole number. 1e6 is a whole number, too.
std::optional<std::int64_t> samples_in(const std::string& text) {
  if (text == "unlimited") return -1;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size() && value == std::floor(value);
  if (!whole || value < 0 || value > kMostSamples) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

}  // namespace

GenerateSource::GenerateSource(const Settings& settings) : settings_(settings) {}

StreamInfo GenerateSource::info() const {
  StreamInfo info;
  info.element = Element::cf32;
  info.channels = settings_.channels;
  info.rate_hz = settings_.rate_hz;
  info.can_wait = true;
  return info;
}

void GenerateSource::begin() {
  if (std::exchange(begun_, true)) return;
  began_ns_ = steady_ns();
  began_wall_ns_ = wall_ns();
}

std::int64_t GenerateSource::due_ns(std::int64_t sample) const {
  return static_cast<std::int64_t>(
      std::llroundl(static_cast<long double>(sample) * 1e9L / static_cast<long double>(settings_.rate_hz)));
}

/// Waits for the wanted samples, but no longer than a call may take. Returns how many of them are due.
std::int64_t GenerateSource::wait_for_some(std::int64_t wanted) const {
  const std::int64_t until = began_ns_ + due_ns(next_ + wanted) - steady_ns();
  if (until > 0 && !interrupted_) std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(until, kMostWaitNs)));
  const double elapsed = static_cast<double>(steady_ns() - began_ns_) * 1e-9;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(elapsed * settings_.rate_hz) - next_, 0, wanted);
}

Received GenerateSource::receive(std::span<std::byte* const> into, std::int64_t most) {
  Received got;
  begin();
  if (settings_.samples) most = std::min(most, *settings_.samples - next_);
  if (most <= 0) {
    got.event = Received::Event::end;
    return got;
  }
  if (settings_.pace) most = wait_for_some(most);
  if (most == 0) return got;
  for (std::byte* channel : into) std::memset(channel, 0, static_cast<std::size_t>(most) * size_of(Element::cf32));
  got.event = Received::Event::samples;
  got.samples = most;
  got.has_time = true;
  got.time_ns = began_wall_ns_ + due_ns(next_);
  next_ += most;
  return got;
}

void GenerateOptions::fields(FieldVisitor& v) {
  v.field("rate", rate_hz_,
          {.help = "samples a second", .unit = Unit::rate, .low = 1, .required = true, .bare_low = kSlowestStream});
  v.field("samples", samples_, {.help = "samples per channel: a number, or `unlimited`"});
  v.field("pace", pace_, {.help = "deliver at the rate; false: as fast as possible"});
  v.field("channels", channels_, {.help = "number of channels", .low = 1, .high = 1024, .shapes = true});
}

StreamInfo GenerateOptions::describe(const Section& section) const {
  if (!samples_in(samples_))
    section.problem("samples", fmt::format("'{}' is neither `unlimited` nor a whole number of samples", samples_));
  StreamInfo info;
  info.element = Element::cf32;
  info.channels = static_cast<int>(channels_);
  info.rate_hz = rate_hz_;
  info.can_wait = true;
  return info;
}

std::unique_ptr<Source> GenerateOptions::open() const {
  const auto samples = samples_in(samples_);
  if (!samples) throw SetupError(fmt::format("generate: samples: '{}' is not a number of samples", samples_));
  Settings settings;
  settings.rate_hz = rate_hz_;
  if (*samples >= 0) settings.samples = *samples;
  settings.pace = pace_;
  settings.channels = static_cast<int>(channels_);
  return std::make_unique<GenerateSource>(settings);
}

}  // namespace iqd::radio::generate
