// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Moves samples between a program and the streams of a device.
#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>

#include <SoapySDR/Logger.hpp>
#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/device.hpp"

namespace iqd::warp {
namespace {

/// The minimum time for an exchange with a node, however short the caller's time-out.
constexpr std::int64_t kLeastNs = 10'000'000;

std::int64_t deadline_of(long timeout_us) {
  return steady_ns() + std::max(std::int64_t{timeout_us} * 1000, kLeastNs);
}

int failed(const std::exception& e) {
  SoapySDR::log(SOAPY_SDR_ERROR, e.what());
  return SOAPY_SDR_STREAM_ERROR;
}

void to_floats(const std::int16_t* iq, std::size_t values, float* out) {
  for (std::size_t i = 0; i < values; ++i) out[i] = iq[i] * (1 / kFullScale);
}

/// Rounds and saturates, by truncation, because compilers vectorize that.
void to_shorts(const float* x, std::size_t values, std::int16_t* out) {
  for (std::size_t i = 0; i < values; ++i) {
    const float v = std::min(std::max(x[i] * kFullScale, -32768.0f), 32767.0f);
    out[i] = static_cast<std::int16_t>(static_cast<int>(v + 32768.5f) - 32768);
  }
}

/// The caller's samples, in either format.
class Given final : public Burst::Rows {
 public:
  Given(const void* const* buffers, Format format) : buffers_(buffers), format_(format) {}
  void copy(std::size_t row, std::uint32_t at, std::uint32_t count, std::int16_t* to) const override {
    const std::size_t first = std::size_t{2} * at, values = std::size_t{2} * count;
    if (format_ == Format::cf32)
      to_shorts(static_cast<const float*>(buffers_[row]) + first, values, to);
    else
      std::memcpy(to, static_cast<const std::int16_t*>(buffers_[row]) + first, 2 * values);
  }

 private:
  const void* const* buffers_;
  Format format_;
};

}  // namespace

int Device::readStream(SoapySDR::Stream* handle, void* const* buffers, std::size_t samples, int& flags,
                       long long& time_ns, long timeout_us) {
  flags = 0;
  if (!stream_of(handle).active) {
    std::this_thread::sleep_for(std::chrono::microseconds(timeout_us));
    return SOAPY_SDR_TIMEOUT;
  }
  try {
    return read(buffers, samples, flags, time_ns, deadline_of(timeout_us));
  } catch (const std::exception& e) {
    return failed(e);
  }
}

int Device::read(void* const* buffers, std::size_t samples, int& flags, long long& time_ns, std::int64_t deadline_ns) {
  switch (receiver_->advance(deadline_ns)) {
    case Receiver::Event::nothing: return SOAPY_SDR_TIMEOUT;
    case Receiver::Event::lost: return SOAPY_SDR_OVERFLOW;
    case Receiver::Event::samples: break;
  }
  const auto n = static_cast<std::uint32_t>(std::min<std::size_t>(samples, receiver_->available()));
  for (std::size_t c = 0; c < rx_.channels.size(); ++c) {
    if (rx_.format == Format::cf32)
      to_floats(receiver_->iq(c), std::size_t{2} * n, static_cast<float*>(buffers[c]));
    else
      std::memcpy(buffers[c], receiver_->iq(c), std::size_t{4} * n);
  }
  flags = SOAPY_SDR_HAS_TIME;
  time_ns = receiver_->time_ns();
  receiver_->take(n);
  if (receiver_->at_end() && receiver_->available() == 0) flags |= SOAPY_SDR_END_BURST;
  return static_cast<int>(n);
}

int Device::writeStream(SoapySDR::Stream* handle, const void* const* buffers, std::size_t samples, int& flags,
                        long long time_ns, long timeout_us) {
  if (!stream_of(handle).active) {
    std::this_thread::sleep_for(std::chrono::microseconds(timeout_us));
    return SOAPY_SDR_TIMEOUT;
  }
  try {
    transmitter_->stay_alive();
    const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(samples, std::numeric_limits<int>::max()));
    const auto time = flags & SOAPY_SDR_HAS_TIME ? std::optional<std::int64_t>(time_ns) : std::nullopt;
    const int taken = transmitter_->transmitter().write(Given(buffers, tx_.format), count, time,
                                                        flags & SOAPY_SDR_END_BURST, deadline_of(timeout_us));
    if (taken == Transmitter::kLate) return SOAPY_SDR_TIME_ERROR;
    return taken == 0 && count > 0 ? SOAPY_SDR_TIMEOUT : taken;
  } catch (const std::exception& e) {
    return failed(e);
  }
}

int Device::readStreamStatus(SoapySDR::Stream* handle, std::size_t& channels, int& flags, long long& time_ns,
                             long timeout_us) {
  const Stream& stream = stream_of(handle);
  if (stream.direction == SOAPY_SDR_RX) return SOAPY_SDR_NOT_SUPPORTED;
  if (!stream.active) return SOAPY_SDR_TIMEOUT;
  try {
    transmitter_->stay_alive();
    const std::int64_t asked_ns = steady_ns() + std::int64_t{timeout_us} * 1000;
    Transmitter& transmitter = transmitter_->transmitter();
    auto report = transmitter.next_report();
    if (!report) {
      transmitter.advance(deadline_of(timeout_us));
      report = transmitter.next_report();
    }
    if (!report) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::max<std::int64_t>(asked_ns - steady_ns(), 0)));
      return SOAPY_SDR_TIMEOUT;
    }
    channels = (std::size_t{1} << stream.channels.size()) - 1;
    time_ns = report->time_ns;
    const bool sent = report->kind == Report::Kind::sent;
    flags = SOAPY_SDR_HAS_TIME | (sent ? SOAPY_SDR_END_BURST : 0);
    return sent ? 0 : SOAPY_SDR_TIME_ERROR;
  } catch (const std::exception& e) {
    return failed(e);
  }
}

}  // namespace iqd::warp
