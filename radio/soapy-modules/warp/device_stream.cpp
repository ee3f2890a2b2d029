// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>

#include <SoapySDR/Logger.hpp>
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "radio/soapy-modules/warp/device.hpp"

namespace iqd::warp {
namespace {

constexpr std::size_t kMtu = 16384;
constexpr std::uint32_t kUsualLength = 32768;
SoapySDR::ArgInfo info_of(const std::string& key, const std::string& value, const std::string& what,
                          const std::string& units, SoapySDR::ArgInfo::Type type) {
  SoapySDR::ArgInfo info;
  info.key = key;
  info.value = value;
  info.description = what;
  info.units = units;
  info.type = type;
  return info;
}

/// The default is limited by the node with the shortest buffers; `most` is the limit that a node reports.
std::uint32_t length_of(const Arguments& args, const NodeGroup& nodes, std::uint32_t Info::*most) {
  const std::uint32_t least = nodes.least(most);
  return static_cast<std::uint32_t>(args.count("length", std::min(kUsualLength, least), 1, least));
}

}  // namespace

std::string Device::getNativeStreamFormat(int, std::size_t, double& full_scale) const {
  full_scale = kFullScale;
  return "CS16";
}

SoapySDR::ArgInfoList Device::getStreamArgsInfo(int direction, std::size_t) const {
  const bool rx = direction == SOAPY_SDR_RX;
  SoapySDR::ArgInfoList list{
      info_of("length", "32768", rx ? "of a capture" : "of a burst, maximum", "samples", SoapySDR::ArgInfo::INT),
      info_of("every", "0", "minimum time from one start to the next", "s", SoapySDR::ArgInfo::FLOAT)};
  auto more = rx ? info_of("trigger", "own", "own: captures start on their own; transmit: with bursts", "",
                           SoapySDR::ArgInfo::STRING)
                 : info_of("mode", "single", "single: sends a burst once; continuous: repeats it", "",
                           SoapySDR::ArgInfo::STRING);
  more.options = rx ? std::vector<std::string>{"own", "transmit"} : std::vector<std::string>{"single", "continuous"};
  list.push_back(more);
  return list;
}

std::size_t Device::getStreamMTU(SoapySDR::Stream*) const {
  return kMtu;
}

SoapySDR::Stream* Device::setupStream(int direction, const std::string& format,
                                      const std::vector<std::size_t>& channels, const SoapySDR::Kwargs& kwargs) {
  const std::lock_guard lock(mutex_);
  Stream& stream = direction == SOAPY_SDR_RX ? rx_ : tx_;
  const Stream& other = direction == SOAPY_SDR_RX ? tx_ : rx_;
  if (stream.open) throw std::runtime_error("warp: the only stream in this direction is in use");
  if (format != "CS16" && format != "CF32")
    throw std::invalid_argument("warp: format " + format + " is not supported; use CS16 or CF32");
  stream.direction = direction;
  stream.format = format == "CF32" ? Format::cf32 : Format::cs16;
  stream.channels = channels.empty() ? std::vector<std::size_t>{0} : channels;
  for (const std::size_t c : stream.channels) {
    chain(c);
    if (other.open && std::count(other.channels.begin(), other.channels.end(), c))
      throw std::runtime_error("warp: channel " + std::to_string(c) +
                               " cannot transmit and receive at once; use another channel for one of them");
  }
  const Arguments args("warp", kwargs);
  if (const auto key = args.unknown({"length", "every", direction == SOAPY_SDR_RX ? "trigger" : "mode"}))
    args.refuse(*key, args.text(*key, ""), "unknown stream argument");
  prepare();
  if (direction == SOAPY_SDR_RX)
    set_up_receiver(args);
  else
    set_up_transmitter(args);
  stream.open = true;
  return reinterpret_cast<SoapySDR::Stream*>(&stream);
}

std::vector<Chain> Device::chains_of(const Stream& stream) const {
  std::vector<Chain> chains;
  for (const std::size_t c : stream.channels) chains.push_back(chains_[c].chain());
  return chains;
}

void Device::set_up_receiver(const Arguments& args) {
  static constexpr std::string_view kTriggers[] = {"own", "transmit"};
  Receiver::Options o;
  o.length = length_of(args, nodes_, &Info::most_rx);
  o.every_ns = std::llround(args.number_up_to("every", 0, 1e6) * 1e9);
  o.with_bursts = args.choice("trigger", "own", kTriggers) == 1;
  o.rate_hz = rate_hz_;
  receiver_ = std::make_unique<Receiver>(trigger_, chains_of(rx_), o);
}

void Device::set_up_transmitter(const Arguments& args) {
  static constexpr std::string_view kModes[] = {"single", "continuous"};
  Transmitter::Options o;
  o.length = length_of(args, nodes_, &Info::most_tx);
  o.every_ns = std::llround(args.number_up_to("every", 0, 1e6) * 1e9);
  o.continuous = args.choice("mode", "single", kModes) == 1;
  o.rate_hz = rate_hz_;
  transmitter_ = std::make_unique<GuardedTransmitter>(trigger_, chains_of(tx_), o, watchdog_ns_);
}

void Device::closeStream(SoapySDR::Stream* handle) {
  Stream& stream = stream_of(handle);
  deactivateStream(handle, 0, 0);
  const std::lock_guard lock(mutex_);
  stream.open = false;
}

int Device::activateStream(SoapySDR::Stream* handle, int flags, long long, std::size_t samples) {
  if (flags != 0 || samples != 0) return SOAPY_SDR_NOT_SUPPORTED;
  Stream& stream = stream_of(handle);
  const std::lock_guard lock(mutex_);
  if (stream.active) return 0;
  if (stream.direction == SOAPY_SDR_RX)
    receiver_->start();
  else
    transmitter_->start();
  stream.active = true;
  return 0;
}

int Device::deactivateStream(SoapySDR::Stream* handle, int flags, long long) {
  if (flags != 0) return SOAPY_SDR_NOT_SUPPORTED;
  Stream& stream = stream_of(handle);
  const std::lock_guard lock(mutex_);
  if (!stream.active) return 0;
  stream.active = false;
  if (stream.direction == SOAPY_SDR_TX) {
    transmitter_->stop();
    return 0;
  }
  try {
    receiver_->stop();
  } catch (const std::exception& e) {
    SoapySDR::log(SOAPY_SDR_ERROR, e.what());
  }
  return 0;
}

}  // namespace iqd::warp
