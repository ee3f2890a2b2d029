// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy/soapy_sink.hpp"

#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <stdexcept>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace iqd::radio::soapy {
namespace {

constexpr long kTimeoutUs = 100'000;
constexpr std::int64_t kPatienceNs = 1'000'000'000;

}  // namespace

SoapySink::SoapySink(const Settings& settings, const Timing& timing, Element element)
    : radio_(settings, SOAPY_SDR_TX, element),
      timing_(timing),
      sample_bytes_(size_of(element)),
      buffers_(settings.channels.size()) {
  if (timing.timed && radio_.time() != TimeSource::radio)
    throw SetupError(
        fmt::format("{}: `timed: true` needs a radio with a clock that can be set; leave it out to "
                    "transmit samples as they come",
                    radio_.name()));
  for (const std::int64_t channel : settings.channels) {
    const auto c = static_cast<std::size_t>(channel);
    Emission granted = settings.emission(radio_.rate_hz());
    if (granted.frequency_hz) granted.frequency_hz = radio_.device().getFrequency(SOAPY_SDR_TX, c);
    if (granted.gain_db) granted.gain_db = radio_.device().getGain(SOAPY_SDR_TX, c);
    settings.permitted.require(radio_.name(), granted);
  }
  radio_.start();
}

bool SoapySink::send(const Message& message) {
  const std::size_t row = message.payload.size() / buffers_.size();
  for (std::size_t c = 0; c < buffers_.size(); ++c) buffers_[c] = message.payload.data() + c * row;
  const int flags = timing_.timed ? SOAPY_SDR_HAS_TIME : 0;
  const bool sent = write(static_cast<std::int64_t>(row / sample_bytes_), flags, timing_.leaves_ns(message));
  read_status();
  return sent;
}

/// Only the first of the writes has a time: what follows goes on from there.
bool SoapySink::write(std::int64_t left, int flags, std::int64_t time_ns) {
  std::int64_t deadline = steady_ns() + kPatienceNs;
  while (left > 0 && !interrupted_) {
    const auto most = static_cast<std::size_t>(std::min<std::int64_t>(left, std::numeric_limits<int>::max()));
    int given = flags;
    const int taken = radio_.device().writeStream(radio_.stream(), buffers_.data(), most, given, time_ns, kTimeoutUs);
    if (taken > 0) {
      if (static_cast<std::size_t>(taken) > most)
        throw std::runtime_error(radio_.name() + ": the module took more samples than it was given");
      advance(taken);
      left -= taken;
      flags = 0;
      deadline = steady_ns() + kPatienceNs;
    } else if (taken == SOAPY_SDR_UNDERFLOW) {
      note(underflows_, "ran out of samples");
    } else if (taken == SOAPY_SDR_TIME_ERROR) {
      if (!has_status_) note(late_, "got samples too late");  // else it is told there as well
      return false;
    } else if (taken != 0 && taken != SOAPY_SDR_TIMEOUT) {
      throw std::runtime_error(fmt::format("{}: transmitting failed: {}", radio_.name(), SoapySDR_errToStr(taken)));
    }
    if (taken <= 0 && steady_ns() > deadline) return false;
  }
  return left == 0;
}

void SoapySink::advance(std::int64_t samples) noexcept {
  for (const void*& buffer : buffers_)
    buffer = static_cast<const std::byte*>(buffer) + static_cast<std::size_t>(samples) * sample_bytes_;
}

/// Takes what the module has to tell just now.
void SoapySink::read_status() {
  constexpr int kAtOnce = 16;
  for (int i = 0; has_status_ && i < kAtOnce; ++i) {
    std::size_t channels = 0;
    int flags = 0;
    long long time_ns = 0;
    const int code = radio_.device().readStreamStatus(radio_.stream(), channels, flags, time_ns, 0);
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
  if (limit_.allow(suppressed)) log::warn("{}: the transmitter {}, {} times so far", radio_.name(), what, times);
}

void SoapySink::finish() {
  try {
    int flags = SOAPY_SDR_END_BURST;
    radio_.device().writeStream(radio_.stream(), buffers_.data(), 0, flags, 0, kTimeoutUs);
    const std::int64_t deadline = steady_ns() + kPatienceNs;
    while (has_status_ && !burst_ended_ && !interrupted_ && steady_ns() < deadline) {
      read_status();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (...) {
    log::warn("{}: ending the transmission failed: {}", radio_.name(), text_of(std::current_exception()));
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
