// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/watch/sample_watch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace iqd {
namespace {

std::int64_t transform_of(const PortFormat& format) {
  const auto most = static_cast<std::uint64_t>(std::max<std::int64_t>(format.most(), 1));
  return std::min(SampleWatch::kMost, static_cast<std::int64_t>(std::bit_floor(most)));
}

}  // namespace

SampleWatch::SampleWatch(const PortFormat& format, std::vector<std::size_t> picked, double per_second)
    : WatchOutlet(format, WatchKind::samples, WatchGrid(format, std::move(picked)),
                  transform_of(format) * static_cast<std::int64_t>(size_of(format.element)), per_second, false),
      size_(transform_of(format)),
      rows_(grid().traces()) {}

bool SampleWatch::copy(const Message& message, WatchCopy& into) noexcept {
  const std::int64_t taken = std::min(message.extent, size_);
  if (taken < size_ - size_ / 64) return false;
  const auto item = static_cast<std::int64_t>(size_of(format_.element));
  const std::int64_t row = message.extent * item;
  const auto bytes = static_cast<std::int64_t>(message.payload.size());
  const std::int64_t pitch = rows_ > 1 ? (bytes - row) / (rows_ - 1) : row;
  for (std::int64_t t = 0; t < traces(); ++t) {
    if (!(into.traces >> t & 1)) continue;
    std::byte* const to = trace_at(into, t);
    std::memcpy(to, message.payload.data() + t * pitch + row - taken * item, static_cast<std::size_t>(taken * item));
    std::memset(to + taken * item, 0, static_cast<std::size_t>((size_ - taken) * item));
  }
  into.count = size_;
  if (format_.item_rate_hz > 0)
    into.time_ns += std::llround(static_cast<double>(message.extent - taken) * 1e9 / format_.item_rate_hz);
  return true;
}

}  // namespace iqd
