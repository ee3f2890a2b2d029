// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "radio/soapy-modules/warp/node/chain.hpp"

namespace iqd::warp {

/// The settings of one RF chain, as numbers on the wire, and the commands that make them. A setter takes the nearest
/// possible value, and asks the node; it throws NodeSilent. Directions are SoapySDR's. One thread at a time.
class RfChain {
 public:
  enum class GainStage : std::uint8_t { rf, baseband };

  explicit RfChain(const Chain& chain) : chain_(chain) {}
  const Chain& chain() const noexcept { return chain_; }

  /// Sends all settings; automatic gain is switched off.
  void send_all() const;
  /// Throws std::invalid_argument if no channel has this frequency.
  void set_frequency(double hz);
  double frequency_hz() const noexcept { return hz_; }
  void set_gain(int direction, GainStage stage, double db);
  double gain_db(int direction, GainStage stage) const noexcept;
  void set_bandwidth(int direction, double hz);
  double bandwidth_hz(int direction) const noexcept;
  /// Of the receiver's gain.
  void set_automatic(bool automatic);
  bool is_automatic() const noexcept { return automatic_; }

 private:
  void send_channel() const;
  void send_tx_gains() const;
  void send_rx_gains() const;
  void send_low_pass(int direction) const;

  Chain chain_;
  double hz_ = 2.412e9;
  std::uint32_t tx_baseband_ = 3, tx_rf_ = 0, tx_low_pass_ = 3;
  std::uint32_t rx_rf_ = 1, rx_baseband_ = 0, rx_low_pass_ = 3;
  bool automatic_ = false;
};

}  // namespace iqd::warp
