// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/views.hpp"
#include "signal/formats/frame_format.hpp"

/// Reads one frame at a known place, for both backends. Frames are independent: the loop that tracks the transmitter's
/// clock restarts in each.
namespace iqd::framer {

inline constexpr std::array<std::string_view, 4> kEvents{"good", "bad_crc", "bad_length", "cut"};
enum class Ending : std::uint8_t { good, bad_crc, bad_length, cut };

/// A plan's arrays in the backend's memory.
struct FrameRules {
  const std::int32_t* offsets;  // [chip of the pattern]
  const float* weights;         // [chip of the pattern]
  int pattern;
  const float* bit;  // [chip of a bit]
  int chips;         // of a bit
  double chip;       // samples
  float tracking;
  bool has_length;
  bool lsb_first;
  int bytes;
  Crc crc;
};

/// The two levels of the pattern's chips: a sample y stands for the chip (y - middle) * scale, about ±1.
struct Levels {
  float middle;
  float scale;
};
IQD_HOST_DEVICE inline Levels levels_of(const FrameRules& r, const float* x) noexcept {
  float sum[2] = {0, 0}, count[2] = {0, 0};
  for (int k = 0; k < r.pattern; ++k) {
    const int is_one = r.weights[k] > 0;
    sum[is_one] += x[r.offsets[k]];
    count[is_one] += 1;
  }
  const float low = sum[0] / count[0];
  const float high = sum[1] / count[1];
  return {low + (high - low) / 2, 2 / (high - low)};
}

/// Reads chips one after another. If one differs from the previous one, the sample halfway between them should be 0.
/// Its deviation shows how late the next chip is (Gardner's detector); the share `tracking` of it is corrected.
class Chips {
 public:
  IQD_HOST_DEVICE Chips(const FrameRules& rules, const float* x, std::int64_t length, double at) noexcept
      : r_(rules), x_(x), length_(length), at_(at) {}

  IQD_HOST_DEVICE void set_levels(const Levels& levels) noexcept { levels_ = levels; }
  /// False if the samples have ended.
  IQD_HOST_DEVICE bool next(float& soft) noexcept {
    if (!(at_ + 1 < static_cast<double>(length_))) return false;
    soft = level(at_);
    if (soft * last_ < 0) {
      const float late = clamped(soft > 0 ? level(at_ - r_.chip / 2) : -level(at_ - r_.chip / 2));
      at_ -= static_cast<double>(r_.tracking * late) * (r_.chip / 2);
    }
    last_ = soft;
    at_ += r_.chip;
    return true;
  }

 private:
  IQD_HOST_DEVICE static float clamped(float late) noexcept {
    if (late > 1) return 1;
    if (late < -1) return -1;
    return late == late ? late : 0;
  }
  IQD_HOST_DEVICE float level(double at) const noexcept {
    if (at < 0) at = 0;
    const auto n = static_cast<std::int64_t>(at);
    const auto part = static_cast<float>(at - static_cast<double>(n));
    return (x_[n] + part * (x_[n + 1] - x_[n]) - levels_.middle) * levels_.scale;
  }

  const FrameRules& r_;
  const float* x_;
  std::int64_t length_;
  double at_;
  Levels levels_{0, 1};
  float last_ = 0;
};

IQD_HOST_DEVICE inline bool next_byte(const FrameRules& r, Chips& chips, std::uint8_t& byte) noexcept {
  unsigned bits = 0;
  for (int b = 0; b < 8; ++b) {
    float is_one = 0, soft = 0;
    for (int c = 0; c < r.chips; ++c) {
      if (!chips.next(soft)) return false;
      is_one += r.bit[c] * soft;
    }
    if (is_one > 0) bits |= r.lsb_first ? 1u << b : 0x80u >> b;
  }
  byte = static_cast<std::uint8_t>(bits);
  return true;
}

/// The maximum of the parabola through three adjacent values, the middle one being the largest: -0.5 … 0.5 of a sample.
IQD_HOST_DEVICE inline float vertex(float before, float peak, float behind) noexcept {
  const float bend = 2 * peak - before - behind;
  if (!(bend > 0)) return 0;
  const float at = (behind - before) / (2 * bend);
  return at > 0.5f ? 0.5f : at < -0.5f ? -0.5f : at;
}

/// Reads the bytes of a frame whose pattern begins at n + part, as far as possible; `length` is that of its payload. It
/// may read all of x[0 … count-1], which contains the pattern.
IQD_HOST_DEVICE inline Ending read_frame(const FrameRules& r, const float* x, std::int64_t count, std::int64_t n,
                                         float part, std::uint8_t* bytes, std::int32_t& length) noexcept {
  Chips chips(r, x, count, static_cast<double>(n) + static_cast<double>(part));
  chips.set_levels(levels_of(r, x + n));
  float soft = 0;
  for (int k = 0; k < r.pattern; ++k)
    if (!chips.next(soft)) return Ending::cut;
  std::uint32_t crc = r.crc.initial;
  std::uint8_t byte = 0;
  length = r.bytes;
  if (r.has_length) {
    if (!next_byte(r, chips, byte)) return Ending::cut;
    length = byte;
    if (length == 0 || length > r.bytes) return Ending::bad_length;
    crc = r.crc.add(crc, byte);
  }
  for (int i = 0; i < length; ++i) {
    if (!next_byte(r, chips, bytes[i])) return Ending::cut;
    crc = r.crc.add(crc, bytes[i]);
  }
  for (int i = length; i < r.bytes; ++i) bytes[i] = 0;
  bool right = true;
  for (int i = 0; i < r.crc.bytes; ++i) {
    if (!next_byte(r, chips, byte)) return Ending::cut;
    right = right && byte == r.crc.byte_of(crc, i);
  }
  return right ? Ending::good : Ending::bad_crc;
}

}  // namespace iqd::framer
