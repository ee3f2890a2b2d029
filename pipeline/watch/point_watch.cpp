// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/watch/point_watch.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace iqd {
namespace {

float real_of(float x) noexcept {
  return x;
}
float real_of(f16 x) noexcept {
  return to_float(x);
}
float real_of(std::int8_t x) noexcept {
  return static_cast<float>(x);
}

/// Every element of the trace, or `taken` of them at equal distances.
template <class To, class From, class As>
void gather(To* to, const From* from, const WatchGrid::Layout& layout, std::int64_t taken, As as) noexcept {
  const std::int64_t count = layout.count();
  for (std::int64_t i = 0; i < taken; ++i) to[i] = as(from[layout.at(i * count / taken)]);
}

std::int64_t most_of(WatchKind kind, const PortFormat& format, const WatchGrid& grid) {
  const std::int64_t most = kind == WatchKind::symbols ? PointWatch::kMostSymbols : PointWatch::kMostValues;
  return std::min(most, std::max<std::int64_t>(grid.layout(format.most()).count(), 1));
}

std::int64_t size_of_point(WatchKind kind) {
  return static_cast<std::int64_t>(kind == WatchKind::symbols ? sizeof(cf32) : sizeof(float));
}

}  // namespace

PointWatch::PointWatch(const PortFormat& format, const Watchable& how, double per_second)
    : WatchOutlet(format, how.kind, WatchGrid(format, how.picked),
                  most_of(how.kind, format, WatchGrid(format, how.picked)) * size_of_point(how.kind), per_second,
                  false),
      most_(most_of(how.kind, format_, grid())) {}

bool PointWatch::copy(const Message& message, WatchCopy& into) noexcept {
  const WatchGrid::Layout layout = grid().layout(message.extent);
  const std::int64_t taken = std::min(layout.count(), most_);
  if (taken == 0) return false;
  for (std::int64_t t = 0; t < traces(); ++t) {
    if (!(into.traces >> t & 1)) continue;
    std::byte* const to = trace_at(into, t);
    const std::byte* const data =
        message.payload.data() + layout.begin(t) * static_cast<std::int64_t>(size_of(format_.element));
    const auto values = [&](const auto* from) {
      gather(reinterpret_cast<float*>(to), from, layout, taken, [](auto x) { return real_of(x); });
    };
    switch (format_.element) {
      case Element::cf32:
        gather(reinterpret_cast<cf32*>(to), reinterpret_cast<const cf32*>(data), layout, taken, std::identity());
        break;
      case Element::f16: values(reinterpret_cast<const f16*>(data)); break;
      case Element::i8: values(reinterpret_cast<const std::int8_t*>(data)); break;
      default: values(reinterpret_cast<const float*>(data)); break;
    }
  }
  into.count = taken;
  return true;
}

}  // namespace iqd
