// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/watch/bin_watch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace iqd {
namespace {

float value_of(float x) noexcept {
  return x;
}
float value_of(f16 x) noexcept {
  return to_float(x);
}
float value_of(cf32 x) noexcept {
  return std::norm(x);
}

template <class T> void raise(float* most, const T* frame, std::int64_t bins, bool is_first) noexcept {
  for (std::int64_t k = 0; k < bins; ++k) {
    const float x = value_of(frame[k]);
    if (is_first || !(x <= most[k])) most[k] = is_first || x > most[k] || std::isnan(most[k]) ? x : most[k];
  }
}

}  // namespace

BinWatch::BinWatch(const PortFormat& format, std::vector<std::size_t> picked, double per_second)
    : WatchOutlet(format, WatchKind::bins, WatchGrid(format, std::move(picked)),
                  format.dims.back().extent * static_cast<std::int64_t>(sizeof(float)), per_second, true),
      bins_(format_.dims.back().extent) {}

bool BinWatch::copy(const Message& message, WatchCopy& into) noexcept {
  const WatchGrid::Layout layout = grid().layout(message.extent);
  const std::int64_t frames = layout.count() / bins_;
  if (frames == 0) return false;
  const std::int64_t taken = std::clamp<std::int64_t>(kMostBins / (std::popcount(into.traces) * bins_), 1, kMostFrames);
  for (std::int64_t t = 0; t < traces(); ++t) {
    if (!(into.traces >> t & 1)) continue;
    auto* const most = reinterpret_cast<float*>(trace_at(into, t));
    bool is_first = into.messages == 0;
    for (std::int64_t f = std::max<std::int64_t>(0, frames - taken); f < frames; ++f) {
      const std::int64_t at = layout.begin(t) + layout.at(f * bins_);
      const std::byte* const data = message.payload.data() + at * static_cast<std::int64_t>(size_of(format_.element));
      switch (format_.element) {
        case Element::f16: raise(most, reinterpret_cast<const f16*>(data), bins_, is_first); break;
        case Element::cf32: raise(most, reinterpret_cast<const cf32*>(data), bins_, is_first); break;
        default: raise(most, reinterpret_cast<const float*>(data), bins_, is_first); break;
      }
      is_first = false;
    }
  }
  into.count = bins_;
  return true;
}

}  // namespace iqd
