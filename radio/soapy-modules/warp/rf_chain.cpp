// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/rf_chain.hpp"

#include <SoapySDR/Constants.h>

#include "radio/soapy-modules/warp/node/front_end.hpp"

namespace iqd::warp {

void RfChain::send_all() const {
  send_channel();
  send_tx_gains();
  send_rx_gains();
  send_low_pass(SOAPY_SDR_TX);
  send_low_pass(SOAPY_SDR_RX);
  chain_.node->ask(Command::gain_control, {rf_select(chain_.number), 0});
}

void RfChain::send_channel() const {
  const Channel& at = channel_at(hz_);
  chain_.node->ask(Command::channel, {rf_select(chain_.number), at.band, at.number});
}

void RfChain::send_tx_gains() const {
  chain_.node->ask(Command::tx_gains, {rf_select(chain_.number), tx_baseband_, tx_rf_});
}

void RfChain::send_rx_gains() const {
  chain_.node->ask(Command::rx_gains, {rf_select(chain_.number), rx_rf_, rx_baseband_});
}

void RfChain::send_low_pass(int direction) const {
  const bool tx = direction == SOAPY_SDR_TX;
  chain_.node->ask(tx ? Command::tx_low_pass : Command::rx_low_pass,
                   {rf_select(chain_.number), tx ? tx_low_pass_ : rx_low_pass_});
}

void RfChain::set_frequency(double hz) {
  hz_ = channel_at(hz).hz;
  send_channel();
}

void RfChain::set_gain(int direction, GainStage stage, double db) {
  const bool rf = stage == GainStage::rf;
  if (direction == SOAPY_SDR_TX) {
    (rf ? tx_rf_ : tx_baseband_) =
        rf ? kTxRfGain.nearest(db) : static_cast<std::uint32_t>(nearest(kTxBasebandGain, db));
    send_tx_gains();
  } else {
    (rf ? rx_rf_ : rx_baseband_) = rf ? kRxRfGain.below(db) : kRxBasebandGain.nearest(db);
    send_rx_gains();
  }
}

double RfChain::gain_db(int direction, GainStage stage) const noexcept {
  const bool rf = stage == GainStage::rf;
  if (direction == SOAPY_SDR_TX) return rf ? kTxRfGain.value(tx_rf_) : kTxBasebandGain[tx_baseband_];
  return rf ? kRxRfGain.value(rx_rf_) : kRxBasebandGain.value(rx_baseband_);
}

void RfChain::set_bandwidth(int direction, double hz) {
  if (direction == SOAPY_SDR_TX)
    tx_low_pass_ = static_cast<std::uint32_t>(wide_enough(kTxLowPassHz, hz)) + 1;
  else
    rx_low_pass_ = static_cast<std::uint32_t>(wide_enough(kRxLowPassHz, hz));
  send_low_pass(direction);
}

double RfChain::bandwidth_hz(int direction) const noexcept {
  return direction == SOAPY_SDR_TX ? kTxLowPassHz[tx_low_pass_ - 1] : kRxLowPassHz[rx_low_pass_];
}

void RfChain::set_automatic(bool automatic) {
  chain_.node->ask(Command::gain_control, {rf_select(chain_.number), automatic});
  automatic_ = automatic;
}

}  // namespace iqd::warp
