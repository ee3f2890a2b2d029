// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/element.hpp"
#include "signal/filters/fft_plan.hpp"
#include "signal/formats/ofdm_format.hpp"
#include "signal/formats/symbol_map.hpp"

/// The frame that several users send at the same time on the same carriers: one symbol for synchronisation and one for
/// OFDM training, both the same for all users; then each user's own pilots, then data. docs/noma-frame.md describes it
/// for developers of transmitters.
namespace iqd {

struct NomaFormat {
  static constexpr std::int64_t kMostUsers = 32;

  /// For one antenna. Symbols after the first two are filled differently: `pilot_every` is not used.
  OfdmFormat air{.fft = 2048, .carriers = 144, .prefix = 144, .frame = 74528, .tx = 1, .pilot_every = 2};
  std::int64_t users = 6;
  std::int64_t training = 5;  // pilot symbols
  std::int64_t pilots = 685;  // in use, per user
  std::int64_t data = 3840;   // points in use, per user

  /// A place in a frame's grid.
  struct Slot {
    std::int64_t symbol;
    std::int64_t carrier;
    friend bool operator==(const Slot&, const Slot&) = default;
  };
  std::int64_t pilot_slots() const noexcept { return training * air.carriers; }
  std::int64_t data_slots() const noexcept { return (air.data_symbols() - training) * air.carriers; }
  Slot pilot_slot(std::int64_t t) const noexcept { return {1 + air.tx + t / air.carriers, t % air.carriers}; }
  Slot data_slot(std::int64_t d) const noexcept { return pilot_slot(pilot_slots() + d); }

  /// User u's points on all pilot slots, t = 0 … pilot_slots() - 1, of power 1.
  std::vector<cf32> pilot_points(std::int64_t u) const;
  /// User u's points on unused data slots, d = data … data_slots() - 1.
  std::vector<cf32> filler_points(std::int64_t u) const;

  /// Data bits of one user in a frame: bit b of point d is at d bits_of(map) + b. A frame has those of all users, user
  /// 0 first.
  std::int64_t user_bits(SymbolMap map) const noexcept { return data * bits_of(map); }
  std::int64_t frame_bits(SymbolMap map) const noexcept { return users * user_bits(map); }

  using Fault = OfdmFormat::Fault;
  /// What is wrong with the format, and with which key; empty if nothing is.
  std::optional<Fault> fault() const;
  friend bool operator==(const NomaFormat&, const NomaFormat&) = default;
};

/// Makes the samples of one user's frame from its data bits, in the layout of OfdmFrameMaker, with mean power
/// amplitude^2.
class NomaFrameMaker {
 public:
  NomaFrameMaker(const NomaFormat& format, SymbolMap map);
  /// `maps`: of each user.
  NomaFrameMaker(const NomaFormat& format, std::vector<SymbolMap> maps);
  std::size_t scratch_bytes() const noexcept;
  /// `bits`: [user_bits(map_of(user))], only the lowest bit of each counts; `out`: [frame]. Any thread, each with its own
  /// scratch.
  void make(std::int64_t user, double amplitude, std::span<const std::uint8_t> bits, cf32* out,
            std::byte* scratch) const noexcept;

  const NomaFormat& format() const noexcept { return format_; }
  SymbolMap map_of(std::int64_t user) const noexcept { return maps_[static_cast<std::size_t>(user)]; }

 private:
  struct Pieces;
  /// A user's values on all carriers of a symbol.
  void fill(std::int64_t symbol, std::int64_t user, std::span<const std::uint8_t> bits, cf32* carriers) const noexcept;

  NomaFormat format_;
  std::vector<SymbolMap> maps_;  // [user]
  FftPlan plan_;
  std::vector<cf32> common_;               // [symbol 0, 1][carrier]
  std::vector<cf32> pilots_;               // [user][pilot slot]
  std::vector<cf32> fillers_;              // [user][unused data slot]
  std::vector<std::vector<cf32>> points_;  // [user][symbol number]
};

}  // namespace iqd
