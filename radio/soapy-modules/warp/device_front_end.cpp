// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <SoapySDR/Constants.h>

#include <SoapySDR/Logger.hpp>
#include <cmath>
#include <stdexcept>

#include "radio/soapy-modules/warp/device.hpp"
#include "radio/soapy-modules/warp/front_end.hpp"

namespace iqd::warp {
namespace {

[[noreturn]] void no_such(const char* what, const std::string& name) {
  throw std::invalid_argument(std::string("warp: there is no ") + what + " " + name);
}

SoapySDR::Range range_of(const Steps& s) {
  return {s.low, s.high, (s.high - s.low) / (s.last - s.first)};
}

}  // namespace

void Device::set_channel(std::size_t channel) {
  const Chain& c = chain(channel);
  const Channel& at = channel_at(front_ends_[channel].hz);
  c.node->ask(Command::channel, {rf_select(c.number), at.band, at.number});
}

void Device::set_tx_gains(std::size_t channel) {
  const Chain& c = chain(channel);
  const FrontEnd& f = front_ends_[channel];
  c.node->ask(Command::tx_gains, {rf_select(c.number), f.tx_baseband, f.tx_rf});
}

void Device::set_rx_gains(std::size_t channel) {
  const Chain& c = chain(channel);
  const FrontEnd& f = front_ends_[channel];
  c.node->ask(Command::rx_gains, {rf_select(c.number), f.rx_rf, f.rx_baseband});
}

void Device::set_low_pass(int direction, std::size_t channel) {
  const Chain& c = chain(channel);
  const FrontEnd& f = front_ends_[channel];
  const bool tx = direction == SOAPY_SDR_TX;
  c.node->ask(tx ? Command::tx_low_pass : Command::rx_low_pass,
              {rf_select(c.number), tx ? f.tx_low_pass : f.rx_low_pass});
}

void Device::setFrequency(int, std::size_t channel, double hz, const SoapySDR::Kwargs&) {
  const std::lock_guard lock(mutex_);
  const double exact = channel_at(hz).hz;
  front_end(channel);
  prepare();
  front_ends_[channel].hz = exact;
  set_channel(channel);
}
void Device::setFrequency(int direction, std::size_t channel, const std::string& name, double hz,
                          const SoapySDR::Kwargs& args) {
  if (name != "RF") no_such("frequency", name);
  setFrequency(direction, channel, hz, args);
}
double Device::getFrequency(int, std::size_t channel) const {
  return front_end(channel).hz;
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

/// The receiver takes as much as it can from RF, the transmitter from the baseband: Soapy's own way for the first.
void Device::setGain(int direction, std::size_t channel, double db) {
  if (direction == SOAPY_SDR_RX) return SoapySDR::Device::setGain(direction, channel, db);
  setGain(direction, channel, "BB", std::min(db, 0.0));
  setGain(direction, channel, "RF", db - getGain(direction, channel, "BB"));
}

void Device::setGain(int direction, std::size_t channel, const std::string& name, double db) {
  const std::lock_guard lock(mutex_);
  const bool rf = name == "RF";
  if (!rf && name != "BB") no_such("gain", name);
  front_end(channel);
  prepare();
  FrontEnd& f = front_ends_[channel];
  if (direction == SOAPY_SDR_TX) {
    (rf ? f.tx_rf : f.tx_baseband) =
        rf ? kTxRfGain.nearest(db) : static_cast<std::uint32_t>(nearest(kTxBasebandGain, db));
    set_tx_gains(channel);
  } else {
    (rf ? f.rx_rf : f.rx_baseband) = rf ? kRxRfGain.below(db) : kRxBasebandGain.nearest(db);
    set_rx_gains(channel);
  }
}

double Device::getGain(int direction, std::size_t channel) const {
  return getGain(direction, channel, "BB") + getGain(direction, channel, "RF");
}
double Device::getGain(int direction, std::size_t channel, const std::string& name) const {
  const FrontEnd& f = front_end(channel);
  const bool rf = name == "RF";
  if (!rf && name != "BB") no_such("gain", name);
  if (direction == SOAPY_SDR_TX) return rf ? kTxRfGain.value(f.tx_rf) : kTxBasebandGain[f.tx_baseband];
  return rf ? kRxRfGain.value(f.rx_rf) : kRxBasebandGain.value(f.rx_baseband);
}

SoapySDR::Range Device::getGainRange(int direction, std::size_t channel) const {
  const SoapySDR::Range rf = getGainRange(direction, channel, "RF"), bb = getGainRange(direction, channel, "BB");
  return {rf.minimum() + bb.minimum(), rf.maximum() + bb.maximum()};
}
SoapySDR::Range Device::getGainRange(int direction, std::size_t, const std::string& name) const {
  const bool rf = name == "RF";
  if (!rf && name != "BB") no_such("gain", name);
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
  const Chain& c = chain(channel);
  prepare();
  c.node->ask(Command::gain_control, {rf_select(c.number), automatic});
  front_ends_[channel].automatic = automatic;
}
bool Device::getGainMode(int direction, std::size_t channel) const {
  return direction == SOAPY_SDR_RX && front_end(channel).automatic;
}

void Device::setBandwidth(int direction, std::size_t channel, double hz) {
  const std::lock_guard lock(mutex_);
  front_end(channel);
  prepare();
  FrontEnd& f = front_ends_[channel];
  if (direction == SOAPY_SDR_TX)
    f.tx_low_pass = static_cast<std::uint32_t>(wide_enough(kTxLowPassHz, hz)) + 1;
  else
    f.rx_low_pass = static_cast<std::uint32_t>(wide_enough(kRxLowPassHz, hz));
  set_low_pass(direction, channel);
}
double Device::getBandwidth(int direction, std::size_t channel) const {
  const FrontEnd& f = front_end(channel);
  return direction == SOAPY_SDR_TX ? kTxLowPassHz[f.tx_low_pass - 1] : kRxLowPassHz[f.rx_low_pass];
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
  if (hz != rate_hz_)
    SoapySDR::logf(SOAPY_SDR_INFO, "warp: the rate stays what it always is, %g samples a second", rate_hz_);
}

}  // namespace iqd::warp
