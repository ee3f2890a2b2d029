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
#include "pipeline/stages/alphabets.hpp"
#include "pipeline/stages/code_keys.hpp"
#include "signal/codes/word_code.hpp"

/// Decodes LDPC words by layered min-sum: block rows are processed in order, each with the results of those before it.
///
///   q         = posterior - message
///   message   = scale · (signs of the others) · min |q| of the others
///   posterior = q + message
///
/// llr         [item][…]      f32, f16 or i8, positive for bit 0, at any scale; an item has W = floor(size / n) words
/// modulation  [item][tx]     u8, optional: bits of each antenna's points
/// bits        [item][W][k]   u8, without the CRC's; no dimension W if an item is one word
/// iterations  [item][W]      i32, iterations made; 0: the item has no such word
/// failed      [item][W]      u8, 1: the word failed
/// posterior   [item][…]      f32, as llr, in its places: with what the checks say
/// extrinsic   [item][…]      f32, the same without llr: what the checks say. Behind the words llr and 0
/// llr_out     [item][W][n]   f32, the posteriors by word
/// events      [event]        i64: words, failed: the CRC, or without one a check, does not hold in the end, or the
///                            posterior of an information bit is 0
///
/// Bit i of word w is element w n + i of its item, or i W + w if words are interleaved. With `interleave: frame` and
/// antennas whose modulations differ, the item is [carrier][symbol][tx][bit] and elements are the bits that antennas
/// send; with the input `modulation` an item may have fewer than W words. With `interleave: user` the item
/// is [user][t][bit], and each user has W_u words of its own: bit i of word w is element i W_u + w among the user's LLRs;
/// each t has as many as its modulation has bits. An LLR of 0 is an erased bit, NaN counts as 0, infinities as
/// +-kLargest. A bit that is sent several times has the sum of its LLRs, one that is not sent is erased, and filler is
/// known. A posterior of 0 decides for bit 0. With a marker, each word begins behind one, and W = floor(size / (marker +
/// n)); LLRs of randomized words change their sign where the sequence has a one, and so do posterior and extrinsic, but
/// not llr_out. Keeps nothing between calls.
namespace iqd::ldpc_decoder {

enum class Interleave : std::uint8_t { off, frame, user };
inline std::span<const std::string_view> enum_names(Interleave) {
  static constexpr std::string_view names[] = {"off", "frame", "user"};
  return names;
}

struct Config {
  WordChoice code{.code = "80216e_2304_1_2"};
  FrameChoice frame{};
  std::int64_t iterations = 0;  // 0: those of the code
  double scale = 0.75;
  bool early_stop = true;
  Interleave interleave = Interleave::off;
  std::vector<std::string> modulation;  // of all users or antennas, or of each; empty: LLRs are all bits

  void fields(FieldVisitor& visitor);
};

enum Event : std::size_t { kWords, kFailed };
inline constexpr std::string_view kEvents[] = {"words", "failed"};
enum Port : std::size_t { kBits, kIterations, kTally, kPosterior, kExtrinsic, kFailedWords, kLlrOut, kPorts };

/// Limit of a check's message, so that sums stay finite.
inline constexpr float kLargest = 1e30f;

/// An LLR within the limits, with -0 as +0; sums that begin with +0 cannot become -0, so the sign is the bit.
IQD_HOST_DEVICE inline float usable_llr(float x) noexcept {
  const float y = x > kLargest ? kLargest : x < -kLargest ? -kLargest : x;
  return y == y ? y + 0.0f : 0.0f;
}

// Of any code.
inline constexpr int kMostEdges = 26;  // of a row
inline constexpr int kMostLift = 512;
inline constexpr int kMostRows = 48;
inline constexpr int kMostUsers = 32;

/// The words of a user in an item.
struct UserWords {
  std::int32_t end;    // words of this user and of those before it
  std::int32_t words;  // of this user
  std::int32_t bits;   // of a point
};

/// Where a word's LLRs are, among all of a block. A point is that of a user, or those of all antennas on a carrier.
struct WordPlaces {
  std::int64_t begin;  // of its item's or user's LLRs
  std::int64_t first;  // element of bit 0
  std::int64_t step;   // elements from bit to bit
  std::int32_t bits;   // elements of a point
  std::int32_t row;    // LLRs of a point
  // What is behind the words of the item or user belongs to its last word.
  bool is_last;
  std::int64_t size;        // LLRs of the item or user
  std::int64_t coded;       // elements of its words
  std::int32_t marker = 0;  // elements before bit 0 that belong to the word
  Alphabets antennas{};     // of a point of antennas
  bool is_there = true;     // else the item has fewer words

  IQD_HOST_DEVICE std::int64_t at(std::int64_t i) const noexcept {
    const std::int64_t e = first + i * step;
    if (bits == row) return begin + e;
    const auto in_point = static_cast<std::int32_t>(e % bits);
    return begin + e / bits * row + (antennas.most > 0 ? antennas.place_of(in_point) : in_point);
  }
  /// Calls f with the places of the marker's LLRs, every `each`-th from number `from`.
  template <class F> IQD_HOST_DEVICE void for_marker(std::int64_t from, std::int64_t each, const F& f) const {
    for (std::int64_t i = from; i < marker; i += each) f(at(i - marker));
  }
  /// Calls f with the places of LLRs that are in no word, every `each`-th from number `from`.
  template <class F> IQD_HOST_DEVICE void for_rest(std::int64_t from, std::int64_t each, const F& f) const {
    for (std::int64_t i = from; is_last && i < size; i += each) {
      auto e = static_cast<std::int32_t>(i % row);
      if (antennas.most > 0) e = antennas.number_of(e);
      if (e < 0 || e >= bits || i / row * bits + e >= coded) f(begin + i);
    }
  }
};

struct Setup {
  int iterations = 15;
  float scale = 0.75f;
  bool early_stop = true;
  Element element = Element::f32;
  std::int64_t item = 0;   // LLRs
  std::int64_t words = 1;  // in an item
  std::int64_t step = 1;   // distance of two LLRs of a word
  std::int64_t most = 1;   // words in a block
  float unit = 1;          // LLR of an element of 1
  std::int32_t row = 1;    // LLRs of a point, if users have their own words
  std::int32_t users = 0;
  UserWords of_user[kMostUsers] = {};
  // If antennas differ: row is that of all antennas.
  bool mixed = false;
  std::int32_t tx = 0;
  Alphabets antennas{};  // unless the job has them
  // What is sent with a word. Words that are interleaved have no marker.
  std::int32_t marker = 0;
  bool is_randomized = false;
  WordSequence sequence{};

  /// An LLR of element i of a word as one of the code's bit, or back.
  IQD_HOST_DEVICE float turned(float llr, int i) const noexcept { return is_randomized && sequence.at(i) ? -llr : llr; }
  IQD_HOST_DEVICE WordPlaces mixed_places_of(std::int64_t word, std::int64_t n,
                                             const std::uint8_t* sent) const noexcept {
    const Alphabets of_item = antennas.with(sent ? sent + word / words * tx : nullptr, tx);
    const std::int64_t own = word % words, bits = of_item.sum(), all = item / row * bits, there = all / n;
    return {.begin = word / words * item,
            .first = own,
            .step = there,
            .bits = static_cast<std::int32_t>(bits),
            .row = row,
            .is_last = own == (there > 0 ? there - 1 : 0),
            .size = item,
            .coded = there * n,
            .antennas = of_item,
            .is_there = own < there};
  }
  /// `sent`: bits of each antenna's points in each item, if the job has them.
  IQD_HOST_DEVICE WordPlaces places_of(std::int64_t word, std::int64_t n,
                                       const std::uint8_t* sent = nullptr) const noexcept {
    if (mixed) return mixed_places_of(word, n, sent);
    const std::int64_t begin = word / words * item, own = word % words;
    if (users == 0)
      return {.begin = begin,
              .first = own * (step == 1 ? marker + n : 1) + marker,
              .step = step,
              .bits = 1,
              .row = 1,
              .is_last = own == words - 1,
              .size = item,
              .coded = words * (marker + n),
              .marker = marker};
    int u = 0;
    while (own >= of_user[u].end) ++u;
    const UserWords& user = of_user[u];
    return {.begin = begin + item / users * u,
            .first = own - (user.end - user.words),
            .step = user.words,
            .bits = user.bits,
            .row = row,
            .is_last = own == user.end - 1,
            .size = item / users,
            .coded = user.words * n};
  }
};

/// One block; null: not wanted.
struct Job {
  const void* llr;
  const std::uint8_t* sent;  // or null
  std::uint8_t* bits;
  std::int32_t* iterations;
  float* posterior;
  float* extrinsic;
  std::uint8_t* failed;
  float* llr_out;

  IQD_HOST_DEVICE bool is_soft() const noexcept { return posterior || extrinsic || llr_out; }
  /// Fills element `at` of the outputs that are as llr.
  IQD_HOST_DEVICE void put(std::int64_t at, float decided, float received, float unit) const noexcept {
    if (posterior) posterior[at] = decided * unit;
    if (extrinsic) extrinsic[at] = (decided - received) * unit;
  }
};

/// A code, laid out for the CPU's loops: posteriors are in block columns, and the first chunk of each is repeated
/// behind its end, so that the posteriors of a chunk's rows are contiguous wherever they begin. Blocks that are shorter
/// than kChunk are processed row by row.
class Decoder {
 public:
  static constexpr int kChunk = 16;

  Decoder(const Setup& setup, const WordCode& words);

  static std::size_t scratch_bytes(const LdpcCode& code);
  struct Counts {
    std::int64_t words, failed;
  };
  /// Decodes all words that are there.
  Counts decode(const Job& job, std::int64_t words, std::byte* scratch) const noexcept;

  struct Layers {
    int lift = 0;
    int chunk = 0;            // rows at once: kChunk, or 1
    int chunks = 0;           // in a lift
    int whole = 0;            // of these, without the last if it is shorter
    int left = 0;             // rows of the shorter one
    int pitch = 0;            // of block columns
    int stride = 0;           // of an entry's messages
    std::vector<int> first;   // first entry of each row, and the end
    std::vector<int> places;  // [entry][chunk]: position of its first row's posterior
    std::vector<int> blocks;  // [entry]: position of its block column
    std::vector<int> beyond;  // [entry]: posteriors of a chunk that lie behind the block's end
  };

 private:
  struct Outcome {
    int iterations = 0;
    bool good = false;  // all checks hold, or the CRC
  };
  /// From an LLR of the word to its bit's posterior.
  struct Way {
    int from, to;
  };
  /// Calls f(type) with a number of the element type of LLRs.
  template <class F> void with_element(const F& f) const noexcept {
    if (setup_.element == Element::f32) f(float{});
    if (setup_.element == Element::f16) f(f16{});
    if (setup_.element == Element::i8) f(std::int8_t{});
  }
  void load(const void* llr, const WordPlaces& places, float* posterior) const noexcept;
  template <class At> void load_whole(const At& llr_at, float* posterior) const noexcept;
  template <class At> void load_sent(const At& llr_at, float* posterior) const noexcept;
  Outcome iterate_word(float* posterior, float* messages) const noexcept;
  bool are_right(const float* posterior) const noexcept;
  bool holds_crc(const float* posterior) const noexcept;
  /// The outputs of a word that an item does not have.
  void put_none(const Job& job, std::int64_t word, const WordPlaces& places) const noexcept;
  /// Fills the soft outputs of a word's marker, and of what is behind an item's words.
  void put_rest(const Job& job, const WordPlaces& places) const noexcept;
  /// Decides the bits; false if the posterior of an information bit, or of one of the CRC, is 0.
  bool decide(const float* posterior, std::uint8_t* bits) const noexcept;
  /// Fills the soft outputs of a word, and of what is behind an item's words.
  void put_soft(const Job& job, std::int64_t word, const WordPlaces& places, const float* posterior) const noexcept;
  int place_of(int position) const noexcept {
    return position / layers_.lift * layers_.pitch + position % layers_.lift;
  }

  Setup setup_;
  WordCode words_;
  Layers layers_;
  std::vector<Way> ways_;                   // in the order of sending; none if all bits are sent in their order
  std::vector<std::uint32_t> crc_weights_;  // [k], or empty
};

inline Job job_of(const StageIo& io) noexcept {
  return {.llr = io.in[0].data,
          .sent = io.in.size() > 1 ? reinterpret_cast<const std::uint8_t*>(io.in[1].data) : nullptr,
          .bits = reinterpret_cast<std::uint8_t*>(io.out[kBits].data),
          .iterations = reinterpret_cast<std::int32_t*>(io.out[kIterations].data),
          .posterior = reinterpret_cast<float*>(io.out[kPosterior].data),
          .extrinsic = reinterpret_cast<float*>(io.out[kExtrinsic].data),
          .failed = reinterpret_cast<std::uint8_t*>(io.out[kFailedWords].data),
          .llr_out = reinterpret_cast<float*>(io.out[kLlrOut].data)};
}

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Setup& setup, const WordCode& words);

}  // namespace iqd::ldpc_decoder
