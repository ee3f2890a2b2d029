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
using OneLane = hn::CappedTag<float, 1>;
using Layers = Decoder::Layers;

/// Updates as many rows as there are lanes, or only the first `rows`. `places` and `messages` are those of the row's
/// first edge; `lane` is the position of the rows in their chunk.
template <bool kAll, class D> HWY_INLINE void update_lanes(D d, const Layers& layers, int edges, const int* places,
                                                           int lane, float scale, float* HWY_RESTRICT posterior,
                                                           float* HWY_RESTRICT messages, int rows) {
  HWY_ALIGN float q[kMostEdges * Decoder::kChunk];
  auto least = hn::Set(d, kLargest), second = least, signs = hn::Zero(d);
  for (int e = 0; e < edges; ++e) {
    const auto x =
        hn::Sub(hn::LoadU(d, posterior + places[e * layers.chunks] + lane), hn::Load(d, messages + e * layers.stride));
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
    hn::Store(message, d, messages + e * layers.stride);
    float* const to = posterior + places[e * layers.chunks] + lane;
    if constexpr (kAll)
      hn::StoreU(hn::Add(x, message), d, to);
    else
      hn::BlendedStore(hn::Add(x, message), hn::FirstN(d, static_cast<std::size_t>(rows)), d, to);
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

template <class D> HWY_INLINE void iterate_rows(D d, const Layers& layers, float scale, float* HWY_RESTRICT posterior,
                                                float* HWY_RESTRICT messages) {
  const auto lanes = static_cast<int>(hn::Lanes(d));
  for (std::size_t row = 0; row + 1 < layers.first.size(); ++row) {
    const int first = layers.first[row], end = layers.first[row + 1];
    const int* const places = layers.places.data() + first * layers.chunks;
    float* const of_row = messages + first * layers.stride;
    for (int c = 0; c < layers.whole; ++c)
      for (int lane = 0; lane < layers.chunk; lane += lanes)
        update_lanes<true>(d, layers, end - first, places + c, lane, scale, posterior, of_row + c * layers.chunk + lane,
                           lanes);
    for (int lane = 0; lane < layers.left; lane += lanes)
      update_lanes<false>(d, layers, end - first, places + layers.whole, lane, scale, posterior,
                          of_row + layers.whole * layers.chunk + lane, std::min(lanes, layers.left - lane));
    if (layers.chunk == 1) continue;
    for (auto e = static_cast<std::size_t>(first); e < static_cast<std::size_t>(end); ++e)
      repeat(posterior + layers.blocks[e], layers.lift, layers.beyond[e]);
  }
}

/// Whether all checks hold; stops at the first row where one does not.
template <class D> HWY_INLINE bool rows_hold(D d, const Layers& layers, const float* posterior) {
  const hn::RebindToSigned<D> di;
  const auto lanes = static_cast<int>(hn::Lanes(d));
  for (std::size_t row = 0; row + 1 < layers.first.size(); ++row) {
    auto odd = hn::Zero(d);
    const auto signs_of = [&](int c, int lane) {
      auto signs = hn::Zero(d);
      const int* const places = layers.places.data() + c;
      for (int e = layers.first[row]; e < layers.first[row + 1]; ++e)
        signs = hn::Xor(signs, hn::LoadU(d, posterior + places[e * layers.chunks] + lane));
      return signs;
    };
    for (int c = 0; c < layers.whole; ++c)
      for (int lane = 0; lane < layers.chunk; lane += lanes) odd = hn::Or(odd, signs_of(c, lane));
    for (int lane = 0; lane < layers.left; lane += lanes) {
      const auto rows = hn::FirstN(d, static_cast<std::size_t>(std::min(lanes, layers.left - lane)));
      odd = hn::Or(odd, hn::IfThenElseZero(rows, signs_of(layers.whole, lane)));
    }
    if (!hn::AllFalse(di, hn::Lt(hn::BitCast(di, odd), hn::Zero(di)))) return false;
  }
  return true;
}

void iterate(const Layers& layers, float scale, float* HWY_RESTRICT posterior, float* HWY_RESTRICT messages) {
  if (layers.chunk == 1) return iterate_rows(OneLane(), layers, scale, posterior, messages);
  iterate_rows(Lanes(), layers, scale, posterior, messages);
}

bool holds(const Layers& layers, const float* posterior) {
  if (layers.chunk == 1) return rows_hold(OneLane(), layers, posterior);
  return rows_hold(Lanes(), layers, posterior);
}

}  // namespace iqd::ldpc_decoder::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::ldpc_decoder {

HWY_EXPORT(iterate);
HWY_EXPORT(holds);

namespace {

/// Sets how the rows of a lift are cut into chunks.
void cut(Decoder::Layers& layers, int lift) {
  constexpr int kChunk = Decoder::kChunk;
  layers.lift = lift;
  layers.chunk = lift < kChunk ? 1 : kChunk;
  layers.chunks = (lift + layers.chunk - 1) / layers.chunk;
  layers.whole = lift / layers.chunk;
  layers.left = lift % layers.chunk;
  layers.pitch = layers.chunk == 1 ? lift : lift + kChunk;
  layers.stride = layers.chunks * layers.chunk;
}

Decoder::Layers layers_of(const LdpcCode& code) {
  Decoder::Layers layers;
  cut(layers, code.lift);
  for (int e = 0; e < std::ssize(code.entries); ++e) {
    const LdpcEntry& entry = code.entries[static_cast<std::size_t>(e)];
    if (entry.row == std::ssize(layers.first)) layers.first.push_back(e);
    layers.blocks.push_back(entry.column * layers.pitch);
    int beyond = 0;
    for (int c = 0; c < layers.chunks; ++c) {
      const int at = (entry.shift + c * layers.chunk) % code.lift;
      const int rows = c < layers.whole ? layers.chunk : layers.left;
      layers.places.push_back(layers.blocks.back() + at);
      beyond = std::max(beyond, at + rows - code.lift);
    }
    layers.beyond.push_back(beyond);
  }
  layers.first.push_back(static_cast<int>(code.entries.size()));
  return layers;
}

/// The contents of the scratch memory.
struct Room {
  Room(const LdpcCode& code, Scratch memory) : scratch(memory) {
    Decoder::Layers layers;
    cut(layers, code.lift);
    posterior = scratch.take<float>(code.columns * layers.pitch);
    messages = scratch.take<float>(std::ssize(code.entries) * layers.stride);
  }

  Scratch scratch;
  float* posterior;
  float* messages;
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

Decoder::Decoder(const Setup& setup, const WordCode& words)
    : setup_(setup),
      words_(words),
      layers_(layers_of(words_.code)),
      crc_weights_(iqd::crc_weights(words.crc, words.k)) {
  if (words_.is_plain()) return;
  for (int turn = 0; turn < words_.n(); ++turn)
    ways_.push_back({words_.sent.place_of(turn), place_of(words_.sent.position_of(turn))});
}

std::size_t Decoder::scratch_bytes(const LdpcCode& code) {
  return Room(code, Scratch(nullptr)).scratch.bytes();
}

Decoder::Counts Decoder::decode(const Job& job, std::int64_t words, std::byte* scratch) const noexcept {
  const Room room(words_.code, Scratch(scratch));
  Counts counts{words, 0};
  for (std::int64_t w = 0; w < words; ++w) {
    const WordPlaces places = setup_.places_of(w, words_.n(), job.sent);
    if (!places.is_there) {
      put_none(job, w, places);
      --counts.words;
      continue;
    }
    load(job.llr, places, room.posterior);
    std::fill_n(room.messages, std::ssize(words_.code.entries) * layers_.stride, 0.0f);
    const Outcome outcome = iterate_word(room.posterior, room.messages);
    const bool known = decide(room.posterior, job.bits + w * words_.information());
    const bool fails = !(outcome.good && known);
    counts.failed += fails;
    if (job.failed) job.failed[w] = fails;
    if (job.iterations) job.iterations[w] = outcome.iterations;
    if (job.is_soft()) put_soft(job, w, places, room.posterior);
  }
  return counts;
}

void Decoder::put_none(const Job& job, std::int64_t word, const WordPlaces& places) const noexcept {
  std::fill_n(job.bits + word * words_.information(), words_.information(), std::uint8_t{0});
  if (job.failed) job.failed[word] = 0;
  if (job.iterations) job.iterations[word] = 0;
  if (job.llr_out) std::fill_n(job.llr_out + word * words_.n(), words_.n(), 0.0f);
  if (job.is_soft()) put_rest(job, places);
}

void Decoder::load(const void* llr, const WordPlaces& places, float* posterior) const noexcept {
  with_element([&](auto type) {
    const auto* const from = static_cast<const decltype(type)*>(llr);
    const auto llr_at = [&](int i) { return usable_llr(setup_.turned(as_float(from[places.at(i)]), i)); };
    ways_.empty() ? load_whole(llr_at, posterior) : load_sent(llr_at, posterior);
  });
  if (layers_.chunk == 1) return;
  for (int c = 0; c < words_.code.columns; ++c, posterior += layers_.pitch)
    std::copy_n(posterior, kChunk, posterior + layers_.lift);
}

template <class At> void Decoder::load_whole(const At& llr_at, float* posterior) const noexcept {
  for (int c = 0, n = 0; c < words_.code.columns; ++c, posterior += layers_.pitch)
    for (int i = 0; i < layers_.lift; ++i) posterior[i] = llr_at(n++);
}

template <class At> void Decoder::load_sent(const At& llr_at, float* posterior) const noexcept {
  std::fill_n(posterior, words_.code.columns * layers_.pitch, 0.0f);
  for (int p = words_.sent.filler_begin; p < words_.sent.filler_end; ++p) posterior[place_of(p)] = kLargest;
  for (const Way& way : ways_) posterior[way.to] = usable_llr(posterior[way.to] + llr_at(way.from));
}

Decoder::Outcome Decoder::iterate_word(float* posterior, float* messages) const noexcept {
  Outcome outcome;
  while (outcome.iterations < setup_.iterations && !outcome.good) {
    HWY_DYNAMIC_DISPATCH(iterate)(layers_, setup_.scale, posterior, messages);
    ++outcome.iterations;
    if (setup_.early_stop || outcome.iterations == setup_.iterations) outcome.good = are_right(posterior);
  }
  return outcome;
}

bool Decoder::are_right(const float* posterior) const noexcept {
  return crc_weights_.empty() ? HWY_DYNAMIC_DISPATCH(holds)(layers_, posterior) : holds_crc(posterior);
}

bool Decoder::holds_crc(const float* posterior) const noexcept {
  std::uint32_t sum = 0;
  const std::uint32_t* weights = crc_weights_.data();
  for (int left = words_.k; left > 0; left -= layers_.lift, posterior += layers_.pitch) {
    const int count = std::min(left, layers_.lift);
    for (int i = 0; i < count; ++i) sum ^= posterior[i] < 0 ? weights[i] : 0;
    weights += count;
  }
  return sum == 0;
}

bool Decoder::decide(const float* posterior, std::uint8_t* bits) const noexcept {
  bool known = true;
  int wanted = words_.information();
  for (int left = words_.k; left > 0; left -= layers_.lift, posterior += layers_.pitch) {
    const int count = std::min(left, layers_.lift);
    for (int i = 0; i < count; ++i) known &= posterior[i] != 0;
    const int bits_here = std::min(wanted, count);
    for (int i = 0; i < bits_here; ++i) *bits++ = posterior[i] < 0;
    wanted -= bits_here;
  }
  return known;
}

void Decoder::put_soft(const Job& job, std::int64_t word, const WordPlaces& places,
                       const float* posterior) const noexcept {
  with_element([&](auto type) {
    const auto* const llr = static_cast<const decltype(type)*>(job.llr);
    const auto put = [&](int n, float decided) {
      const std::int64_t at = places.at(n);
      job.put(at, setup_.turned(decided, n), usable_llr(as_float(llr[at])), setup_.unit);
      if (job.llr_out) job.llr_out[word * words_.n() + n] = decided * setup_.unit;
    };
    for (const Way& way : ways_) put(way.from, posterior[way.to]);
    for (int n = 0; ways_.empty() && n < words_.n(); ++n) put(n, posterior[place_of(n)]);
  });
  put_rest(job, places);
}

void Decoder::put_rest(const Job& job, const WordPlaces& places) const noexcept {
  with_element([&](auto type) {
    const auto* const llr = static_cast<const decltype(type)*>(job.llr);
    const auto put = [&](std::int64_t at) {
      const float received = usable_llr(as_float(llr[at]));
      job.put(at, received, received, setup_.unit);
    };
    places.for_marker(0, 1, put);
    places.for_rest(0, 1, put);
  });
}

}  // namespace iqd::ldpc_decoder
#endif
