// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/sample_messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace iqd::radio::zmq {
namespace {

double item_rate(const Header& h) {
  return h.item_rate_hz > 0 ? h.item_rate_hz : h.sample_rate_hz;
}
/// Source samples per sample of the message.
double step(const Header& h) {
  return h.item_rate_hz > 0 && h.sample_rate_hz > 0 ? h.sample_rate_hz / h.item_rate_hz : 1;
}

/// Whether arithmetic with these numbers cannot overflow: any program may send a message.
bool in_range(const Header& h) {
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  constexpr double kSteepest = 1e6;
  const std::int64_t sample = h.sample.value_or(0);
  const std::int64_t time_ns = h.time_ns.value_or(0);
  const double s = step(h);
  return sample >= 0 && sample < kMost && time_ns > -kMost * 2 && time_ns < kMost * 2 && h.gap >= 0 &&
         s > 1 / kSteepest && s < kSteepest;
}

}  // namespace

StreamInfo SampleMessages::info() const {
  StreamInfo info = settings_.info();
  info.frequency_hz = frequency_hz_;
  return info;
}

SampleMessages::Taken SampleMessages::take(std::string_view head, std::string_view payload) {
  forget();
  return accept(head, payload) ? follow(header_) : Taken::nothing;
}

Received SampleMessages::deliver(std::span<std::byte* const> into, std::int64_t most) {
  Received got;
  got.event = Received::Event::samples;
  got.samples = std::min(most, layout_.samples - done_);
  got.lost = std::exchange(lost_, 0);
  if (header_.time_ns) {
    got.has_time = true;
    got.time_ns = *header_.time_ns + std::llround(static_cast<double>(done_) / settings_.rate_hz * 1e9);
  }
  if (tuned_ >= done_ && tuned_ < done_ + got.samples) {
    got.tuned = tuned_ - done_;
    if (!settings_.frequency_hz && header_.frequency_hz != 0) frequency_hz_ = header_.frequency_hz;
  }
  const std::size_t size = size_of(layout_.element);
  for (std::size_t c = 0; c < into.size(); ++c) {
    const std::size_t from = c * static_cast<std::size_t>(layout_.samples) + static_cast<std::size_t>(done_);
    std::memcpy(into[c], payload_.data() + from * size, static_cast<std::size_t>(got.samples) * size);
  }
  done_ += got.samples;
  return got;
}

/// Checks the fetched message; takes it or reports why not.
bool SampleMessages::accept(std::string_view head, std::string_view payload) {
  const auto header = parse_header(head);
  if (!header) return ignore("its header is not `topic {json}`");
  if (!settings_.topic.empty() && header->topic != settings_.topic) return ignore("it has another topic");
  const auto layout = layout_of(*header, payload.size());
  if (!layout && !is_readable(header->dtype))
    return ignore(fmt::format("its dtype is '{}'{}; only cf32 (<c8), sc16 (<i2) and f32 (<f4) can be read",
                              header->dtype, header->dtype == "<c16" ? ", complex128" : ""));
  if (!layout) return ignore("it is not [n] or [channel][n] of cf32, sc16 or f32, or its size does not match");
  if (layout->element != settings_.type())
    return ignore(fmt::format("it holds {}, not {}", name_of(layout->element), name_of(settings_.type())));
  if (layout->channels != settings_.channels)
    return ignore(fmt::format("it has {} channel(s), not {}", layout->channels, settings_.channels));
  const double rate = item_rate(*header);
  if (rate <= 0 && settings_.rate_hz <= 0) return ignore("its header has no rate, and the file gives none");
  if (rate > 0 && settings_.rate_hz > 0 && std::fabs(rate - settings_.rate_hz) > 1e-6 * settings_.rate_hz)
    return ignore(fmt::format("it has {} samples a second, not {}", rate, settings_.rate_hz));
  if (!in_range(*header)) return ignore("its numbers are out of range");
  if (layout->samples == 0) return false;
  if (settings_.rate_hz <= 0) settings_.rate_hz = rate;
  header_ = *header;
  layout_ = *layout;
  payload_ = payload;
  return true;
}

bool SampleMessages::ignore(std::string_view why) {
  ++refused_;
  refusal_ = why;
  std::uint64_t suppressed = 0;
  if (limit_.allow(suppressed)) log::error("{}: ignored a message: {} ({} so far)", name_, why, refused_);
  return false;
}

/// Determines how many samples are missing since the previous message.
SampleMessages::Taken SampleMessages::follow(const Header& h) {
  const double per_item = step(h);
  const bool first = !std::exchange(begun_, true);
  double missing = first ? 0 : static_cast<double>(h.gap);
  if (h.sample) {
    if (!first) missing = static_cast<double>(*h.sample) - static_cast<double>(expected_);
    expected_ = *h.sample + std::llround(static_cast<double>(layout_.samples) * per_item);
  }
  const double items = missing / per_item;
  if (items <= -1 || items > kMostMissingS * settings_.rate_hz) return Taken::restarted;
  lost_ = items < 1 ? 0 : std::llround(items);
  look_at_tuning(h);
  return Taken::message;
}

/// A header has the frequency of its last sample. If it has none, or the configuration gives one, it is ignored.
void SampleMessages::look_at_tuning(const Header& h) {
  tuned_ = -1;
  const bool other = !settings_.frequency_hz && h.frequency_hz != 0 && h.frequency_hz != frequency_hz_;
  if (!other && !h.tuned) return;
  const double items =
      h.tuned && h.sample ? (static_cast<double>(*h.tuned) - static_cast<double>(*h.sample)) / step(h) : 0;
  tuned_ = static_cast<std::int64_t>(std::clamp(std::ceil(items), 0.0, static_cast<double>(layout_.samples - 1)));
}

}  // namespace iqd::radio::zmq
