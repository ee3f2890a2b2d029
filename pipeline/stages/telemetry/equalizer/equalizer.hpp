// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stages/telemetry/loop.hpp"
#include "signal/formats/packet_format.hpp"
#include "signal/formats/soqpsk.hpp"

/// Five ways to undo a packet's channel. r_h(k) = sum h(n) h*(n-k) is the channel's autocorrelation, N the noise's
/// variance:
///
/// zf    186 taps c(-60) … c(125): (R + zf_load |h|^2 I) c = h*(-k), R[i,j] = r_h(i-j)
/// mmse  the same with (R + N I)
/// cma   c = mmse, then repeatedly c -= step / mean|r|^2 grad, grad(k) = mean of 2 (|y(m)|^2 - 1) y(m) r*(m-k), y = c r
/// fde1  C = H* / (|H|^2 + N) at each bin of a transform over the whole window
/// fde2  C = H* Psi / (|H|^2 Psi + N), Psi: the signal's power spectrum
///
/// windows [packet][window] cf32, channel [packet][38] cf32 h(-12) … h(25), noise [packet] f32
/// symbols [packet][kind][bit] cf32  at the bits' centres, filtered by the detection filter if the kind has it
/// taps    [packet][kind][186] cf32  of zf, mmse and cma, without the detection filter
///
/// No channel (all 0): zeros. A NaN or an infinity in a packet's inputs: NaN in all of its outputs. Negative noise
/// counts as 0. A cma that diverges (its taps grow a thousandfold) is discarded: that packet gets mmse's.
///
/// With `track`, a first pass decides the bits, and the channel comes from these: windows are turned by the decisions'
/// phase, and equalized with that channel. A packet whose decisions have no amplitude is as with `off`.
namespace iqd::equalizer {

inline constexpr std::int64_t kChannelTaps = 38;
inline constexpr std::int64_t kChannelFirst = -12;
inline constexpr std::int64_t kTaps = 186;
inline constexpr std::int64_t kFirst = -60;
/// A packet is computed in units of the power of two at its channel's largest part, so that squares stay in range. A
/// channel smaller than this counts as none.
inline constexpr float kLeastChannel = 0x1p-126f;
inline constexpr float kMostNoise = 1e30f;         // in those units
inline constexpr float kLeastDivisor = 1e-30f;     // for a bin without channel and noise
inline constexpr double kLeastLoad = 1e-10;        // load of the matrices' diagonals, times |h|^2: keeps them definite
inline constexpr float kMostGrowth = 1e3f * 1e3f;  // of |c|^2, in cma

enum class Kind : std::uint8_t { zf, mmse, cma, fde1, fde2 };
inline std::span<const std::string_view> enum_names(Kind) {
  static constexpr std::string_view names[] = {"zf", "mmse", "cma", "fde1", "fde2"};
  return names;
}
/// Computed as taps.
constexpr bool linear(Kind kind) noexcept {
  return kind <= Kind::cma;
}

/// What decisions do for the channel.
enum class Track : std::uint8_t {
  off,
  refine,  // a packet is equalized and decided, and gives one channel, with which it is equalized once more
  on,      // the channel follows the decisions from segment to segment, and each segment gets one from those around it
};
inline std::span<const std::string_view> enum_names(Track) {
  static constexpr std::string_view names[] = {"off", "refine", "on"};
  return names;
}
/// At each end of a packet, bits whose samples have no share in that channel: the bits around the packet are unknown.
inline constexpr std::int64_t kEndBits = 16;
inline constexpr float kFitLoad = 1;               // of its equations' diagonal, in units of the signal's power
inline constexpr std::int64_t kLeastPayload = 64;  // bits, to track

// A channel that moves, in bits. First, each segment is equalized with the channel before it, and the last bits decided
// give the next channel, which stays near the one before.
inline constexpr std::int64_t kStep = 96;
inline constexpr std::int64_t kLearned = 288;
inline constexpr float kInertia = 24;  // rho
// Then each segment gets a channel from itself and as many bits before and behind it.
inline constexpr std::int64_t kSpan = 192;

struct Config {
  PacketFormat format;
  std::vector<std::string> kinds;
  Track track = Track::off;
  double cma_step = 0.05;
  std::int64_t cma_iterations = 12;
  bool cma_given = false;
  double zf_load = 1e-6;
  std::vector<std::string> detection_filter{"on"};

  void fields(FieldVisitor& visitor);
};

/// Of a transform over N samples.
struct Bins {
  std::int64_t size = 0;         // N
  std::vector<float> detection;  // D(k)
  std::vector<float> psi;        // Psi(k), mean 1
};

/// What both halves need.
struct Setup {
  struct Output {
    Kind kind;
    bool filtered;  // goes through the detection filter
  };
  PacketFormat format;
  std::vector<Output> outputs;  // in the order of `kinds`
  float cma_step = 0;
  std::int64_t cma_iterations = 0;
  float zf_load = 0;
  std::int64_t most = 1;  // packets of a block
  Bins window;            // of a transform over a whole window

  Track track = Track::off;  // the rest is needed unless it is off
  Bins segment;              // of one over a segment; for `on`
  telemetry::Gains gains{};
  std::vector<float> pilot;  // -1 and 1
  std::optional<soqpsk::Modulator> modulator;

  bool wants(Kind kind) const noexcept {
    for (const Output& o : outputs)
      if (o.kind == kind) return true;
    return false;
  }
  std::int64_t count_linear() const noexcept { return wants(Kind::zf) + wants(Kind::mmse) + wants(Kind::cma); }
};

/// 16,384, or more where a window is longer.
inline std::int64_t transform_size(const PacketFormat& format) noexcept {
  const std::int64_t window = format.window();
  return window <= 16384 ? 16384 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(window)));
}

/// A segment with guards of kGuard samples.
inline std::int64_t segment_size(const PacketFormat& format) noexcept {
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(kSpan * format.samples_per_bit + 2 * PacketFormat::kGuard)));
}

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Setup& setup);

}  // namespace iqd::equalizer
