// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/element.hpp"
#include "base/views.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/noma/multiuser/scheme.hpp"
#include "signal/formats/symbol_map.hpp"

/// Ports and edge values that all detectors of several users on the same carriers share, so that one can replace
/// another. Each frame brings pilots, which are known symbols of all users, and data:
///
/// train_rx  [frame][t][antenna]     cf32, the pilots as received
/// train_tx  [frame][t][user]        cf32, the pilots as sent, of mean power 1
/// rx        [frame][t][antenna]     cf32, the data as received
/// symbols   [frame][user][t]        cf32, estimates of what was sent
/// llr       [frame][user][t][bit]   f32, f16 or i8, positive for bit 0; i8 in units of `llr_scale`, at most 127
/// bits      [frame][user][t][bit]   u8
/// model     [frame][user][4]        f32: noise, linear, gaussian, training_error (kModelValues)
/// linear    [frame][user][2 antenna]  f32: c, real parts first; f(v) = w_L c.v + …
/// gamma     [frame][user][row]      f32: the factors of the kernels, rows v1(0) v2(0) v1(1) … of the dictionary
/// events    [event]                 i64: kEvents
///
/// A pilot that is not finite, as received or as sent, is left out of training. A received data vector that is not
/// finite is erased: its symbols, LLRs and bits are 0. A frame without a usable pilot is untrained: its model is 0
/// (online: the model stays as it was), and all its symbols are erased. Antennas not in use never count.
namespace iqd::noma {

inline constexpr int kMostAntennas = 64;
inline constexpr int kMostUsers = 32;
inline constexpr int kMostWindow = 256;

enum class LlrForm : std::uint8_t { f32, f16, i8 };
inline std::span<const std::string_view> enum_names(LlrForm) {
  static constexpr std::string_view names[] = {"f32", "f16", "i8"};
  return names;
}

/// What a model starts from.
enum class Start : std::uint8_t {
  zero,
  lls,    // least squares over the frame's pilots
  port,   // the linear filter on input `start`: z = sum over m of conj(filter_m) r_m
  genie,  // minimum mean square error, with the channel and the noise on inputs `h` and `noise`
};
inline std::span<const std::string_view> enum_names(Start) {
  static constexpr std::string_view names[] = {"zero", "lls", "port"};
  return names;
}

inline constexpr std::array<std::string_view, 4> kEvents{"frames", "untrained", "pilots_left_out", "erased"};
enum Event : std::uint8_t { kFrames, kUntrained, kPilotsLeftOut, kErased };
enum Input : std::uint8_t { kTrainRx, kTrainTx, kRx, kStart };  // genie: h in place of start, then noise
enum Output : std::uint8_t { kSymbols, kLlr, kBits, kModel, kLinear, kGamma, kTally, kOutputs };

/// noise: variance of a symbol's complex estimate, from training; linear: |c|; gaussian: norm of the kernel part,
/// sqrt(gamma' K gamma); training_error: rms of the pilots' errors after training.
inline constexpr std::array<std::string_view, 4> kModelValues{"noise", "linear", "gaussian", "training_error"};

/// A detector in numbers, for host and GPU. `f(v) = w_L c.v + w_G sum over i of gamma_i exp(-|v - x_i|^2 exponent)` for
/// rows v1 = [Re r; Im r] and v2 = [Im r; -Re r]; a symbol's estimate is f(v1) + i f(v2).
///
/// The dictionary has `dictionary` places for complex vectors, the oldest first: `dictionary - pilots` of earlier
/// frames (online), then all pilots of this one. Only the last `kernels` of these may have kernels; those before only
/// update c.
struct Method {
  // Shapes
  int antennas = 0;
  int users = 0;
  std::int64_t pilots = 0;      // per frame
  std::int64_t data = 0;        // vectors per frame
  std::int64_t dictionary = 0;  // >= pilots
  std::int64_t kernels = 0;     // <= pilots
  std::int64_t most = 1;        // most frames in a block
  SymbolMap map = SymbolMap::qpsk;
  LlrForm form = LlrForm::f32;
  float llr_scale = 1;
  // Training
  Start start = Start::lls;
  bool online = false;
  bool agc = true;
  int used_count = 0;  // antennas in use
  int window = 20;
  int passes = 1;
  float epsilon = 0.001f;
  float linear = 0.5f;                      // w_L
  float gaussian = 0.5f;                    // w_G
  float exponent = 0;                       // 1 / (2 s^2)
  std::array<float, kMostWindow> weight{};  // of a window's pilots, the newest first; only ratios matter
  std::array<float, kMostWindow> share{};   // [k]: 1 / (2 (weight[0] + … + weight[k]))
  std::array<bool, kMostAntennas> used{};

  IQD_HOST_DEVICE int bits() const noexcept { return bits_of(map); }
  IQD_HOST_DEVICE std::int64_t old_places() const noexcept { return dictionary - pilots; }
  /// Bytes of the carry: a Model of the old places, each part from a multiple of 64 on, and 64 bytes of state.
  std::size_t carry_bytes() const noexcept {
    if (!online) return 0;
    const auto places = static_cast<std::size_t>(old_places()), m = static_cast<std::size_t>(antennas),
               u = static_cast<std::size_t>(users);
    return sizeof(cf32) * (places * (m + u) + u * m) + sizeof(float) * (places + u + 1) + 8 * 64;
  }
};

/// One block in memory; null outputs are left out. Counts are in frames and read when the job runs.
struct Job {
  const cf32* train_rx;
  const cf32* train_tx;
  const cf32* rx;
  const cf32* start;           // [frame][user][antenna]
  const cf32* h;               // [frame][antenna][user]
  const float* noise;          // [frame]
  const std::int32_t* frames;  // number of the first three
  const std::int32_t* starts;  // number of start, or of h: one serves several consecutive frames
  const std::int32_t* noises;
  cf32* symbols;
  void* llr;
  std::uint8_t* bits;
  float* model;
  float* linear;
  float* gamma;
  std::int64_t* events;
  std::int32_t* counts[kOutputs];
};

/// The memory of a block. `h` and `noise` are the inputs after the first three, if `start` says so.
inline Job job_of(const StageIo& io, Start start) noexcept {
  const auto input = [&](std::size_t i) { return i < io.in.size() ? io.in[i] : PortIo{}; };
  const auto values = [&](std::size_t i) { return reinterpret_cast<const cf32*>(input(i).data); };
  const auto output = [&](Output o) { return io.out[o].data; };
  const bool genie = start == Start::genie;
  Job job{.train_rx = values(kTrainRx),
          .train_tx = values(kTrainTx),
          .rx = values(kRx),
          .start = genie ? nullptr : values(kStart),
          .h = genie ? values(kStart) : nullptr,
          .noise = genie ? reinterpret_cast<const float*>(input(kStart + 1).data) : nullptr,
          .frames = input(kTrainRx).count,
          .starts = input(kStart).count,
          .noises = input(kStart + 1).count,
          .symbols = reinterpret_cast<cf32*>(output(kSymbols)),
          .llr = output(kLlr),
          .bits = reinterpret_cast<std::uint8_t*>(output(kBits)),
          .model = reinterpret_cast<float*>(output(kModel)),
          .linear = reinterpret_cast<float*>(output(kLinear)),
          .gamma = reinterpret_cast<float*>(output(kGamma)),
          .events = reinterpret_cast<std::int64_t*>(output(kTally)),
          .counts = {}};
  for (std::size_t o = 0; o < kOutputs; ++o) job.counts[o] = io.out[o].count;
  return job;
}

/// A trained model, in scaled units (x = scale r; antennas not in use are 0). Online it is kept from frame to frame.
struct Model {
  cf32* x;       // [place][antenna]
  float* norm;   // [place]: |x|^2
  cf32* gamma;   // [user][place]: of v1 and v2 as real and imaginary part; 0 where a place is empty
  cf32* c;       // [user][antenna]: c of real and of imaginary parts, as real and imaginary part
  float* noise;  // [user]
  float* unit;   // [user]: a power of two above the parts of gamma; GPU only
  float* scale;  // [1]: the gain, g; 0 if the frame is untrained
};

/// The CUDA half of apsm_detector, and of lls_detector and genie_detector, which only have another start and no passes.
using CudaHalf = std::unique_ptr<StageRun>(const Method& method, Scheme scheme);

}  // namespace iqd::noma
