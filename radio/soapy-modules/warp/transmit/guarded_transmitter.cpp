// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/transmit/guarded_transmitter.hpp"

#include <SoapySDR/Logger.hpp>
#include <exception>

#include "radio/soapy-modules/warp/node/front_end.hpp"

namespace iqd::warp {

void GuardedTransmitter::start() {
  guard_ = std::make_unique<Guard>(last_words(), watchdog_ns_);
  transmitter_.start();
}

void GuardedTransmitter::stop() {
  try {
    transmitter_.stop();
    guard_->dismiss();
  } catch (const std::exception& e) {
    SoapySDR::log(SOAPY_SDR_ERROR, e.what());
  }
  guard_.reset();  // the guard sends its last words if stop() failed
}

void GuardedTransmitter::stay_alive() {
  if (guard_->alive()) return;
  SoapySDR::log(SOAPY_SDR_WARNING,
                "warp: the watchdog had switched the transmitter off, because this process was silent "
                "for too long; it is on again (device argument watchdog=, in seconds)");
  guard_.reset();
  start();
}

std::vector<Guard::Words> GuardedTransmitter::last_words() const {
  std::vector<Guard::Words> words;
  for (const NodeMask& m : transmitter_.masks()) {
    const sockaddr_in& to = m.node->options().address;
    words.push_back({to, m.node->packet(Command::buffers_disable, {m.buffers})});
    words.push_back({to, m.node->packet(Command::tx_mode, {kSingle})});
    for (std::uint32_t bit = rf_select(0); bit != 0; bit <<= 1)
      if (m.rf & bit) words.push_back({to, m.node->packet(Command::both_off, {bit})});
  }
  return words;
}

}  // namespace iqd::warp
