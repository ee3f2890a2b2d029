// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/meters/level_meter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/log.hpp"

namespace iqd {
namespace {

constexpr double kWholeScale = 32768;

double full_scale_of(const StreamInfo& info) {
  if (info.full_scale > 0 || info.element != Element::sc16) return info.full_scale;
  return kWholeScale;
}

bool is_complex(Element element) {
  return element == Element::sc16 || element == Element::cf32;
}

}  // namespace

LevelMeter::LevelMeter(std::string name, const StreamInfo& info, std::vector<ChannelLevel>& shown)
    : name_(std::move(name)),
      element_(info.element),
      full_scale_(full_scale_of(info)),
      is_radio_(info.reconnects),
      second_(info.rate_hz > 1 ? std::llround(info.rate_hz) : 1'000'000),
      channels_(is_complex(info.element) ? static_cast<std::size_t>(info.channels) : 0),
      shown_(shown) {
  shown = std::vector<ChannelLevel>(channels_.size());
}

void LevelMeter::look(std::span<std::byte* const> from, std::int64_t samples) {
  const auto n = static_cast<std::size_t>(samples);
  for (std::size_t c = 0; c < channels_.size(); ++c) {
    SampleLevel& second = channels_[c].second;
    const std::int64_t before = second.clipped;
    if (element_ == Element::sc16)
      add_level(std::span(reinterpret_cast<const sc16*>(from[c]), n), static_cast<int>(full_scale_), second);
    else
      add_level(std::span(reinterpret_cast<const cf32*>(from[c]), n),
                full_scale_ > 0 ? static_cast<float>(full_scale_) : std::numeric_limits<float>::infinity(), second);
    if (second.clipped > before) shown_[c].clipped.add(static_cast<std::uint64_t>(second.clipped - before));
    if (second.samples >= second_) show(c);
  }
}

void LevelMeter::finish() {
  for (std::size_t c = 0; c < channels_.size(); ++c)
    if (channels_[c].second.samples > 0) show(c);
}

void LevelMeter::show(std::size_t c) {
  const SampleLevel second = std::exchange(channels_[c].second, {});
  const auto samples = static_cast<double>(second.samples);
  const double full = full_scale_ > 0 ? full_scale_ : 1;
  shown_[c].rms_dbfs.set(10 * std::log10(second.square_sum / samples / (full * full)));
  shown_[c].peak_dbfs.set(20 * std::log10(second.peak / full));
  judge(c, static_cast<double>(second.clipped) / samples);
}

void LevelMeter::judge(std::size_t c, double share) {
  Channel& channel = channels_[c];
  ChannelLevel& shown = shown_[c];
  const bool was = shown.overloaded.load(std::memory_order_relaxed);
  channel.quiet_seconds = share > kOverloadShare ? 0 : std::min(channel.quiet_seconds + 1, kQuietSeconds);
  const bool is = channel.quiet_seconds == 0 || (was && channel.quiet_seconds < kQuietSeconds);
  if (is == was) return;
  shown.overloaded = is;
  if (!is) return log::info("{}: channel {} is no longer overloaded", name_, c);
  shown.overloads.add();
  log::warn("{}: channel {} is overloaded: {:.3g} % of its samples are clipped{}", name_, c, 100 * share,
            is_radio_ ? "; lower the gain or attenuate the input" : "");
}

}  // namespace iqd
