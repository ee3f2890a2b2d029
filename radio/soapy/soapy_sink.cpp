// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/soapy_sink.hpp"

#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "base/clock.hpp"
#include "base/log.hpp"

namespace iqd::radio::soapy {
namespace {

constexpr std::chrono::nanoseconds kPatience(TransmitWatch::kPatienceNs);
// Some modules return at once instead of waiting.
constexpr auto kWritePause = std::chrono::milliseconds(1);
constexpr auto kGuardPause = std::chrono::milliseconds(20);

}  // namespace

SoapySink::SoapySink(const Settings& settings, const Timing& timing, Element element)
    : settings_(settings),
      timing_(timing),
      element_(element),
      name_(fmt::format("soapy '{}'", settings.args)),
      counters_(name_),
      status_(counters_) {
  open();
  keys_ = stream_->radio().keys();
  guard_ = std::jthread([this](const std::stop_token& stopped) { guard(stopped); });
}

SoapySink::~SoapySink() {
  guard_.request_stop();
  guard_.join();
  try {
    if (stream_ && stream_->is_on()) stream_->quieten();
  } catch (...) {
    log::debug("{}: cannot switch it off: {}", name_, text_of(std::current_exception()));
  }
}

void SoapySink::open() {
  stream_ = std::make_unique<TransmitStream>(settings_, timing_, element_);
  watch_.came(steady_ns());
}

void SoapySink::guard(const std::stop_token& stopped) {
  while (!stopped.stop_requested()) {
    std::this_thread::sleep_for(kGuardPause);
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !stream_) continue;
    try {
      look_after();
    } catch (...) {
      log::warn("{}: cannot switch it off: {}", name_, text_of(std::current_exception()));
      stream_.reset();
    }
  }
}

/// Other users of the device can only open it again after it is closed here; the next sample opens it again.
void SoapySink::look_after() {
  if (stream_->is_active() && watch_.is_idle(steady_ns(), on_air_until_ns_)) stream_->switch_off();
  if (!stream_->is_active() && stream_->radio().is_given_up()) stream_.reset();
}

bool SoapySink::send(const Message& message) {
  const std::unique_lock lock(mutex_, kPatience);
  if (!lock) return false;  // the guard waits for a radio that does not answer
  try {
    if (!stream_) open();
    if (!stream_->is_on()) stream_->switch_on();
    const bool taken = transmit(message);
    status_.read(stream_->radio());
    watch_.came(steady_ns());
    return taken;
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    throw std::runtime_error(fmt::format("{}: transmitting failed: {}", name_, text_of(std::current_exception())));
  }
}

bool SoapySink::transmit(const Message& message) {
  const std::int64_t samples = stream_->start(message);
  const std::int64_t begins_ns = timing_.leaves_ns(message);
  const std::int64_t now = steady_ns();
  const std::int64_t begins = timing_.timed ? now + begins_ns - wall_ns() : std::max(now, on_air_until_ns_);
  const std::int64_t duration = std::llround(static_cast<double>(samples) * 1e9 / stream_->radio().rate_hz());
  // A free-running radio takes more than it can send, and a time stamp may be invalid.
  const auto delay = static_cast<std::int64_t>(timing_.timed ? timing_.delay_s * 1e9 : 0);
  on_air_until_ns_ = std::min(begins + duration, now + delay + TransmitWatch::kGoneNs);
  return write(samples, timing_.timed ? SOAPY_SDR_HAS_TIME : 0, begins_ns);
}

/// Only the first write has a time; the rest follows it.
bool SoapySink::write(std::int64_t left, int flags, std::int64_t time_ns) {
  std::int64_t deadline = steady_ns() + TransmitWatch::kPatienceNs;
  while (left > 0 && !interrupted_) {
    const int taken = stream_->write(left, flags, time_ns);
    if (taken > 0) {
      left -= taken;
      flags = 0;
      watch_.taken();
      deadline = steady_ns() + TransmitWatch::kPatienceNs;
      continue;
    }
    if (taken == SOAPY_SDR_TIME_ERROR) {
      if (!status_.is_supported()) counters_.late();  // otherwise the status reports it
      return false;
    }
    if (taken == SOAPY_SDR_UNDERFLOW)
      counters_.underflow();
    else if (taken != 0 && taken != SOAPY_SDR_TIMEOUT)
      throw std::runtime_error(fmt::format("{}: transmitting failed: {}", name_, SoapySDR_errToStr(taken)));
    if (steady_ns() > deadline) return refused(), false;
    std::this_thread::sleep_for(kWritePause);
  }
  return left == 0;
}

void SoapySink::refused() {
  if (watch_.refused(steady_ns())) throw std::runtime_error(name_ + ": the radio no longer takes samples");
}

void SoapySink::finish() {
  try {
    const std::unique_lock lock(mutex_, kPatience);
    if (!lock || !stream_ || !stream_->is_on()) return;
    status_.read(stream_->radio());
    status_.await_end();
    stream_->end_burst();
    const std::int64_t deadline = steady_ns() + TransmitWatch::kPatienceNs;
    while (status_.is_awaiting_end() && !interrupted_ && steady_ns() < deadline) {
      status_.read(stream_->radio());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (...) {
    log::warn("{}: cannot end the transmission: {}", name_, text_of(std::current_exception()));
  }
}

void SoapySinkOptions::fields(FieldVisitor& v) {
  settings_.fields(v, false);
  timing_.fields(v);
}

void SoapySinkOptions::check(const PortFormat& format, const Section& section) const {
  settings_.check_gains(section);
  check_transmitted(format, settings_, section);
}

std::unique_ptr<Sink> SoapySinkOptions::open(const PortFormat& format) const {
  Settings settings = settings_;
  if (settings.rate_hz <= 0) settings.rate_hz = format.item_rate_hz;
  return std::make_unique<SoapySink>(settings, timing_, format.element);
}

}  // namespace iqd::radio::soapy
