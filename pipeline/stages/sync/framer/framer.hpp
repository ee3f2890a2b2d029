// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/sync/framer/read_frame.hpp"
#include "signal/formats/frame_format.hpp"

/// Finds frames of bytes in a stream of levels: the magnitude of a keyed carrier, the frequency of FSK.
///
/// A frame begins where the known pattern of K chips, p(k) = ±1, fits best:
///   T(n) = correlation coefficient of p(k) and x(n + round(k s)) over k;  s: samples a chip
/// with T(n) >= threshold and T(n) the largest within the pattern's length, of equal ones the first. It is 1 for the
/// pattern itself, whatever its level and offset. Chips are decided by the pattern's mean levels (see read_frame.hpp).
///
/// x        f32 [n + halo]
/// out      u8 [packet][byte]: the payload, padded with zeros
/// start    i64 [packet]: n, the middle of the first chip
/// length   i32 [packet]: bytes of payload
/// metric   f32 [packet]: T(n)
/// events   i64 [event]: good, bad_crc, bad_length, cut; only good frames are output
///
/// A frame belongs to the block in whose new part its n lies. If the stream ends before the frame does, it is `cut`. T
/// is 0 if it is not finite, or if the samples hardly differ (variance below 1e-5 of their power). Keeps nothing
/// between calls; the same bits however a stream is cut.
namespace iqd::framer {

enum class Length : std::uint8_t { byte, fixed };
inline constexpr std::array<std::string_view, 2> kLengthNames{"byte", "fixed"};
inline std::span<const std::string_view> enum_names(Length) {
  return kLengthNames;
}
enum class Order : std::uint8_t { msb, lsb };
inline constexpr std::array<std::string_view, 2> kOrderNames{"msb", "lsb"};
inline std::span<const std::string_view> enum_names(Order) {
  return kOrderNames;
}

struct Config {
  double chip_rate = 0;
  std::string preamble = "aaaaaaaa";
  std::string sync_word = "2dd4";
  std::string zero = "0";
  std::string one = "1";
  Length length = Length::byte;
  std::int64_t bytes = 64;
  Order order = Order::msb;
  CrcName crc = CrcName::crc16_ccitt;
  double threshold = 0.8;
  double tracking = 0.1;

  void fields(FieldVisitor& visitor);
};

/// The search's parameters, prepared for both backends.
struct Plan {
  Plan(const FrameFormat& frame, double samples_a_chip, double threshold, double tracking);

  FrameFormat format;
  double chip;  // samples
  float threshold;
  float tracking;
  std::int64_t span;                  // samples from the middle of the pattern's first chip to that of its last
  std::vector<std::int32_t> offsets;  // of each chip of the pattern
  std::vector<float> weights;         // of each chip: sum 0, sum of squares 1
  std::vector<float> bit;             // weights of the chips of a bit: one minus zero

  /// How far after its n a frame may reach, with the slowest chips.
  std::int64_t reach() const noexcept;
  std::int64_t past() const noexcept { return span; }
  std::int64_t future() const noexcept;
  /// Starts are further apart than the pattern's length.
  std::int64_t most_packets(std::int64_t most_new) const noexcept { return most_new / (span + 1) + 2; }
  /// Defined here, not in a .cpp: the CUDA half is in another library, which does not link those.
  FrameRules rules() const noexcept {
    return {.offsets = offsets.data(),
            .weights = weights.data(),
            .pattern = static_cast<int>(offsets.size()),
            .bit = bit.data(),
            .chips = static_cast<int>(bit.size()),
            .chip = chip,
            .tracking = tracking,
            .has_length = format.has_length,
            .lsb_first = format.lsb_first,
            .bytes = static_cast<int>(format.bytes),
            .crc = format.crc};
  }
};

/// The results. Positions count from the first sample that exists.
struct Output {
  std::uint8_t* bytes;  // [packet][format.bytes]
  std::int64_t* start;
  std::int32_t* length;
  float* metric;
  std::array<std::int64_t, kEvents.size()> events{};
};

std::size_t scratch_bytes(const Plan& plan, std::int64_t most_new);

/// x: the samples that exist among those of first … end-1 and `past` and `future` around them.
void run_cpu(const Plan& plan, View<const float, 1> x, std::int64_t first, std::int64_t end, std::byte* scratch,
             Output& out) noexcept;

/// The outputs, in order.
enum Port : std::uint8_t { kBytes, kStart, kLength, kMetric, kTally };

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Plan& plan, std::int64_t most_new);

}  // namespace iqd::framer
