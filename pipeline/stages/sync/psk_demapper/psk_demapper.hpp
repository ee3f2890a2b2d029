// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "config/fields.hpp"

/// Converts symbols to bits and LLRs.
///
/// symbols  [symbol]       cf32  of mean power 1; a stream or counted
/// bits     [symbol][bit]  u8    the nearest point's, the first bit first
/// llr      [symbol][bit]  f32   (least |y - p|^2 over points p with bit 1 - least over those with bit 0) / noise
/// packets  [packet][bit]  u8    all bits in order, cut into runs of `packet`
///
/// Points are those of 3GPP TS 38.211; for 8psk point k is at k · 45 degrees and has the number k ^ (k >> 1).
/// `differential`, for PSK only: bits are those of the step from the previous symbol, k · 2 pi / M with the number
/// k ^ (k >> 1), by the distances of both symbols; the first symbol after the start or a gap gives none.
///
/// A symbol that is not finite has LLRs of NaN and bits of 0. Carried from block to block: the last symbol and the
/// incomplete packet; a gap drops them.
namespace iqd::psk_demapper {

enum class Constellation : std::uint8_t { bpsk, qpsk, psk8, qam16, qam64, qam256 };
inline std::span<const std::string_view> enum_names(Constellation) {
  static constexpr std::string_view names[] = {"bpsk", "qpsk", "8psk", "16qam", "64qam", "256qam"};
  return names;
}
int bits_of(Constellation c) noexcept;

struct Config {
  Constellation modulation = Constellation::qpsk;
  bool differential = false;
  double noise = 0.1;
  std::int64_t packet = 2000;

  void fields(FieldVisitor& visitor);
};

class Demapper {
 public:
  static constexpr int kMostBits = 8;

  explicit Demapper(const Config& config);
  int bits() const noexcept { return bits_; }

  void llrs(cf32 y, float* llr) const noexcept;
  /// For the step from `before` to y.
  void llrs(cf32 before, cf32 y, float* llr) const noexcept;

 private:
  struct Axis {
    std::vector<cf32> points;  // by their numbers
    int bits = 0;
  };
  void weigh(std::span<const float> distance, int bits, int stride, float* llr) const noexcept;

  Axis axis_;      // all points; for QAM those of the real part
  bool two_axes_;  // QAM
  int bits_;
  float per_noise_;
  std::vector<cf32> circle_;  // PSK: points by their angles
};

}  // namespace iqd::psk_demapper
