// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/air.hpp"

#include <algorithm>

namespace iqd::sim {

Air::Air(int channels, std::int64_t depth) : depth_(depth), channels_(static_cast<std::size_t>(channels)) {}

/// Calls f(index in the ring, offset, samples) for each of the one or two pieces that the positions occupy.
template <class F> void Air::pieces(std::int64_t first, std::int64_t count, F f) const {
  for (std::int64_t done = 0; done < count;) {
    const std::int64_t place = (first + done) % depth_;
    const std::int64_t samples = std::min(depth_ - place, count - done);
    f(place, done, samples);
    done += samples;
  }
}

void Air::open(int channel) {
  const std::lock_guard lock(mutex_);
  channels_[static_cast<std::size_t>(channel)].ring.resize(static_cast<std::size_t>(depth_));
}

void Air::write(int channel, std::int64_t first, std::span<const cf32> samples) {
  const std::lock_guard lock(mutex_);
  Channel& c = channels_[static_cast<std::size_t>(channel)];
  if (c.begin == c.end) c.begin = c.end = first;
  const std::int64_t silence = std::max(c.end, first - depth_);
  pieces(silence, first - silence,
         [&](std::int64_t place, std::int64_t, std::int64_t n) { std::fill_n(c.ring.begin() + place, n, cf32{}); });
  pieces(first, static_cast<std::int64_t>(samples.size()), [&](std::int64_t place, std::int64_t at, std::int64_t n) {
    std::copy_n(samples.begin() + at, n, c.ring.begin() + place);
  });
  c.end = first + static_cast<std::int64_t>(samples.size());
  c.begin = std::max(c.begin, c.end - depth_);
}

void Air::read(int channel, std::int64_t first, std::span<cf32> out) {
  std::fill(out.begin(), out.end(), cf32{});
  const std::lock_guard lock(mutex_);
  const Channel& c = channels_[static_cast<std::size_t>(channel)];
  const std::int64_t from = std::max(first, c.begin);
  const std::int64_t to = std::min(first + static_cast<std::int64_t>(out.size()), c.end);
  pieces(from, to - from, [&](std::int64_t place, std::int64_t at, std::int64_t n) {
    std::copy_n(c.ring.begin() + place, n, out.begin() + (from - first) + at);
  });
}

}  // namespace iqd::sim
