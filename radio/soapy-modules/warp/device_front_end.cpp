// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <SoapySDR/Constants.h>

#include <SoapySDR/Logger.hpp>
#include <cmath>
#include <stdexcept>

#include "radio/soapy-modules/warp/device.hpp"
#include "radio/soapy-modules/warp/node/front_end.hpp"

namespace iqd::warp {
namespace {

[[noreturn]] void no_such(const char* what, const std::string& name) {
  throw std::invalid_argument(std::string("warp: no ") + what + " " + name);
}

SoapySDR::Range range_of(const Steps& s) {
  return {s.low, s.high, (s.high - s.low) / (s.last - s.first)};
}

RfChain::GainStage stage_named(const std::string& name) {
  if (name == "RF") return RfChain::GainStage::rf;
  if (name == "BB") return RfChain::GainStage::baseband;
  no_such("gain", name);
}

}  // namespace

void Device::setFrequency(int, std::size_t channel, double hz, const SoapySDR::Kwargs&) {
  const std::lock_guard lock(mutex_);
  channel_at(hz);  // refuses a frequency without a channel
  RfChain& c = chain(channel);
  prepare();
  c.set_frequency(hz);
}
void Device::setFrequency(int direction, std::size_t channel, const std::string& name, double hz,
                          const SoapySDR::Kwargs& args) {
  if (name != "RF") no_such("frequency", name);
  setFrequency(direction, channel, hz, args);
}
double Device::getFrequency(int, std::size_t channel) const {
  return chain(channel).frequency_hz();
}
double Device::getFrequency(int direction, std::size_t channel, const std::string& name) const {
  if (name != "RF") no_such("frequency", name);
  return getFrequency(direction, channel);
}
SoapySDR::RangeList Device::getFrequencyRange(int, std::size_t) const {
  SoapySDR::RangeList list;
  for (const Channel& c : channels()) list.emplace_back(c.hz, c.hz);
  return list;
}
SoapySDR::RangeList Device::getFrequencyRange(int direction, std::size_t channel, const std::string&) const {
  return getFrequencyRange(direction, channel);
}

std::vector<std::string> Device::listGains(int direction, std::size_t) const {
  if (direction == SOAPY_SDR_TX) return {"BB", "RF"};
  return {"RF", "BB"};
}

/// Fills the receiver's RF gain first (Soapy's default order), and the transmitter's baseband gain first.
void Device::setGain(int direction, std::size_t channel, double db) {
  if (direction == SOAPY_SDR_RX) return SoapySDR::Device::setGain(direction, channel, db);
  setGain(direction, channel, "BB", std::min(db, 0.0));
  setGain(direction, channel, "RF", db - getGain(direction, channel, "BB"));
}

void Device::setGain(int direction, std::size_t channel, const std::string& name, double db) {
  const std::lock_guard lock(mutex_);
  const RfChain::GainStage stage = stage_named(name);
  RfChain& c = chain(channel);
  prepare();
  c.set_gain(direction, stage, db);
}

double Device::getGain(int direction, std::size_t channel) const {
  return getGain(direction, channel, "BB") + getGain(direction, channel, "RF");
}
double Device::getGain(int direction, std::size_t channel, const std::string& name) const {
  const RfChain& c = chain(channel);
  return c.gain_db(direction, stage_named(name));
}

SoapySDR::Range Device::getGainRange(int direction, std::size_t channel) const {
  const SoapySDR::Range rf = getGainRange(direction, channel, "RF"), bb = getGainRange(direction, channel, "BB");
  return {rf.minimum() + bb.minimum(), rf.maximum() + bb.maximum()};
}
SoapySDR::Range Device::getGainRange(int direction, std::size_t, const std::string& name) const {
  const bool rf = stage_named(name) == RfChain::GainStage::rf;
  if (direction == SOAPY_SDR_TX)
    return rf ? range_of(kTxRfGain) : SoapySDR::Range(kTxBasebandGain.front(), kTxBasebandGain.back());
  return range_of(rf ? kRxRfGain : kRxBasebandGain);
}

bool Device::hasGainMode(int direction, std::size_t) const {
  return direction == SOAPY_SDR_RX;
}
void Device::setGainMode(int direction, std::size_t channel, bool automatic) {
  const std::lock_guard lock(mutex_);
  if (direction != SOAPY_SDR_RX) throw std::invalid_argument("warp: a transmitter has no automatic gain");
  RfChain& c = chain(channel);
  prepare();
  c.set_automatic(automatic);
}
bool Device::getGainMode(int direction, std::size_t channel) const {
  return direction == SOAPY_SDR_RX && chain(channel).is_automatic();
}

void Device::setBandwidth(int direction, std::size_t channel, double hz) {
  const std::lock_guard lock(mutex_);
  RfChain& c = chain(channel);
  prepare();
  c.set_bandwidth(direction, hz);
}
double Device::getBandwidth(int direction, std::size_t channel) const {
  return chain(channel).bandwidth_hz(direction);
}
SoapySDR::RangeList Device::getBandwidthRange(int direction, std::size_t) const {
  SoapySDR::RangeList list;
  const auto add = [&](auto& corners) {
    for (const double hz : corners) list.emplace_back(hz, hz);
  };
  if (direction == SOAPY_SDR_TX)
    add(kTxLowPassHz);
  else
    add(kRxLowPassHz);
  return list;
}

void Device::setSampleRate(int, std::size_t channel, double hz) {
  chain(channel);
  if (hz != rate_hz_) SoapySDR::logf(SOAPY_SDR_INFO, "warp: the sample rate is fixed at %g S/s", rate_hz_);
}

}  // namespace iqd::warp
