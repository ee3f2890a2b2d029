// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/soapy_sink.hpp"

#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace iqd::radio::soapy {
namespace {

constexpr long kTimeoutUs = 100'000;
constexpr std::int64_t kPatienceNs = 1'000'000'000;
/// Without samples for so long it is switched off: whoever makes them does not any more.
constexpr std::int64_t kSilentNs = 500'000'000;
/// A radio that takes nothing for so long is gone.
constexpr std::int64_t kGoneNs = 5'000'000'000;
// Some modules return at once where they should wait.
constexpr auto kPause = std::chrono::milliseconds(1);
constexpr auto kGuardPause = std::chrono::milliseconds(20);

}  // namespace

SoapySink::SoapySink(const Settings& settings, const Timing& timing, Element element)
    : settings_(settings),
      timing_(timing),
      element_(element),
      name_(fmt::format("soapy '{}'", settings.args)),
      buffers_(settings.channels.size()) {
  open();
  guard_ = std::thread([this] { guard(); });
}

SoapySink::~SoapySink() {
  ends_ = true;
  guard_.join();
  try {
    if (on_) radio_->quieten(settings_);
  } catch (...) {
    log::debug("{}: switching it off failed: {}", name_, text_of(std::current_exception()));
  }
}

void SoapySink::open() {
  auto radio = std::make_unique<DeviceStream>(settings_, SOAPY_SDR_TX, element_);
  if (timing_.timed && radio->time() != TimeSource::radio)
    throw SetupError(
        fmt::format("{}: `timed: true` needs a radio with a clock that can be set; leave it out to "
                    "transmit samples as they come",
                    name_));
  for (const std::int64_t channel : settings_.channels)
    settings_.permitted.require(name_, radio->granted(settings_, static_cast<std::size_t>(channel)));
  radio->quieten(settings_);
  radio->start();
  radio_ = std::move(radio);
  active_ = true;
  sent_ns_ = steady_ns();
}

void SoapySink::switch_on() {
  if (!radio_) open();
  if (!active_) radio_->start();
  active_ = true;
  radio_->amplify(settings_);
  on_ = true;
}

void SoapySink::switch_off() {
  if (on_) {
    end_burst();
    radio_->quieten(settings_);
  }
  radio_->stop();
  on_ = active_ = false;
}

void SoapySink::end_burst() {
  int flags = SOAPY_SDR_END_BURST;
  radio_->device().writeStream(radio_->stream(), buffers_.data(), 0, flags, 0, kTimeoutUs);
}

void SoapySink::guard() {
  while (!ends_) {
    std::this_thread::sleep_for(kGuardPause);
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !radio_) continue;
    try {
      look_after();
    } catch (...) {
      log::warn("{}: switching it off failed: {}", name_, text_of(std::current_exception()));
      on_ = active_ = false;
      radio_.reset();
    }
  }
}

/// Whoever shares the device can only open it again when it is closed here; with the next sample it is opened again.
void SoapySink::look_after() {
  if (active_ && steady_ns() - std::max(sent_ns_, on_air_until_ns_) > kSilentNs) switch_off();
  if (!active_ && radio_->is_given_up()) radio_.reset();
}

bool SoapySink::send(const Message& message) {
  const std::unique_lock lock(mutex_, std::chrono::nanoseconds(kPatienceNs));
  if (!lock) return false;  // the guard waits for a radio that does not answer
  try {
    if (!on_) switch_on();
    const bool taken = transmit(message);
    read_status();
    sent_ns_ = steady_ns();
    return taken;
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    throw std::runtime_error(fmt::format("{}: transmitting failed: {}", name_, text_of(std::current_exception())));
  }
}

void SoapySink::refused() {
  const std::int64_t now = steady_ns();
  if (refused_ns_ == 0) refused_ns_ = now;
  if (now - refused_ns_ > kGoneNs) throw std::runtime_error(name_ + ": it takes no samples any more");
}

bool SoapySink::transmit(const Message& message) {
  const std::size_t row = message.payload.size() / buffers_.size();
  for (std::size_t c = 0; c < buffers_.size(); ++c) buffers_[c] = message.payload.data() + c * row;
  const auto samples = static_cast<std::int64_t>(row / size_of(element_));
  const std::int64_t begins_ns = timing_.leaves_ns(message);
  const std::int64_t now = steady_ns();
  const std::int64_t begins = timing_.timed ? now + begins_ns - wall_ns() : std::max(now, on_air_until_ns_);
  const std::int64_t duration = std::llround(static_cast<double>(samples) * 1e9 / radio_->rate_hz());
  // A free-running radio takes more than can leave, and a time stamp may be none.
  const auto delay = static_cast<std::int64_t>(timing_.timed ? timing_.delay_s * 1e9 : 0);
  on_air_until_ns_ = std::min(begins + duration, now + delay + kGoneNs);
  return write(samples, timing_.timed ? SOAPY_SDR_HAS_TIME : 0, begins_ns);
}

/// Only the first of the writes has a time: what follows goes on from there.
bool SoapySink::write(std::int64_t left, int flags, std::int64_t time_ns) {
  std::int64_t deadline = steady_ns() + kPatienceNs;
  while (left > 0 && !interrupted_) {
    const auto most = static_cast<std::size_t>(std::min<std::int64_t>(left, std::numeric_limits<int>::max()));
    int given = flags;
    const int taken = radio_->device().writeStream(radio_->stream(), buffers_.data(), most, given, time_ns, kTimeoutUs);
    if (taken > 0) {
      if (static_cast<std::size_t>(taken) > most)
        throw std::runtime_error(name_ + ": the module took more samples than it was given");
      advance(taken);
      left -= taken;
      flags = 0;
      refused_ns_ = 0;
      deadline = steady_ns() + kPatienceNs;
    } else if (taken == SOAPY_SDR_UNDERFLOW) {
      note(underflows_, "ran out of samples");
    } else if (taken == SOAPY_SDR_TIME_ERROR) {
      if (!has_status_) note(late_, "got samples too late");  // else it is told there as well
      return false;
    } else if (taken != 0 && taken != SOAPY_SDR_TIMEOUT) {
      throw std::runtime_error(fmt::format("{}: transmitting failed: {}", name_, SoapySDR_errToStr(taken)));
    }
    if (taken > 0) continue;
    if (steady_ns() > deadline) return refused(), false;
    std::this_thread::sleep_for(kPause);
  }
  return left == 0;
}

void SoapySink::advance(std::int64_t samples) noexcept {
  for (const void*& buffer : buffers_)
    buffer = static_cast<const std::byte*>(buffer) + static_cast<std::size_t>(samples) * size_of(element_);
}

/// Takes what the module has to tell just now. Where it cannot, its samples may go all the same.
void SoapySink::read_status() {
  try {
    take_status();
  } catch (...) {
    has_status_ = false;
    log::warn("{}: what becomes of samples cannot be told: {}", name_, text_of(std::current_exception()));
  }
}

void SoapySink::take_status() {
  constexpr int kAtOnce = 16;
  for (int i = 0; has_status_ && i < kAtOnce; ++i) {
    std::size_t channels = 0;
    int flags = 0;
    long long time_ns = 0;
    const int code = radio_->device().readStreamStatus(radio_->stream(), channels, flags, time_ns, 0);
    if (code == SOAPY_SDR_TIMEOUT) return;
    if (code == SOAPY_SDR_NOT_SUPPORTED) has_status_ = false;
    if (code == SOAPY_SDR_UNDERFLOW) note(underflows_, "ran out of samples");
    if (code == SOAPY_SDR_TIME_ERROR) note(late_, "got samples too late");
    if (code == 0 && (flags & SOAPY_SDR_END_BURST)) burst_ended_ = true;
  }
}

void SoapySink::note(std::atomic<std::uint64_t>& count, std::string_view what) {
  const std::uint64_t times = ++count;
  std::uint64_t suppressed = 0;
  if (limit_.allow(suppressed)) log::warn("{}: the transmitter {}, {} times so far", name_, what, times);
}

void SoapySink::finish() {
  try {
    const std::unique_lock lock(mutex_, std::chrono::nanoseconds(kPatienceNs));
    if (!lock || !on_) return;
    read_status();
    burst_ended_ = false;
    end_burst();
    const std::int64_t deadline = steady_ns() + kPatienceNs;
    while (has_status_ && !burst_ended_ && !interrupted_ && steady_ns() < deadline) {
      read_status();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (...) {
    log::warn("{}: ending the transmission failed: {}", name_, text_of(std::current_exception()));
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
