// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/noise.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numbers>

namespace iqd::sim {
namespace {

constexpr std::int64_t kPiece = 4096;
constexpr std::int64_t kTable = 1 << 20;

void add_windows(cf32* into, const cf32* a, const cf32* b, float gain, std::int64_t samples) noexcept {
  auto* __restrict x = reinterpret_cast<float*>(into);
  const auto* __restrict u = reinterpret_cast<const float*>(a);
  const auto* __restrict v = reinterpret_cast<const float*>(b);
  for (std::int64_t i = 0; i < 2 * samples; ++i) x[i] += gain * (u[i] + v[i]);
}

}  // namespace

Noise::Noise(std::uint64_t seed) : seed_(mix(seed)), table_(kTable + kPiece) {
  // Two windows are summed, so each has half the variance, and half of that in each component.
  for (std::size_t i = 0; i < kTable; ++i) {
    const double radius = std::sqrt(-0.5 * std::log(uniform(mix(seed_ + 2 * i))));
    const double angle = 2 * std::numbers::pi * uniform(mix(seed_ + 2 * i + 1));
    table_[i] = {static_cast<float>(radius * std::cos(angle)), static_cast<float>(radius * std::sin(angle))};
  }
  std::copy_n(table_.begin(), kPiece, table_.begin() + kTable);
}

void Noise::add(std::uint64_t stream, std::int64_t first, float amplitude, std::span<cf32> into) const noexcept {
  const std::uint64_t key = mix(seed_ ^ mix(stream));
  for (std::int64_t done = 0, most = static_cast<std::int64_t>(into.size()); done < most;) {
    const std::int64_t piece = (first + done) / kPiece;
    const std::int64_t offset = (first + done) % kPiece;
    const std::int64_t samples = std::min(kPiece - offset, most - done);
    const std::uint64_t random = mix(key + static_cast<std::uint64_t>(piece));
    const auto a = static_cast<std::int64_t>(random % kTable);
    // Never near the first window: the sum of a window with itself would be twice as strong.
    const auto away = kPiece + static_cast<std::int64_t>((random >> 32) % (kTable - 2 * kPiece));
    const std::int64_t b = (a + away) % kTable;
    add_windows(into.data() + done, table_.data() + a + offset, table_.data() + b + offset, amplitude, samples);
    done += samples;
  }
}

std::shared_ptr<const Noise> Noise::shared(std::uint64_t seed) {
  static std::mutex mutex;
  static std::map<std::uint64_t, std::weak_ptr<const Noise>> tables;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Noise> table = tables[seed].lock();
  if (!table) tables[seed] = table = std::make_shared<const Noise>(seed);
  return table;
}

}  // namespace iqd::sim
