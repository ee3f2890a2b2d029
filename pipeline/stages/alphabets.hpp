// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>

#include "signal/formats/antenna_bits.hpp"
#include "signal/formats/qam.hpp"

/// Antennas with different alphabets. A search treats all of them as the largest one: in odd whole numbers, the
/// alphabets of TS 38.211 lie in each other. A smaller one has the levels within +-top(), and a column of the channel
/// that is larger by gain(). On each axis
///
///   bit 0 is bit 0; the next skipped() bits of the largest are known; bit j > 0 is bit j + skipped(), and bit 1 is
///   turned over if any are skipped.
namespace iqd {

struct Alphabet {
  int most;  // bits a point of the largest
  int bits;  // of this one; 0: nothing is sent

  IQD_HOST_DEVICE int skipped() const noexcept { return (most - bits) / 2; }
  IQD_HOST_DEVICE bool is_silent() const noexcept { return bits == 0; }
  /// The highest level. A silent antenna has all levels, which its column of zeros makes equal.
  IQD_HOST_DEVICE int top() const noexcept { return (1 << (is_silent() ? most : bits) / 2) - 1; }
  IQD_HOST_DEVICE float gain() const noexcept {
    if (is_silent()) return 0;
    const float ratio = static_cast<float>(qam::power(most / 2)) / static_cast<float>(qam::power(bits / 2));
#ifdef __CUDA_ARCH__
    return sqrtf(ratio);
#else
    return std::sqrt(ratio);
#endif
  }
  /// The place on an axis of the largest alphabet's bit j among the own bits; -1: it is known.
  IQD_HOST_DEVICE int own(int j) const noexcept {
    if (is_silent()) return -1;
    return j == 0 ? 0 : j > skipped() ? j - skipped() : -1;
  }
  /// Whether own bit j of an axis is turned over.
  IQD_HOST_DEVICE bool is_turned(int j) const noexcept {
    return j == 1 && bits < most;
  }
  /// Bit j of an axis, if it is known: 0 at the outer half that is absent, 1 at all that follow.
  IQD_HOST_DEVICE int known(int j) const noexcept {
    return j > 1;
  }
};

/// The alphabets of up to 8 antennas, 4 bits each.
struct Alphabets {
  std::uint32_t packed = 0;
  int most = 0;

  static Alphabets of(const AntennaBits& antennas, int most) noexcept {
    Alphabets all{.most = most};
    for (int a = 0; a < antennas.antennas(); ++a) all.set(a, antennas.of(a));
    return all;
  }
  /// With the bits of each antenna's points; null: as they are.
  IQD_HOST_DEVICE Alphabets with(const std::uint8_t* sent, int antennas) const noexcept {
    Alphabets all = *this;
    for (int a = 0; sent != nullptr && a < antennas; ++a) all.set(a, sent[a]);
    return all;
  }

  IQD_HOST_DEVICE int bits(int antenna) const noexcept { return static_cast<int>(packed >> 4 * antenna & 15u); }
  IQD_HOST_DEVICE Alphabet of(int antenna) const noexcept { return {most, bits(antenna)}; }
  /// Bits that all antennas send on a carrier.
  IQD_HOST_DEVICE int sum() const noexcept {
    int sum = 0;
    for (std::uint32_t left = packed; left != 0; left >>= 4) sum += static_cast<int>(left & 15u);
    return sum;
  }
  /// Where the e-th of them is, in [antenna][bit most].
  IQD_HOST_DEVICE int place_of(int e) const noexcept {
    int antenna = 0;
    for (; e >= bits(antenna); ++antenna) e -= bits(antenna);
    return antenna * most + e;
  }
  /// The inverse; -1 for a bit that is not sent.
  IQD_HOST_DEVICE int number_of(int place) const noexcept {
    const int antenna = place / most, bit = place % most;
    if (bit >= bits(antenna)) return -1;
    int before = bit;
    for (int a = 0; a < antenna; ++a) before += bits(a);
    return before;
  }
  /// What is no alphabet, or larger than the largest, counts as silent.
  IQD_HOST_DEVICE void set(int antenna, int bits) noexcept {
    const bool exists = bits > 0 && bits <= most && bits % 2 == 0;
    packed = (packed & ~(15u << 4 * antenna)) | static_cast<std::uint32_t>(exists ? bits : 0) << 4 * antenna;
  }
};

}  // namespace iqd
