// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/interleave.hpp"

#include <algorithm>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "signal/filters/interleave.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Source and destination of samples as large as T, with distances in bytes.
template <class T> struct Way {
  const std::byte* from;
  std::int64_t pitch;  // from channel to channel
  std::byte* to;
  std::int64_t frame;

  const T* row(std::int64_t channel, std::int64_t n) const {
    return reinterpret_cast<const T*>(from + channel * pitch) + n;
  }
  T* frames(std::int64_t n) const { return reinterpret_cast<T*>(to + n * frame); }
};

/// By the definition.
template <class T> void move_each(Way<T> way, std::int64_t channels, std::int64_t first, std::int64_t end) {
  for (std::int64_t c = 0; c < channels; ++c)
    for (std::int64_t n = first; n < end; ++n) std::memcpy(way.frames(n) + c, way.row(c, n), sizeof(T));
}

/// Frames of two samples.
template <class T> void move_two(Way<T> way, std::int64_t samples) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t n = 0;
  for (; n + lanes <= samples; n += lanes)
    hn::StoreInterleaved2(hn::LoadU(d, way.row(0, n)), hn::LoadU(d, way.row(1, n)), d, way.frames(n));
  move_each(way, 2, n, samples);
}

/// Frames of four.
template <class T> void move_four(Way<T> way, std::int64_t samples) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t n = 0;
  for (; n + lanes <= samples; n += lanes)
    hn::StoreInterleaved4(hn::LoadU(d, way.row(0, n)), hn::LoadU(d, way.row(1, n)), hn::LoadU(d, way.row(2, n)),
                          hn::LoadU(d, way.row(3, n)), d, way.frames(n));
  move_each(way, 4, n, samples);
}

/// Frames at a time: they stay in the L1 cache until all their channels are stored.
constexpr std::int64_t kTile = 64;

/// Four of more channels: first side by side, then each four to their frame.
template <class T> void move_four_of_more(Way<T> way, std::int64_t samples) {
  constexpr std::int64_t kFour = 4 * sizeof(T);
  alignas(64) std::byte tile[kTile * kFour];
  move_four(Way<T>{way.from, way.pitch, tile, kFour}, samples);
  for (std::int64_t n = 0; n < samples; ++n) std::memcpy(way.frames(n), tile + n * kFour, kFour);
}

template <class T> void move_all(Way<T> way, std::int64_t channels, std::int64_t samples) {
  if (channels == 2) return move_two(way, samples);
  if (channels == 4) return move_four(way, samples);
  for (std::int64_t first = 0; first < samples; first += kTile) {
    const std::int64_t count = std::min(kTile, samples - first);
    for (std::int64_t c = 0; c < channels; c += 4) {
      const Way<T> part{reinterpret_cast<const std::byte*>(way.row(c, first)), way.pitch,
                        reinterpret_cast<std::byte*>(way.frames(first) + c), way.frame};
      if (c + 4 <= channels)
        move_four_of_more(part, count);
      else
        move_each(part, channels - c, 0, count);
    }
  }
}

template <class T> void move_samples(const std::byte* from, std::int64_t channels, std::int64_t pitch,
                                     std::int64_t samples, std::byte* to) {
  constexpr std::int64_t kSize = sizeof(T);
  move_all(Way<T>{from, pitch * kSize, to, channels * kSize}, channels, samples);
}

void interleave_bytes(const std::byte* from, std::size_t bytes, std::int64_t channels, std::int64_t pitch,
                      std::int64_t samples, std::byte* to) {
  switch (bytes) {
    case 8: return move_samples<std::uint64_t>(from, channels, pitch, samples, to);
    case 4: return move_samples<std::uint32_t>(from, channels, pitch, samples, to);
    case 2: return move_samples<std::uint16_t>(from, channels, pitch, samples, to);
    default: return move_samples<std::uint8_t>(from, channels, pitch, samples, to);
  }
}

void split_cf32(const float* x, std::int64_t n, float* re, float* im) {
  for (std::int64_t i = 0; i < n; ++i) {
    re[i] = x[2 * i];
    im[i] = x[2 * i + 1];
  }
}

void split_sc16(const sc16* x, std::int64_t n, float* re, float* im) {
  for (std::int64_t i = 0; i < n; ++i) {
    re[i] = static_cast<float>(x[i].re) * (1.0f / 32768);
    im[i] = static_cast<float>(x[i].im) * (1.0f / 32768);
  }
}

}  // namespace iqd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd {

HWY_EXPORT(interleave_bytes);
HWY_EXPORT(split_cf32);
HWY_EXPORT(split_sc16);

void interleave(const std::byte* from, std::size_t bytes, std::int64_t channels, std::int64_t pitch,
                std::int64_t samples, std::byte* to) noexcept {
  HWY_DYNAMIC_DISPATCH(interleave_bytes)(from, bytes, channels, pitch, samples, to);
}

void split(const cf32* x, std::int64_t n, float* re, float* im) noexcept {
  HWY_DYNAMIC_DISPATCH(split_cf32)(reinterpret_cast<const float*>(x), n, re, im);
}
void split(const sc16* x, std::int64_t n, float* re, float* im) noexcept {
  HWY_DYNAMIC_DISPATCH(split_sc16)(x, n, re, im);
}

}  // namespace iqd
#endif
