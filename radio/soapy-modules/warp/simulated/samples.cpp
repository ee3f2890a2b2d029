// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// How a node delivers captures and accepts bursts.
#include <algorithm>
#include <bit>

#include "base/clock.hpp"
#include "radio/soapy-modules/warp/simulated/node.hpp"

namespace iqd::warp_node {
namespace {

constexpr std::uint32_t kNotReady = 2, kError = 1, kFirst = 0x10;

}  // namespace

Node::Datagram Node::samples(const Fields& request, std::uint32_t flags, int capture, std::uint32_t first,
                             std::uint32_t n, const Chain* chain) const {
  const std::uint32_t words = chain ? n : 0;
  Writer w;
  w.bytes.reserve(kArguments + 12 + 4 * words);
  w.u16(0).u16(request.u16(4)).u16(static_cast<std::uint32_t>(options_.id)).u8(0).u8(2);
  w.u16(static_cast<std::uint32_t>(kArguments) + 12 + 4 * words).u16(request.u16(10));
  w.u16(flags & kNotReady ? 0x8000 : 0).u32(request.u32(14)).u16(12 + 4 * words).u16(1);
  w.u16(request.u32(kArguments)).u8(flags).u8(static_cast<std::uint32_t>(capture)).u32(first).u32(n);
  for (std::uint32_t i = 0; i < words; ++i) w.u32(chain->rx[first + i]);
  return w.bytes;
}

/// Reports how far the capture has got, and how long it is.
Node::Datagram Node::not_ready(const Fields& request, const Chain& chain, std::int64_t now) const {
  const double since = chain.captured ? static_cast<double>(now - chain.triggered_ns) / 1e9 : 0;
  const auto pointer = static_cast<std::uint32_t>(std::min<double>(since * options_.rate_hz, board_.rx_length()));
  return samples(request, kNotReady, chain.capture, pointer, board_.rx_length(), nullptr);
}

std::vector<Node::Datagram> Node::read(const Fields& request) {
  const std::lock_guard lock(mutex_);
  ++seen_.requests;
  const std::uint32_t buffer = request.u32(kArguments), first = request.u32(kArguments + 4);
  const std::uint32_t count = request.u32(kArguments + 8), most_bytes = request.u32(kArguments + 12);
  const std::uint32_t packets = request.u32(kArguments + 16);
  const int number = std::countr_zero(buffer);
  if (!std::has_single_bit(buffer) || number >= options_.chains || count == 0 ||
      first + std::uint64_t{count} > board_.rx_length())
    return {samples(request, kError, 0, first, 0, nullptr)};
  const Chain& chain = board_.chain(number);
  const std::int64_t now = steady_ns();
  const double lasts = board_.rx_length() / options_.rate_hz + faults_.late_s();
  if (!chain.captured || static_cast<double>(now - chain.triggered_ns) / 1e9 < lasts)
    return {not_ready(request, chain, now)};
  const std::uint32_t each = (options_.small_packets ? most_bytes - 34 : most_bytes) / 4;
  std::vector<Datagram> out;
  for (std::uint32_t done = 0; done < count && out.size() < packets; done += each)
    out.push_back(samples(request, 0, chain.capture, first + done, std::min(each, count - done), &chain));
  return out;
}

std::vector<Node::Datagram> Node::written(std::span<const std::uint8_t> bytes) {
  if (faults_.loses_written()) return {};
  const std::lock_guard lock(mutex_);
  const Fields p(bytes);
  const std::uint32_t buffer = p.u16(kArguments), flags = p.u8(kArguments + 2), id = p.u8(kArguments + 3);
  const std::uint32_t first = p.u32(kArguments + 4), n = p.u32(kArguments + 8);
  const int number = std::countr_zero(buffer);
  const bool sound = std::has_single_bit(buffer) && number < options_.chains && p.u16(20) == 1 && n > 0 &&
                     p.u16(18) == 12 + 4 * n && first + std::uint64_t{n} <= options_.most;
  if (!sound) ++seen_.broken;
  if (flags & kFirst) write_.begin(id);
  if (sound) {
    auto& tx = board_.chain(number).tx;
    if (options_.write_clears && (flags & kFirst)) std::fill(tx.begin(), tx.end(), 0);
    for (std::uint32_t i = 0; i < n; ++i) tx[first + i] = p.u32(kArguments + 12 + 4 * i);
    if (!options_.start_once || (flags & kFirst)) write_.add(first);
    write_.add(p.u32(kArguments + 12 + 4 * (n - 1)));
  }
  if (!(p.u16(12) & 1)) return {};
  return {reply(p, 0, {sound ? 0u : kError, write_.id(), write_.value()})};
}

}  // namespace iqd::warp_node
