// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stage/stage.hpp"
#include "signal/formats/noma_format.hpp"

/// Receives the users of NOMA frames, each with its own delay, frequency offset, echoes and modulation: estimates their
/// channels from the pilots, separates them with a filter for each carrier, follows their phases. README.md has the
/// formulas.
///
/// carriers    [frame][symbol][carrier][rx]  cf32, of ofdm_demod
/// soft        [frame][word][n]              f32, optional: LLRs of all users' words, the words of user 0 first
/// symbols     [frame][user][t]              cf32
/// llr         [frame][user][t][bit]         f32, positive for bit 0; 0 where a user's map has no such bit
/// bits        [frame][user][t][bit]         u8, llr < 0
/// model       [frame][user][value]          f32: noise of the symbols; offset, Hz; delay behind the frame, samples
/// h           [frame][carrier][rx][user]    cf32, the channel at the first pilot symbol
/// modulation  [frame][user]                 u8, bits of a point
/// events      [event]                       i64: frames; erased: vectors that are not finite
///
/// With `soft` the users are received once more: their channels from all symbols, each without the others.
///
/// A carrier of a data symbol that is not finite is erased for all users: symbols, LLRs and bits are 0. Among the pilots
/// it is left out. So is a user of whom nothing is heard. Keeps nothing between calls.
namespace iqd::noma_channel_estimator {

struct Config {
  NomaFormat format;
  std::vector<std::string> modulation{"qpsk"};  // of all users, or per user
  double step = 8;
  std::int64_t rounds = 2;
  std::int64_t em = 3;

  void fields(FieldVisitor& visitor);
};

inline constexpr std::int64_t kMostAntennas = 64;
inline constexpr std::int64_t kMostTraining = 64;
/// Memory and time grow with the square and the cube of the unknowns, two for each user and delay.
inline constexpr std::int64_t kMostUnknowns = 2048;

/// Noise of an antenna over its power: with less, floats cannot resolve the equations.
inline constexpr double kLeastNoise = 1e-4;
/// An antenna of less power is silent.
inline constexpr double kLeastPower = 1e-56;
/// A user of less than this share in its filter's output is not heard.
inline constexpr float kLeastShare = 1e-6f;
/// The share of the largest element on the diagonal that is added to all.
inline constexpr float kLoad = 1e-7f;
/// The users' offsets, before a frame is seen.
inline constexpr double kOffsetHz = 200;
/// What is left of a user whom the others are received without, at least.
inline constexpr double kLeastLeft = 1e-4;
/// Decisions that are wrong make the noise look smaller than it is, so it may only grow, by up to this factor.
inline constexpr double kMostExcess = 10;

enum Event : std::size_t { kFrames, kErased };
inline constexpr std::string_view kEvents[] = {"frames", "erased"};
enum Port : std::size_t { kSymbols, kLlr, kBits, kModel, kH, kModulation, kTally, kPorts };
inline constexpr std::string_view kModelValues[] = {"noise", "offset", "delay"};

/// A user's words among those of all; `filler`: where its known bits begin among those of all.
struct WordsOfUser {
  std::int32_t first = 0;
  std::int32_t words = 0;
  std::int32_t filler = 0;
};

/// All extents, for host and device.
struct Extents {
  std::int32_t rx = 0;
  std::int32_t users = 0;
  std::int32_t symbols = 0;
  std::int32_t carriers = 0;
  std::int32_t training = 0;  // pilot symbols
  std::int32_t data = 0;      // points in use
  std::int32_t bits = 0;      // of the largest map
  std::int32_t delays = 0;
  std::int32_t delay_pitch = 0;  // delays, rounded up to whole vectors
  std::int32_t rounds = 0;
  std::int32_t em = 0;
  std::int32_t words = 0;  // of a frame; 0 without `soft`
  std::int32_t n = 0;      // bits of a word

  static constexpr int kBefore = 2;  // symbols before the pilots
  IQD_HOST_DEVICE int pairs() const noexcept { return users * rx; }
  IQD_HOST_DEVICE int lags() const noexcept { return 2 * delays - 1; }
  IQD_HOST_DEVICE int data_symbols() const noexcept { return symbols - kBefore - training; }
  IQD_HOST_DEVICE int received() const noexcept { return symbols - kBefore; }  // symbols from the pilots on
  IQD_HOST_DEVICE std::int64_t row() const noexcept { return std::int64_t{carriers} * rx; }  // elements of a symbol
  IQD_HOST_DEVICE int slots() const noexcept { return data_symbols() * carriers; }           // of data
  IQD_HOST_DEVICE std::int64_t frame() const noexcept { return symbols * row(); }
  /// Data symbols that hold points in use.
  IQD_HOST_DEVICE int used_symbols() const noexcept { return (data + carriers - 1) / carriers; }
  /// Points in use of a data symbol; they are on its first carriers.
  IQD_HOST_DEVICE int points(int symbol) const noexcept {
    const int left = data - symbol * carriers;
    return left < carriers ? left : carriers;
  }
};

/// What is known before frames arrive.
struct Design {
  Extents extents;
  double symbol_seconds = 0;
  double step = 0;                      // of the delays, samples
  double early = 0;                     // samples by which ofdm_demod's window begins early
  std::vector<SymbolMap> maps;          // [user]
  std::vector<std::int32_t> odd;        // carriers that the synchronisation symbol leaves empty
  std::vector<std::int32_t> known;      // [pilot symbol]: how many of its carriers hold pilots in use, the first ones
  std::vector<cf32> sent;               // [pilot symbol][carrier][user]
  std::vector<float> turn_re, turn_im;  // [carrier][delay_pitch]: exp(-2 pi j f tau / fft)
  std::vector<WordsOfUser> soft;        // [user]
  std::vector<float> filler;            // LLRs of the bits behind the words, user after user
  std::vector<cf32> unused;             // [data slot that is not used][user]: what is sent there
  std::vector<cf32> step_turn;          // [carrier][lag]: exp(-2 pi j f lag step / fft)

  /// Of a pair of symbols' middles.
  double seconds(int symbol) const noexcept { return symbol * symbol_seconds; }
};
/// `maps`: of each user; `symbol_seconds`: from the middle of a symbol to that of the next.
Design make_design(const Config& config, const std::vector<SymbolMap>& maps, std::int64_t rx, double symbol_seconds);
/// For words of n bits.
void set_words(Design& design, const NomaFormat& format, std::int64_t n);
/// Delays of the grid: from two steps before the window to one step behind the prefix.
std::int64_t delays_of(const Config& config) noexcept;

/// The two functions of time that show an offset: 1, and the pilot symbols' time with mean 0 and variance 1. `spread`
/// is the time's deviation in seconds.
struct PilotTimes {
  explicit PilotTimes(const Design& design) noexcept {
    const int count = design.extents.training;
    double squares = 0;
    const auto centred = [&](int s) { return (s - 0.5 * (count - 1)) * design.symbol_seconds; };
    for (int s = 0; s < count; ++s) squares += centred(s) * centred(s);
    spread = std::sqrt(squares / count);
    for (int s = 0; s < count && spread > 0; ++s) slope[s] = static_cast<float>(centred(s) / spread);
  }
  double spread = 0;
  float slope[kMostTraining] = {};
};

/// Outputs of a frame, or of a block, frame after frame; null: not wanted.
struct Outputs {
  cf32* symbols;
  float* llr;
  std::uint8_t* bits;
  float* model;
  cf32* h;
  std::uint8_t* modulation;
};
inline Outputs outputs_of(const StageIo& io) noexcept {
  return {.symbols = reinterpret_cast<cf32*>(io.out[kSymbols].data),
          .llr = reinterpret_cast<float*>(io.out[kLlr].data),
          .bits = reinterpret_cast<std::uint8_t*>(io.out[kBits].data),
          .model = reinterpret_cast<float*>(io.out[kModel].data),
          .h = reinterpret_cast<cf32*>(io.out[kH].data),
          .modulation = reinterpret_cast<std::uint8_t*>(io.out[kModulation].data)};
}

std::size_t scratch_bytes(const Design& design);
/// Returns how many vectors were erased.
std::int64_t run_cpu(const Design& design, const cf32* carriers, const float* soft, std::int64_t frames,
                     const Outputs& out, std::byte* scratch) noexcept;

/// The CUDA half; `most`: frames in a block.
using CudaHalf = std::unique_ptr<StageRun>(const Design& design, std::int64_t most);

}  // namespace iqd::noma_channel_estimator
