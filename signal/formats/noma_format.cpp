// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/noma_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "signal/formats/pn_sequence.hpp"

namespace iqd {
namespace {

/// The first of the point numbers that fill unused data slots.
constexpr std::int64_t kFillerNumber = 1 << 20;

/// QPSK points number first, first + 1, … of PN23: number i is (v(2i) + j v(2i + 1)) / sqrt(2).
std::vector<cf32> known_points(std::int64_t first, std::int64_t count) {
  constexpr PnSequence pn(23);
  constexpr float kLevel = std::numbers::sqrt2_v<float> / 2;
  std::uint32_t state = pn.state_at(2 * first);
  const auto next = [&] {
    const float value = pn.bit(state) != 0 ? -kLevel : kLevel;
    state = pn.next(state);
    return value;
  };
  std::vector<cf32> points;
  points.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const float real = next();
    points.emplace_back(real, next());
  }
  return points;
}

std::optional<NomaFormat::Fault> outside(const char* key, std::int64_t value, std::int64_t high,
                                         const std::string& what) {
  if (value >= 1 && value <= high) return {};
  return NomaFormat::Fault{key, fmt::format("has to be 1 to {}, {}; it is {}", high, what, value)};
}

}  // namespace

std::optional<NomaFormat::Fault> NomaFormat::fault() const {
  if (auto found = air.fault()) return found;
  if (air.data_symbols() < 2)
    return Fault{"frame",
                 fmt::format("has to be at least {} samples: one symbol each for synchronisation, OFDM training, "
                             "pilots and data, {} samples each; it is {}",
                             4 * air.symbol(), air.symbol(), air.frame)};
  if (auto found = outside("users", users, kMostUsers, "the largest number of users")) return found;
  if (auto found = outside(
          "training", training, air.data_symbols() - 1,
          fmt::format("so that one of the {} symbols after the first two is left for data", air.data_symbols())))
    return found;
  if (auto found = outside("pilots", pilots, pilot_slots(),
                           fmt::format("the capacity of {} symbols of {} carriers", training, air.carriers)))
    return found;
  return outside("data", data, data_slots(),
                 fmt::format("the capacity of the {} symbols left for data, of {} carriers",
                             air.data_symbols() - training, air.carriers));
}

std::vector<cf32> NomaFormat::pilot_points(std::int64_t u) const {
  return known_points(u * pilot_slots(), pilot_slots());
}

std::vector<cf32> NomaFormat::filler_points(std::int64_t u) const {
  return known_points(kFillerNumber + u * data_slots() + data, data_slots() - data);
}

/// Parts of the scratch memory.
struct NomaFrameMaker::Pieces : FftRoom {
  std::int64_t count;
  cf32* carriers = scratch.take<cf32>(count);
};

NomaFrameMaker::NomaFrameMaker(const NomaFormat& format, SymbolMap map)
    : NomaFrameMaker(format, std::vector<SymbolMap>(static_cast<std::size_t>(format.users), map)) {}

NomaFrameMaker::NomaFrameMaker(const NomaFormat& format, std::vector<SymbolMap> maps)
    : format_(format), maps_(std::move(maps)), plan_(format.air.fft, FftPlan::Direction::inverse) {
  const OfdmReference reference(format.air);
  for (const float value : reference.sync()) common_.emplace_back(value);
  for (const float value : reference.training()) common_.emplace_back(value);
  for (std::int64_t u = 0; u < format.users; ++u) {
    const auto pilots = format.pilot_points(u), fillers = format.filler_points(u);
    pilots_.insert(pilots_.end(), pilots.begin(), pilots.end());
    fillers_.insert(fillers_.end(), fillers.begin(), fillers.end());
  }
  for (const SymbolMap map : maps_) {
    std::vector<cf32>& points = points_.emplace_back();
    for (unsigned number = 0; number < 1u << bits_of(map); ++number) points.push_back(point_of(map, number));
  }
}

std::size_t NomaFrameMaker::scratch_bytes() const noexcept {
  return Pieces{{format_.air.fft, Scratch(nullptr)}, format_.air.carriers}.scratch.bytes();
}

void NomaFrameMaker::fill(std::int64_t symbol, std::int64_t user, std::span<const std::uint8_t> bits,
                          cf32* carriers) const noexcept {
  const std::int64_t count = format_.air.carriers, first_pilots = 1 + format_.air.tx;
  if (symbol < first_pilots) {
    std::copy_n(common_.data() + symbol * count, count, carriers);
    return;
  }
  const std::int64_t slot = (symbol - first_pilots) * count;
  if (slot < format_.pilot_slots()) {
    std::copy_n(pilots_.data() + user * format_.pilot_slots() + slot, count, carriers);
    return;
  }
  const int each = bits_of(map_of(user));
  const std::vector<cf32>& points = points_[static_cast<std::size_t>(user)];
  const std::int64_t unused = format_.data_slots() - format_.data;
  for (std::int64_t c = 0; c < count; ++c) {
    const std::int64_t d = slot - format_.pilot_slots() + c;
    if (d >= format_.data) {
      carriers[c] = fillers_[static_cast<std::size_t>(user * unused + d - format_.data)];
      continue;
    }
    unsigned number = 0;
    for (int b = 0; b < each; ++b) number = number << 1 | (bits[static_cast<std::size_t>(d * each + b)] & 1u);
    carriers[c] = points[number];
  }
}

void NomaFrameMaker::make(std::int64_t user, double amplitude, std::span<const std::uint8_t> bits, cf32* out,
                          std::byte* scratch) const noexcept {
  const OfdmFormat& air = format_.air;
  const Pieces pieces{{air.fft, Scratch(scratch)}, air.carriers};
  const auto scale = static_cast<float>(amplitude / std::sqrt(static_cast<double>(air.carriers)));
  for (std::int64_t symbol = 0; symbol < air.symbols(); ++symbol) {
    fill(symbol, user, bits, pieces.carriers);
    std::fill_n(pieces.bins, air.fft, cf32(0));
    for (std::int64_t c = 0; c < air.carriers; ++c) pieces.bins[air.bin_of(c)] = scale * pieces.carriers[c];
    put_symbol(air, plan_, symbol, pieces.bins, pieces.time, out);
  }
}

}  // namespace iqd
