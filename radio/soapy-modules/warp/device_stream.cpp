// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <SoapySDR/Constants.h>
#include <SoapySDR/Errors.h>

#include <SoapySDR/Logger.hpp>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "radio/soapy-modules/warp/device.hpp"
#include "radio/soapy-modules/warp/front_end.hpp"

namespace iqd::warp {
namespace {

constexpr double kFullScale = 32768;
constexpr std::size_t kMtu = 16384;
constexpr std::uint32_t kUsualLength = 32768;
Stream& stream_of(SoapySDR::Stream* handle) {
  return *reinterpret_cast<Stream*>(handle);
}

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

}  // namespace

std::string Device::getNativeStreamFormat(int, std::size_t, double& full_scale) const {
  full_scale = kFullScale;
  return "CS16";
}

SoapySDR::ArgInfoList Device::getStreamArgsInfo(int direction, std::size_t) const {
  const bool rx = direction == SOAPY_SDR_RX;
  SoapySDR::ArgInfoList list{
      info_of("length", "32768", rx ? "of a capture" : "of a burst, at most", "samples", SoapySDR::ArgInfo::INT),
      info_of("every", "0", "from the beginning of one to that of the next, at least", "s", SoapySDR::ArgInfo::FLOAT)};
  auto more = rx ? info_of("trigger", "own", "captures begin by themselves, or with what is transmitted", "",
                           SoapySDR::ArgInfo::STRING)
                 : info_of("mode", "single", "a burst is sent once, or again and again until there is another", "",
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
  if (stream.open) throw std::runtime_error("warp: there is one stream of each direction, and it is in use");
  if (format != "CS16" && format != "CF32")
    throw std::invalid_argument("warp: format " + format + " is not offered; CS16 and CF32 are");
  stream.direction = direction;
  stream.format = format == "CF32" ? Format::cf32 : Format::cs16;
  stream.channels = channels.empty() ? std::vector<std::size_t>{0} : channels;
  for (const std::size_t c : stream.channels) {
    chain(c);
    if (other.open && std::count(other.channels.begin(), other.channels.end(), c))
      throw std::runtime_error("warp: channel " + std::to_string(c) +
                               " transmits or receives, not both at once; use another for one of them");
  }
  const Arguments args("warp", kwargs);
  if (const auto key = args.unknown({"length", "every", direction == SOAPY_SDR_RX ? "trigger" : "mode"}))
    args.refuse(*key, args.text(*key, ""), "there is no such stream argument");
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
  for (const std::size_t c : stream.channels) chains.push_back(chains_[c]);
  return chains;
}

/// As long as the least of the nodes allows; `most` is what a node says of that.
std::uint32_t Device::length_of(const Arguments& args, std::uint32_t Info::*most) const {
  std::uint32_t least = std::numeric_limits<std::uint32_t>::max();
  for (const Info& info : infos_) least = std::min(least, info.*most);
  return static_cast<std::uint32_t>(args.count("length", std::min(kUsualLength, least), 1, least));
}

void Device::set_up_receiver(const Arguments& args) {
  static constexpr std::string_view kTriggers[] = {"own", "transmit"};
  Receiver::Options o;
  o.length = length_of(args, &Info::most_rx);
  o.every_ns = std::llround(args.number_up_to("every", 0, 1e6) * 1e9);
  o.with_bursts = args.choice("trigger", "own", kTriggers) == 1;
  o.rate_hz = rate_hz_;
  receiver_ = std::make_unique<Receiver>(trigger_, chains_of(rx_), o);
}

void Device::set_up_transmitter(const Arguments& args) {
  static constexpr std::string_view kModes[] = {"single", "continuous"};
  Transmitter::Options o;
  o.length = length_of(args, &Info::most_tx);
  o.every_ns = std::llround(args.number_up_to("every", 0, 1e6) * 1e9);
  o.continuous = args.choice("mode", "single", kModes) == 1;
  o.rate_hz = rate_hz_;
  transmitter_ = std::make_unique<Transmitter>(trigger_, chains_of(tx_), o);
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
    start_transmitter();
  stream.active = true;
  return 0;
}

/// Nothing is on the air without somebody who would switch it off.
void Device::start_transmitter() {
  guard_ = std::make_unique<Guard>(last_words(), watchdog_ns_);
  transmitter_->start();
}

std::vector<Guard::Words> Device::last_words() const {
  std::vector<Guard::Words> words;
  for (const NodeMask& m : transmitter_->masks()) {
    const sockaddr_in& to = m.node->options().address;
    words.push_back({to, m.node->packet(Command::buffers_disable, {m.buffers})});
    words.push_back({to, m.node->packet(Command::tx_mode, {kSingle})});
    for (std::uint32_t bit = rf_select(0); bit != 0; bit <<= 1)
      if (m.rf & bit) words.push_back({to, m.node->packet(Command::both_off, {bit})});
  }
  return words;
}

int Device::deactivateStream(SoapySDR::Stream* handle, int flags, long long) {
  if (flags != 0) return SOAPY_SDR_NOT_SUPPORTED;
  Stream& stream = stream_of(handle);
  const std::lock_guard lock(mutex_);
  if (!stream.active) return 0;
  stream.active = false;
  try {
    if (stream.direction == SOAPY_SDR_RX) {
      receiver_->stop();
    } else {
      transmitter_->stop();
      guard_->dismiss();
    }
  } catch (const std::exception& e) {
    SoapySDR::log(SOAPY_SDR_ERROR, e.what());
  }
  if (stream.direction == SOAPY_SDR_TX) guard_.reset();  // it says what could not be said, though nobody may hear
  return 0;
}

}  // namespace iqd::warp
