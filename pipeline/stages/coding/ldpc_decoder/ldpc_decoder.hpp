// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/coding/ldpc_keys.hpp"
#include "signal/codes/ldpc_code.hpp"

/// Decodes LDPC words by layered min-sum: block rows are processed in order, each with the results of those before it.
///
///   q         = posterior - message
///   message   = scale · (signs of the others) · min |q| of the others
///   posterior = q + message
///
/// llr         [item][…]      f32, f16 or i8, positive for bit 0, at any scale; an item has W = floor(size / n) words
/// bits        [item][W][k]   u8; no dimension W if an item is one word
/// iterations  [item][W]      i32, iterations made
/// llr_out     [item][W][n]   f32, posteriors, at the scale of llr
/// events      [event]        i64: words, failed: a check does not hold in the end, or the posterior of an information
///                            bit is 0
///
/// Bit i of word w is element w n + i of its item, or i W + w if words are interleaved. With `interleave: user` the item
/// is [user][t][bit], and each user has W_u words of its own: bit i of word w is element i W_u + w among the user's LLRs;
/// each t has as many as its modulation has bits. An LLR of 0 is an erased bit,
/// NaN counts as 0, infinities as +-kLargest. A posterior of 0 decides for bit 0. Keeps nothing between calls.
namespace iqd::ldpc_decoder {

enum class Interleave : std::uint8_t { off, frame, user };
inline std::span<const std::string_view> enum_names(Interleave) {
  static constexpr std::string_view names[] = {"off", "frame", "user"};
  return names;
}

struct Config {
  coding::CodeName code{};
  std::int64_t iterations = 15;
  double scale = 0.75;
  bool early_stop = true;
  Interleave interleave = Interleave::off;
  std::vector<std::string> modulation;  // of all users, or per user; empty: LLRs are all bits

  void fields(FieldVisitor& visitor);
};

enum Event : std::size_t { kWords, kFailed };
inline constexpr std::string_view kEvents[] = {"words", "failed"};
enum Port : std::size_t { kBits, kIterations, kTally, kLlrOut };

/// Limit of a check's message, so that sums stay finite.
inline constexpr float kLargest = 1e30f;

/// An LLR within the limits, with -0 as +0; sums that begin with +0 cannot become -0, so the sign is the bit.
IQD_HOST_DEVICE inline float usable_llr(float x) noexcept {
  const float y = x > kLargest ? kLargest : x < -kLargest ? -kLargest : x;
  return y == y ? y + 0.0f : 0.0f;
}

inline constexpr int kMostEdges = 32;  // of a row
inline constexpr int kMostUsers = 32;

/// The words of a user in an item.
struct UserWords {
  std::int32_t end;    // words of this user and of those before it
  std::int32_t words;  // of this user
  std::int32_t bits;   // of a point
};

/// Where a word's LLRs are, among all of a block.
struct WordPlaces {
  std::int64_t begin;  // of its item's or user's LLRs
  std::int64_t first;  // element of bit 0
  std::int64_t step;   // elements from bit to bit
  std::int32_t bits;   // elements of a point
  std::int32_t row;    // LLRs of a point

  IQD_HOST_DEVICE std::int64_t at(std::int64_t i) const noexcept {
    const std::int64_t e = first + i * step;
    return begin + (bits == row ? e : e / bits * row + e % bits);
  }
};

struct Setup {
  coding::CodeName code{};
  int iterations = 15;
  float scale = 0.75f;
  bool early_stop = true;
  Element element = Element::f32;
  std::int64_t item = 0;   // LLRs
  std::int64_t words = 1;  // in an item
  std::int64_t step = 1;   // distance of two LLRs of a word
  std::int64_t most = 1;   // words in a block
  std::int32_t row = 1;    // LLRs of a point, if users have their own words
  std::int32_t users = 0;
  UserWords of_user[kMostUsers] = {};

  IQD_HOST_DEVICE WordPlaces places_of(std::int64_t word, std::int64_t n) const noexcept {
    const std::int64_t begin = word / words * item, own = word % words;
    if (users == 0) return {.begin = begin, .first = own * (step == 1 ? n : 1), .step = step, .bits = 1, .row = 1};
    int u = 0;
    while (own >= of_user[u].end) ++u;
    const UserWords& user = of_user[u];
    return {.begin = begin + item / users * u,
            .first = own - (user.end - user.words),
            .step = user.words,
            .bits = user.bits,
            .row = row};
  }
};

/// One block; null: not wanted.
struct Job {
  const void* llr;
  std::uint8_t* bits;
  std::int32_t* iterations;
  float* llr_out;
};

/// A code, laid out for the CPU's loops: posteriors are in block columns, and the first chunk of each is repeated
/// behind its end, so that the posteriors of kChunk rows are contiguous wherever they begin.
class Decoder {
 public:
  static constexpr int kChunk = 16;

  explicit Decoder(const Setup& setup);

  static std::size_t scratch_bytes(const LdpcCode& code);
  /// Returns how many of the words failed.
  std::int64_t decode(const Job& job, std::int64_t words, std::byte* scratch) const noexcept;

  struct Layers {
    int lift = 0;
    int chunks = 0;           // in a lift
    int pitch = 0;            // of block columns
    std::vector<int> first;   // first entry of each row, and the end
    std::vector<int> places;  // [entry][chunk]: position of its first row's posterior
    std::vector<int> blocks;  // [entry]: position of its block column
    std::vector<int> beyond;  // [entry]: posteriors of a chunk that lie behind the block's end
  };

 private:
  struct Outcome {
    int iterations = 0;
    bool good = false;  // all checks hold
  };
  void load(const void* llr, const WordPlaces& places, float* posterior) const noexcept;
  Outcome iterate_word(float* posterior, float* messages) const noexcept;
  /// Decides the bits; false if the posterior of an information bit is 0.
  bool decide(const float* posterior, std::uint8_t* bits) const noexcept;

  Setup setup_;
  const LdpcCode& code_;
  Layers layers_;
};

inline Job job_of(const StageIo& io) noexcept {
  return {.llr = io.in[0].data,
          .bits = reinterpret_cast<std::uint8_t*>(io.out[kBits].data),
          .iterations = reinterpret_cast<std::int32_t*>(io.out[kIterations].data),
          .llr_out = reinterpret_cast<float*>(io.out[kLlrOut].data)};
}

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Setup& setup);

}  // namespace iqd::ldpc_decoder
