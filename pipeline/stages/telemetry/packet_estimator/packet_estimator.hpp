// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/telemetry/packet_estimator/clock.hpp"
#include "signal/formats/packet_format.hpp"
#include "signal/formats/phase.hpp"

/// Estimates frequency offset, channel and noise of telemetry packets from their pilots, and removes the offset; and so
/// the error of the transmitter's clock, if wanted (clock.hpp).
///
/// windows  [packet][window]  cf32; r(n), sample n of the packet, is sample kGuard + n of its window
/// windows  [packet][window]  cf32, r(n) exp(-j w n)
/// channel  [packet][38]      cf32, h(-12) … h(25)
/// noise    [packet]          f32, N: the variance of the complex noise
/// offset   [packet]          f32, w, radians a sample; offset_hz the same in hertz, 0 where no rate is known
/// clock    [packet]          f32, e, parts per million; clock_quality 0 … 1. Without `clock` no items
///
///   S = sum r(n) r*(n - lag) over the preamble but its first two periods and its last;  w = arg(mean S) / lag
///   h = (X^H X + lambda I)^-1 X^H r_x,  X[n][m] = p(n - m),  r_x the pilot's samples 25 … P - 13, derotated
///   N = |r_x - X h|^2 / rho,  rho = |I - X G|^2 (Frobenius), G what r_x is multiplied with above
///
/// A NaN, an infinity or a part beyond 1e18 makes all results of its packet NaN, and excludes the packet from the mean.
/// Zeros give zeros; they add nothing to a mean.
namespace iqd::packet_estimator {

enum class Average : std::uint8_t {
  block,   // one offset for all packets of the block
  packet,  // a separate offset for each packet
  carry,   // an exponential mean that continues from block to block
};
inline std::span<const std::string_view> enum_names(Average) {
  static constexpr std::string_view names[] = {"block", "packet", "carry"};
  return names;
}

struct Config {
  PacketFormat format;
  Average average = Average::block;
  Clock clock = Clock::off;
  double lambda = 1;
  double memory = 100;

  void fields(FieldVisitor& visitor);
};

inline constexpr int kTapsBefore = 12;
inline constexpr int kTapsBehind = 25;
inline constexpr int kTaps = kTapsBefore + 1 + kTapsBehind;
inline constexpr int kSums = 32;          // partial sums of a tap
inline constexpr int kRun = 128;          // samples that share a rotation factor
inline constexpr float kLargest = 1e18f;  // its squares, and their products with the pilot, are finite

/// What is known about packets in advance. G is [tap][columns]: its rows are padded with zeros to a multiple of kSums.
struct Pilot {
  std::int64_t window = 0;
  std::int64_t lag = 0;
  std::int64_t terms = 0;  // of S
  std::int64_t rows = 0;   // of X
  std::int64_t columns = 0;
  std::vector<float> wave_re, wave_im;    // p(0) … p(P - 1)
  std::vector<float> solve_re, solve_im;  // G
  double rho = 0;
};
/// Nothing if lambda is too small for the pilot to determine a channel.
std::optional<Pilot> make_pilot(const PacketFormat& format, double lambda);

/// How offsets are averaged, and in what unit they are reported.
struct Offsets {
  Average average = Average::block;
  double weight = 1;  // of a new packet in the running mean
  double hertz = 0;   // of one radian a sample
};

/// S, or a mean of it. In double precision, so the order of additions hardly matters.
struct Correlation {
  double re = 0;
  double im = 0;

  IQD_HOST_DEVICE double offset(std::int64_t lag) const noexcept {
    return std::atan2(im, re) / static_cast<double>(lag);
  }
};
/// State carried from block to block.
struct Mean {
  Correlation value;
  std::int64_t started = 0;

  /// Adds another packet.
  IQD_HOST_DEVICE void add(Correlation s, double weight) noexcept {
    value = started ? Correlation{value.re + (s.re - value.re) * weight, value.im + (s.im - value.im) * weight} : s;
    started = 1;
  }
};

/// The rotation from one sample to the next that cancels an offset.
IQD_HOST_DEVICE inline Phase turn_against(double offset) noexcept {
  return {static_cast<std::uint64_t>(static_cast<std::int64_t>(-offset * (0x1p63 / std::numbers::pi)))};
}

/// The outputs of a block, packet after packet. Null: not wanted; noise, offset_hz and, with
/// `clock`, clock and clock_quality are always wanted.
struct Estimates {
  cf32* windows = nullptr;
  cf32* channel = nullptr;
  float* noise = nullptr;
  float* offset = nullptr;
  float* offset_hz = nullptr;
  float* clock = nullptr;
  float* clock_quality = nullptr;
};

std::size_t scratch_bytes(const Pilot& pilot, const ClockDesign& clock, std::int64_t most_packets);
/// Average::carry uses and changes `mean`.
void run_cpu(const Pilot& pilot, const Offsets& offsets, const ClockDesign& clock, const cf32* windows,
             std::int64_t packets, Mean* mean, const Estimates& out, std::byte* scratch) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Pilot& pilot, const Offsets& offsets, const ClockDesign& clock,
                                           std::int64_t most_packets);

}  // namespace iqd::packet_estimator
