// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/engine/ring_layout.hpp"

#include <algorithm>
#include <numeric>

#include "base/host_limits.hpp"
#include "base/integer.hpp"
#include "base/mirror_ring.hpp"

namespace iqd {
namespace {

/// The largest ring: sums and products of smaller sizes fit into an integer.
constexpr std::size_t kMostRowBytes = std::size_t{1} << 48;

/// Bytes of a row: whole pages and, if that costs little, whole blocks, so that windows get the same addresses again.
std::size_t row_bytes_for(std::size_t wanted, std::size_t block_bytes) {
  const std::size_t page = MirrorRing::page_bytes();
  const std::size_t period = std::lcm(page, block_bytes);
  const std::size_t repeating = (wanted + period - 1) / period * period;
  return repeating <= 2 * wanted + 16 * page ? repeating : (wanted + page - 1) / page * page;
}

/// Windows begin at every multiple of `step` from the stream's first sample on, minus their past. The one that begins
/// last in the ring reaches furthest over its end.
std::int64_t over_the_end(std::int64_t row_samples, std::int64_t block, const Reach& window) {
  const std::int64_t step = std::gcd(block, row_samples);
  const std::int64_t rest = window.past % step;
  const std::int64_t nearest = rest > 0 ? rest : step;  // smallest distance from a window's begin to the end
  return std::clamp<std::int64_t>(window.past + block + window.future - nearest, 0, row_samples);
}

}  // namespace

std::size_t RingLayout::bytes() const noexcept {
  return bounded_product(rows, row_bytes);
}

RingLayout ring_layout(const Plan& plan, std::int64_t samples) {
  const PlanPort& source = plan.ports.front();
  const std::size_t size = size_of(source.shape.element);
  RingLayout ring;
  ring.rows = static_cast<std::size_t>(source.shape.row_count());
  const std::size_t wanted = bounded_bytes(samples, size);
  const std::size_t block_bytes = bounded_bytes(plan.block, size);
  if (wanted > kMostRowBytes || block_bytes > kMostRowBytes) {
    ring.row_bytes = HostLimits::kNone;
    return ring;
  }
  ring.row_bytes = row_bytes_for(wanted, block_bytes);
  const std::size_t page = MirrorRing::page_bytes();
  const auto over = static_cast<std::size_t>(
      over_the_end(static_cast<std::int64_t>(ring.row_bytes / size), plan.block, plan.window()));
  ring.seen_twice = ring.rows * ((over * size + page - 1) / page * page);
  return ring;
}

}  // namespace iqd
