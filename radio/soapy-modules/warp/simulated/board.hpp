// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "radio/soapy-modules/warp/simulated/options.hpp"
#include "signal/transmit/transmitter.hpp"

namespace iqd::warp_node {

/// The word of sample n of a capture on a chain without a wire: n in I; capture, chain and the rest of n in Q.
constexpr std::uint32_t pattern(int capture, int chain, std::uint32_t n) {
  return (n & 0xFFFF) << 16 | static_cast<std::uint32_t>(capture & 0xFF) << 8 |
         static_cast<std::uint32_t>(chain & 3) << 6 | (n >> 16 & 0x3F);
}

/// An RF chain with its buffers, in words of one sample each.
struct Chain {
  std::vector<std::uint32_t> tx, rx;
  bool tx_on = false, rx_on = false;            // RF
  bool tx_enabled = false, rx_enabled = false;  // the buffers
  bool captured = false;
  int capture = 0;
  std::int64_t triggered_ns = 0, sent_ns = 0;
};

/// The radio of a node: its RF chains, and what a trigger makes them send and capture. It knows no packets and reads no
/// clock: `now` is steady time in ns. One thread at a time.
class Board {
 public:
  explicit Board(const Options& options);

  // Commands. Chains and triggers are bits: A is 1, D is 8.
  /// Switches everything off.
  void initialise();
  /// As if it had been power-cycled.
  void restart();
  void set_rf(std::uint32_t chains, bool transmits, bool receives);
  void enable_transmission(std::uint32_t chains);
  void enable_capture(std::uint32_t chains);
  void disable(std::uint32_t chains);
  void add_trigger(std::uint32_t id) noexcept { triggers_ |= id; }
  void set_tx_delay(std::uint32_t samples) noexcept { tx_delay_ = samples; }
  void set_tx_length(std::uint32_t samples) noexcept;
  void set_rx_length(std::uint32_t samples) noexcept;
  /// 1: the burst is repeated.
  void set_tx_mode(std::uint32_t mode) noexcept { tx_mode_ = mode; }

  bool listens_to(std::uint32_t trigger) const noexcept { return triggers_ & trigger; }
  struct Started {
    int sent = 0, captures = 0;  // chains
  };
  /// Starts what is enabled. Captures get all their samples at once.
  Started trigger(std::int64_t now);
  bool is_on_air(int chain, std::int64_t now) const;

  std::uint32_t tx_length() const noexcept { return tx_length_; }
  std::uint32_t rx_length() const noexcept { return rx_length_; }
  Chain& chain(int number) { return chains_[static_cast<std::size_t>(number)]; }
  const Chain& chain(int number) const { return chains_[static_cast<std::size_t>(number)]; }

 private:
  template <class F> void each(std::uint32_t chains, F f);
  void hear(int number);
  void hear_through_amplifier(Chain& rx, const Chain* tx);
  std::uint32_t sent(const Chain* tx, std::int64_t n) const;

  Options options_;
  std::array<Chain, 4> chains_;
  std::uint32_t tx_length_ = 0, rx_length_ = 0, tx_mode_ = 0, tx_delay_ = 0, triggers_ = 0;
  std::optional<iqd::Transmitter> amplifier_;
};

}  // namespace iqd::warp_node
