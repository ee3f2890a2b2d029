// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/channels/white_noise.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

#include "base/random.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "signal/channels/white_noise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;

/// x += gain (u + v); u and v are readable for one vector beyond the end.
void add_windows(float* x, const float* u, const float* v, float gain, std::int64_t floats) {
  const D d;
  const auto step = static_cast<std::int64_t>(hn::Lanes(d));
  const auto add = [&](float* to, std::int64_t i) HWY_ATTR {
    const auto sum = hn::Add(hn::LoadU(d, u + i), hn::LoadU(d, v + i));
    hn::StoreU(hn::MulAdd(hn::Set(d, gain), sum, hn::LoadU(d, to)), d, to);
  };
  std::int64_t i = 0;
  for (; i + step <= floats; i += step) add(x + i, i);
  // As a vector too: in a loop of its own the compiler might round differently.
  float last[16] = {};
  std::copy(x + i, x + floats, last);
  add(last, i);
  std::copy_n(last, floats - i, x + i);
}

}  // namespace iqd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd {

HWY_EXPORT(add_windows);

namespace {

constexpr std::int64_t kPiece = 4096;
constexpr std::int64_t kTable = 1 << 20;
constexpr std::int64_t kBeyond = 8;  // samples per vector

}  // namespace

WhiteNoise::WhiteNoise(std::uint64_t seed) : seed_(mix(seed)), table_(kTable + kPiece + kBeyond) {
  // Two windows are summed, so each has half the variance, and half of that in each component.
  for (std::size_t i = 0; i < kTable; ++i) {
    const double radius = std::sqrt(-0.5 * std::log(uniform(mix(seed_ + 2 * i))));
    const double angle = 2 * std::numbers::pi * uniform(mix(seed_ + 2 * i + 1));
    table_[i] = {static_cast<float>(radius * std::cos(angle)), static_cast<float>(radius * std::sin(angle))};
  }
  std::copy_n(table_.begin(), kPiece, table_.begin() + kTable);
}

void WhiteNoise::add(std::uint64_t stream, std::int64_t first, float amplitude,
                     std::span<std::complex<float>> into) const noexcept {
  const std::uint64_t key = mix(seed_ ^ mix(stream));
  for (std::int64_t done = 0, most = std::ssize(into); done < most;) {
    const std::int64_t piece = (first + done) / kPiece;
    const std::int64_t offset = (first + done) % kPiece;
    const std::int64_t samples = std::min(kPiece - offset, most - done);
    const std::uint64_t random = mix(key + static_cast<std::uint64_t>(piece));
    const auto a = static_cast<std::int64_t>(random % kTable);
    // Never near the first window: the sum of a window with itself would be twice as strong.
    const auto away = kPiece + static_cast<std::int64_t>((random >> 32) % (kTable - 2 * kPiece));
    const std::int64_t b = (a + away) % kTable;
    HWY_DYNAMIC_DISPATCH(add_windows)
    (reinterpret_cast<float*>(into.data() + done), reinterpret_cast<const float*>(table_.data() + a + offset),
     reinterpret_cast<const float*>(table_.data() + b + offset), amplitude, 2 * samples);
    done += samples;
  }
}

std::shared_ptr<const WhiteNoise> WhiteNoise::shared(std::uint64_t seed) {
  static std::mutex mutex;
  static std::map<std::uint64_t, std::weak_ptr<const WhiteNoise>> tables;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const WhiteNoise> table = tables[seed].lock();
  if (!table) tables[seed] = table = std::make_shared<const WhiteNoise>(seed);
  return table;
}

}  // namespace iqd
#endif
