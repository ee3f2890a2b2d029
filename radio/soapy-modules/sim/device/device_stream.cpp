// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "radio/soapy-modules/sim/device/device.hpp"

namespace iqd::sim {
namespace {

constexpr std::size_t kMtu = 16384;

Stream& stream_of(SoapySDR::Stream* handle) {
  return *reinterpret_cast<Stream*>(handle);
}

std::int64_t wall_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

SoapySDR::Stream* Device::setupStream(int direction, const std::string& format,
                                      const std::vector<std::size_t>& channels, const SoapySDR::Kwargs&) {
  Stream& stream = direction == SOAPY_SDR_RX ? rx_ : tx_;
  if (args_.text("hang_open", "") == "stream") hang();
  const std::lock_guard lock(mutex_);
  if (stream.open) throw std::runtime_error("iqdsim: the only stream in this direction is in use");
  stream.format = format_named(format);
  stream.channels = channels.empty() ? std::vector<std::size_t>{0} : channels;
  for (const std::size_t channel : stream.channels) ports_.at(direction, channel);
  stream.direction = direction;
  stream.scratch.resize(4096);
  if (direction == SOAPY_SDR_RX) direct_.allocate(stream.channels.size(), kMtu * bytes_of(stream.format));
  stream.open = true;
  return reinterpret_cast<SoapySDR::Stream*>(&stream);
}

void Device::closeStream(SoapySDR::Stream* handle) {
  if (faults_.hangs_when_closed()) hang();
  const std::lock_guard lock(mutex_);
  stream_of(handle).active = false;
  stream_of(handle).open = false;
}

std::size_t Device::getStreamMTU(SoapySDR::Stream*) const {
  return kMtu;
}

/// Sets up the scenario and the faults, from position 0 on.
void Device::set_up() {
  const auto late = static_cast<std::int64_t>(rate_hz_ * pacing_.buffer_s());
  const bool loops = args_.text("scenario", "tone") == "loopback";  // elsewhere it is not the air's
  const auto delay = loops ? static_cast<std::int64_t>(args_.number_up_to("delay", 0, kLongestDelay)) : 0;
  const std::int64_t kept = pacing_.transmit_buffer(rate_hz_) + late + delay + 4 * static_cast<std::int64_t>(kMtu);
  medium_ = std::make_unique<Medium>(args_, Medium::Size{rate_hz_, static_cast<int>(ports_.count(SOAPY_SDR_RX)),
                                                         static_cast<int>(ports_.count(SOAPY_SDR_TX)), kept});
  faults_.start(args_, rate_hz_);
  rx_.next = 0;
  tx_.next = 0;
  tx_.in_burst = false;
  reports_.clear();
}

/// Makes position 0 now.
void Device::start_clock() {
  const auto epoch = args_.number("epoch");
  clock_.start(rate_hz_, epoch ? std::llround(*epoch * 1e9) : wall_ns(), args_.number("clock_ppm", 0));
}

std::int64_t Device::now() const {
  if (pacing_.is_paced()) return clock_.position();
  return rx_.active ? rx_.next : tx_.next;
}

int Device::activateStream(SoapySDR::Stream* handle, int flags, long long, std::size_t samples) {
  if (flags != 0 || samples != 0) return SOAPY_SDR_NOT_SUPPORTED;
  Stream& stream = stream_of(handle);
  const std::lock_guard lock(mutex_);
  if (stream.active) return 0;
  const bool first = !running();
  if (first) {
    set_up();
    medium_->prepare();
    start_clock();
  }
  if (pacing_.is_paced() && !first) stream.next = std::max(stream.next.load(), clock_.position());
  faults_.resume();
  if (stream.direction == SOAPY_SDR_TX) medium_->open(stream);
  stream.active = true;
  return 0;
}

int Device::deactivateStream(SoapySDR::Stream* handle, int flags, long long) {
  if (flags != 0) return SOAPY_SDR_NOT_SUPPORTED;
  stream_of(handle).active = false;
  return 0;
}

}  // namespace iqd::sim
