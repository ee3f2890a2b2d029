// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/stages/sync/squelch/squelch.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::squelch {
namespace {

struct Room {
  const Gate& gate;
  Scratch scratch;
  double* sums = scratch.take<double>(gate.window);
  std::uint8_t* open = scratch.take<std::uint8_t>(gate.ramp);  // ring of the last `ramp` samples
};

/// The gate, from sample to sample.
class Doorman {
 public:
  Doorman(const Gate& gate, std::uint8_t* open, std::int64_t first)
      : gate_(gate), last_loud_(first - gate.hold - 1), open_(open) {
    std::fill_n(open_, gate.ramp, std::uint8_t{0});
  }
  /// True if it opens at n.
  bool step(std::int64_t n, bool loud) noexcept {
    if (loud) last_loud_ = n;
    const bool open = n - last_loud_ <= gate_.hold, opens = open && !was_open_;
    std::uint8_t& oldest = open_[at_];
    if (++at_ == gate_.ramp) at_ = 0;
    count_ += (open ? 1 : 0) - oldest;
    oldest = open ? 1 : 0;
    was_open_ = open;
    return opens;
  }
  float share() const noexcept { return gate_.share(count_); }

 private:
  const Gate& gate_;
  std::int64_t last_loud_;
  std::uint8_t* open_;
  std::int64_t at_ = 0;  // index of the oldest in open_
  std::int64_t count_ = 0;
  bool was_open_ = false;
};

}  // namespace

std::size_t scratch_bytes(const Gate& gate) noexcept {
  return Room{gate, Scratch(nullptr)}.scratch.bytes();
}

std::int64_t run_cpu(const Gate& gate, View<const cf32, 2> x, std::int64_t first, const Output& out,
                     std::byte* scratch) noexcept {
  const Positions there{first, first + x.extent(1)};
  const Room room{gate, Scratch(scratch)};
  const std::int64_t begin = std::max(first, out.first - gate.hold - gate.ramp), end = out.first + out.y.extent(1);
  std::int64_t openings = 0;
  for (std::int64_t r = 0; r < out.y.extent(0); ++r) {
    const cf32* const row = x.row(r).data();
    Doorman doorman(gate, room.open, begin);
    const auto power = [&](std::int64_t n) {
      return there.has(n) ? dsp::power_of(row[n - first].real(), row[n - first].imag()) : 0.0;
    };
    const std::int64_t shift = gate.window - 1;
    dsp::moving_sums(gate.window, begin - shift, end - shift, room.sums, power, [&](std::int64_t from, double energy) {
      const std::int64_t n = from + shift;
      const bool opens = doorman.step(n, gate.loud(n, there, energy));
      if (n < out.first) return;
      if (opens && n >= out.first_new && n < out.end_new) ++openings;
      const float g = doorman.share();
      const cf32 sample = row[n - first];
      out.y(r, n - out.first) = {gated(sample.real(), g), gated(sample.imag(), g)};
      if (out.g.data()) out.g(r, n - out.first) = g;
    });
  }
  return openings;
}

}  // namespace iqd::squelch
