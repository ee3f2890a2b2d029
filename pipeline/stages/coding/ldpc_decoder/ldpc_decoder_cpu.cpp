// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/stages/coding/ldpc_decoder/ldpc_decoder.hpp"
#include "signal/filters/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/coding/ldpc_decoder/ldpc_decoder_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::ldpc_decoder::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::CappedTag<float, Decoder::kChunk>;
using Layers = Decoder::Layers;

/// Updates as many rows as there are lanes. `places` and `messages` are those of the row's first edge; `lane` is the
/// position of the rows in their chunk.
HWY_INLINE void update_lanes(const Layers& layers, int edges, const int* places, int lane, float scale,
                             float* HWY_RESTRICT posterior, float* HWY_RESTRICT messages) {
  const Lanes d;
  HWY_ALIGN float q[kMostEdges * Decoder::kChunk];
  auto least = hn::Set(d, kLargest), second = least, signs = hn::Zero(d);
  for (int e = 0; e < edges; ++e) {
    const auto x =
        hn::Sub(hn::LoadU(d, posterior + places[e * layers.chunks] + lane), hn::Load(d, messages + e * layers.lift));
    hn::Store(x, d, q + e * Decoder::kChunk);
    const auto size = hn::Abs(x);
    second = hn::Min(second, hn::Max(least, size));
    least = hn::Min(least, size);
    signs = hn::Xor(signs, x);
  }
  // An edge with the minimum gets the second minimum; if two edges have the minimum, both are equal.
  const auto of_least = hn::CopySignToAbs(hn::Mul(second, hn::Set(d, scale)), signs);
  const auto of_others = hn::CopySignToAbs(hn::Mul(least, hn::Set(d, scale)), signs);
  for (int e = 0; e < edges; ++e) {
    const auto x = hn::Load(d, q + e * Decoder::kChunk);
    const auto message =
        hn::Xor(hn::IfThenElse(hn::Eq(hn::Abs(x), least), of_least, of_others), hn::And(x, hn::SignBit(d)));
    hn::Store(message, d, messages + e * layers.lift);
    hn::StoreU(hn::Add(x, message), d, posterior + places[e * layers.chunks] + lane);
  }
}

/// Makes a block's beginning and its repetition equal: in the first `beyond` values the repetition is newer.
HWY_INLINE void repeat(float* block, int lift, int beyond) {
  const Lanes d;
  for (int i = 0; i < Decoder::kChunk; i += static_cast<int>(hn::Lanes(d))) {
    const auto newer = hn::FirstN(d, static_cast<std::size_t>(std::max(beyond - i, 0)));
    const auto x = hn::IfThenElse(newer, hn::LoadU(d, block + lift + i), hn::LoadU(d, block + i));
    hn::StoreU(x, d, block + i);
    hn::StoreU(x, d, block + lift + i);
  }
}

void iterate(const Layers& layers, float scale, float* HWY_RESTRICT posterior, float* HWY_RESTRICT messages) {
  const auto lanes = static_cast<int>(hn::Lanes(Lanes()));
  for (std::size_t row = 0; row + 1 < layers.first.size(); ++row) {
    const int first = layers.first[row], end = layers.first[row + 1];
    for (int c = 0; c < layers.chunks; ++c)
      for (int lane = 0; lane < Decoder::kChunk; lane += lanes)
        update_lanes(layers, end - first, layers.places.data() + first * layers.chunks + c, lane, scale, posterior,
                     messages + first * layers.lift + c * Decoder::kChunk + lane);
    for (auto e = static_cast<std::size_t>(first); e < static_cast<std::size_t>(end); ++e)
      repeat(posterior + layers.blocks[e], layers.lift, layers.beyond[e]);
  }
}

/// Whether all checks hold; stops at the first row where one does not.
bool holds(const Layers& layers, const float* posterior) {
  const Lanes d;
  const hn::RebindToSigned<Lanes> di;
  for (std::size_t row = 0; row + 1 < layers.first.size(); ++row) {
    auto odd = hn::Zero(d);
    for (int c = 0; c < layers.chunks; ++c)
      for (int lane = 0; lane < Decoder::kChunk; lane += static_cast<int>(hn::Lanes(d))) {
        auto signs = hn::Zero(d);
        const int* const places = layers.places.data() + c;
        for (int e = layers.first[row]; e < layers.first[row + 1]; ++e)
          signs = hn::Xor(signs, hn::LoadU(d, posterior + places[e * layers.chunks] + lane));
        odd = hn::Or(odd, signs);
      }
    if (!hn::AllFalse(di, hn::Lt(hn::BitCast(di, odd), hn::Zero(di)))) return false;
  }
  return true;
}

}  // namespace iqd::ldpc_decoder::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::ldpc_decoder {

HWY_EXPORT(iterate);
HWY_EXPORT(holds);

namespace {

static_assert(std::ranges::all_of(kLdpcCodes, [](const LdpcCode& code) { return code.lift % Decoder::kChunk == 0; }),
              "rows come in chunks");
static_assert(std::ranges::all_of(kLdpcCodes,
                                  [](const LdpcCode& code) {
                                    return std::ranges::all_of(code.entries, [&](const LdpcEntry& of) {
                                      return std::ranges::count(code.entries, of.row, &LdpcEntry::row) <= kMostEdges;
                                    });
                                  }),
              "a row's edges have places");

Decoder::Layers layers_of(const LdpcCode& code) {
  constexpr int kChunk = Decoder::kChunk;
  Decoder::Layers layers;
  layers.lift = code.lift;
  layers.chunks = code.lift / kChunk;
  layers.pitch = code.lift + kChunk;
  for (int e = 0; e < std::ssize(code.entries); ++e) {
    const LdpcEntry& entry = code.entries[static_cast<std::size_t>(e)];
    if (entry.row == std::ssize(layers.first)) layers.first.push_back(e);
    layers.blocks.push_back(entry.column * layers.pitch);
    for (int c = 0; c < layers.chunks; ++c)
      layers.places.push_back(layers.blocks.back() + (entry.shift + c * kChunk) % code.lift);
    layers.beyond.push_back(entry.shift % kChunk);
  }
  layers.first.push_back(static_cast<int>(code.entries.size()));
  return layers;
}

/// The contents of the scratch memory.
struct Room {
  const LdpcCode& code;
  Scratch scratch;
  float* posterior = scratch.take<float>(code.columns * (code.lift + Decoder::kChunk));
  float* messages = scratch.take<float>(std::ssize(code.entries) * code.lift);
};

float as_float(float x) {
  return x;
}
float as_float(f16 x) {
  return to_float(x);
}
float as_float(std::int8_t x) {
  return x;
}

}  // namespace

Decoder::Decoder(const Setup& setup) : setup_(setup), code_(code_of(setup.code)), layers_(layers_of(code_)) {}

std::size_t Decoder::scratch_bytes(const LdpcCode& code) {
  return Room{code, Scratch(nullptr)}.scratch.bytes();
}

std::int64_t Decoder::decode(const Job& job, std::int64_t words, std::byte* scratch) const noexcept {
  const Room room{code_, Scratch(scratch)};
  std::int64_t failed = 0;
  for (std::int64_t w = 0; w < words; ++w) {
    load(job.llr, setup_.places_of(w, code_.n()), room.posterior);
    std::fill_n(room.messages, std::ssize(code_.entries) * code_.lift, 0.0f);
    const Outcome outcome = iterate_word(room.posterior, room.messages);
    const bool known = decide(room.posterior, job.bits + w * code_.k());
    failed += !(outcome.good && known);
    for (int c = 0; job.llr_out && c < code_.columns; ++c)
      std::copy_n(room.posterior + c * layers_.pitch, code_.lift, job.llr_out + w * code_.n() + c * code_.lift);
    if (job.iterations) job.iterations[w] = outcome.iterations;
  }
  return failed;
}

void Decoder::load(const void* llr, const WordPlaces& places, float* posterior) const noexcept {
  const auto load_as = [&](auto type) {
    const auto* const from = static_cast<const decltype(type)*>(llr);
    for (int c = 0; c < code_.columns; ++c, posterior += layers_.pitch) {
      for (int i = 0; i < code_.lift; ++i)
        posterior[i] = usable_llr(as_float(from[places.at(std::int64_t{c} * code_.lift + i)]));
      std::copy_n(posterior, kChunk, posterior + code_.lift);
    }
  };
  if (setup_.element == Element::f32) load_as(float{});
  if (setup_.element == Element::f16) load_as(f16{});
  if (setup_.element == Element::i8) load_as(std::int8_t{});
}

Decoder::Outcome Decoder::iterate_word(float* posterior, float* messages) const noexcept {
  Outcome outcome;
  while (outcome.iterations < setup_.iterations && !outcome.good) {
    HWY_DYNAMIC_DISPATCH(iterate)(layers_, setup_.scale, posterior, messages);
    ++outcome.iterations;
    if (setup_.early_stop || outcome.iterations == setup_.iterations)
      outcome.good = HWY_DYNAMIC_DISPATCH(holds)(layers_, posterior);
  }
  return outcome;
}

bool Decoder::decide(const float* posterior, std::uint8_t* bits) const noexcept {
  bool known = true;
  for (int c = 0; c < code_.columns - code_.rows; ++c, posterior += layers_.pitch, bits += code_.lift)
    for (int i = 0; i < code_.lift; ++i) {
      bits[i] = posterior[i] < 0;
      known &= posterior[i] != 0;
    }
  return known;
}

}  // namespace iqd::ldpc_decoder
#endif
