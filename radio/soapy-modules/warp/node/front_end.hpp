// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The possible settings of an RF chain, and their codes on the wire.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace iqd::warp {

/// One bit of the top four: A is 0x10000000, D is 0x80000000.
constexpr std::uint32_t rf_select(std::size_t chain) noexcept {
  return 0x1000'0000u << chain;
}
/// A is 1, D is 8.
constexpr std::uint32_t buffer_select(std::size_t chain) noexcept {
  return 1u << chain;
}

/// A channel of the synthesizer; a chain has one synthesizer for both directions.
struct Channel {
  std::uint32_t band = 0;  // 0: 2.4 GHz, 1: 5 GHz
  std::uint32_t number = 0;
  double hz = 0;
};
std::span<const Channel> channels() noexcept;
/// Throws std::invalid_argument, naming the nearest two, if there is no channel at `hz`.
const Channel& channel_at(double hz);

/// Values in even steps, or a few single values.
struct Steps {
  double low, high;
  std::uint32_t first, last;  // their codes on the wire
  double value(std::uint32_t code) const noexcept;
  std::uint32_t nearest(double value) const noexcept;
  /// Returns the code of the largest value that is not above `value`, or of the lowest.
  std::uint32_t below(double value) const noexcept;
};
inline constexpr Steps kTxRfGain{0, 31, 0, 63};  // dB
inline constexpr Steps kRxBasebandGain{0, 63, 0, 31};
inline constexpr Steps kRxRfGain{0, 30, 1, 3};
inline constexpr std::array kTxBasebandGain{-5.0, -3.0, -1.5, 0.0};  // 0 … 3

/// The cut-off frequencies of the low-pass filters, of I and Q each. The first has code 1 in a transmitter, 0 in a
/// receiver.
inline constexpr std::array kTxLowPassHz{12e6, 18e6, 24e6};
inline constexpr std::array kRxLowPassHz{7.5e6, 9.5e6, 14e6, 18e6};
/// The index of the narrowest filter that passes `hz`, or of the widest.
std::size_t wide_enough(std::span<const double> corners_hz, double hz) noexcept;
/// The index of the nearest value.
std::size_t nearest(std::span<const double> values, double value) noexcept;

/// "5180 MHz (channel 1 of the 5 GHz band)"
std::string text_of(const Channel& channel);

}  // namespace iqd::warp
