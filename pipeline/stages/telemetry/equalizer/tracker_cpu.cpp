// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/tracker_cpu.hpp"

#include <algorithm>

namespace iqd::equalizer {
namespace {

static_assert(kLearned % kStep == 0);
constexpr std::int64_t kStepsLearned = kLearned / kStep;

std::int64_t pieces(std::int64_t bits, std::int64_t each) {
  return (bits + each - 1) / each;
}

}  // namespace

Tracker::Tracker(const Setup& setup, Scratch& scratch)
    : s_(setup),
      samples_(scratch.take<cf32>(setup.segment.size)),
      spectrum_(scratch.take<cf32>(setup.segment.size)),
      channel_(scratch.take<cf32>(setup.segment.size)),
      response_(scratch.take<cf32>(setup.segment.size)),
      buffers_{scratch.take<cf32>(setup.segment.size), scratch.take<cf32>(setup.segment.size)},
      taps_(scratch.take<cf32>(kChannelTaps)),
      draft_(scratch.take<cf32>(setup.format.bits())),
      turned_(scratch.take<cf32>(setup.format.window())),
      steps_(scratch.take_span<LagSums>(pieces(setup.format.bits(), kStep))),
      spans_(scratch.take_span<LagSums>(pieces(setup.format.bits(), kSpan))),
      decisions_(setup, scratch),
      fit_(setup, scratch) {}

bool Tracker::run(const WindowFilter& filter, const ScaledPacket& packet, cf32* symbols) noexcept {
  const std::int64_t bits = s_.format.bits();
  filter_ = &filter;
  follow(packet);
  if (!decisions_.good()) return false;
  fit_.modulate(decisions_.bits(), 0, bits);
  fit_.take(turned_ + PacketFormat::kGuard, kEndBits, bits - kEndBits);
  decisions_.turn_guards(turned_);
  sum_spans();
  for (std::int64_t begin = 0; begin < bits; begin += kSpan) {
    const std::int64_t end = std::min(begin + kSpan, bits);
    std::copy_n(packet.channel(), kChannelTaps, taps_);
    const auto first = static_cast<std::size_t>(std::max<std::int64_t>(begin / kSpan - 1, 0));
    const std::size_t last = std::min(static_cast<std::size_t>(begin / kSpan + 2), spans_.size());
    fit_.fit(spans_.subspan(first, last - first), std::max(begin - kSpan, kEndBits),
             std::min(begin + 2 * kSpan, bits - kEndBits), 0, taps_);
    transform(turned_, begin, end);
    cf32* to = symbols + begin;
    for (const Setup::Output& output : s_.outputs) {
      equalize(output, packet.noise(), end - begin, to);
      to += bits;
    }
  }
  return true;
}

/// The pilot's segments, the last of them perhaps with payload, go through the packet's channel.
void Tracker::follow(const ScaledPacket& packet) noexcept {
  const std::int64_t bits = s_.format.bits();
  const auto pilot = std::ssize(s_.pilot);
  std::copy_n(packet.samples(), s_.format.window(), turned_);
  std::copy_n(packet.channel(), kChannelTaps, taps_);
  std::int64_t decided = 0;
  for (std::int64_t begin = 0; begin < bits; begin += kStep) {
    const std::int64_t end = std::min(begin + kStep, bits);
    transform(packet.samples(), begin, end);
    equalize({Kind::fde1, true}, packet.noise(), end - begin, draft_ + begin);
    if (end < pilot) continue;
    if (decided == 0) decisions_.begin(draft_);
    decisions_.follow(draft_, decided, end - decided);
    decisions_.turn(turned_, decided, end - decided);
    if (end < bits) learn(decided, end);
    decided = end;
  }
}

/// The next channel, when bits begin … end - 1, whole segments, have been decided. The last bits wait: their signal
/// depends on more bits.
void Tracker::learn(std::int64_t begin, std::int64_t end) noexcept {
  constexpr std::int64_t kFuture = soqpsk::Modulator::kFuture;
  fit_.modulate(decisions_.bits(), std::max<std::int64_t>(begin - kFuture, 0), end - kFuture);
  fit_.take(turned_ + PacketFormat::kGuard, begin, end);
  for (std::int64_t at = begin; at < end; at += kStep)
    fit_.sum(std::max(at - kEndBits, kEndBits), at + kStep - kEndBits, steps_[static_cast<std::size_t>(at / kStep)]);
  if (end <= std::ssize(s_.pilot)) return;
  const std::int64_t last = end - kEndBits;
  const std::int64_t parts = std::min(end / kStep, kStepsLearned);
  fit_.fit(steps_.subspan(static_cast<std::size_t>(end / kStep - parts), static_cast<std::size_t>(parts)),
           std::max(last - kLearned, kEndBits), last, kInertia, taps_);
}

void Tracker::sum_spans() noexcept {
  std::int64_t begin = 0;
  for (LagSums& sums : spans_) {
    fit_.sum(std::max(begin, kEndBits), std::min(begin + kSpan, s_.format.bits() - kEndBits), sums);
    begin += kSpan;
  }
}

void Tracker::transform(const cf32* window, std::int64_t begin, std::int64_t end) noexcept {
  const std::int64_t s = s_.format.samples_per_bit;
  const std::int64_t count = (end - begin) * s + 2 * PacketFormat::kGuard;
  std::copy_n(window + begin * s, count, samples_);
  std::fill_n(samples_ + count, filter_->size() - count, cf32());
  filter_->transform(samples_, spectrum_);
  filter_->transform_taps({taps_, kChannelTaps}, kChannelFirst, buffers_, channel_);
}

void Tracker::equalize(Setup::Output output, float noise, std::int64_t bits, cf32* symbols) noexcept {
  filter_->invert(output.kind, channel_, noise, response_);
  filter_->run(spectrum_, response_, output.filtered, buffers_, symbols, bits);
}

}  // namespace iqd::equalizer
