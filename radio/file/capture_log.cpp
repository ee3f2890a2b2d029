// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/capture_log.hpp"

#include <algorithm>
#include <cmath>

namespace iqd::radio {

CaptureLog::CaptureLog(const PortFormat& format)
    : item_rate_hz_(format.item_rate_hz), period_(format.rate_hz > 0 ? format.rate_hz / format.item_rate_hz : 1) {}

void CaptureLog::note_retune(const Message& message) noexcept {
  if (message.tuned < 0) return;
  tuned_ = message.tuned;
  was_at_hz_ = message.was_at_hz();
}

std::int64_t CaptureLog::items_before_retune(const Message& message) const noexcept {
  if (tuned_ <= message.sample) return 0;
  const double items = std::ceil(static_cast<double>(tuned_ - message.sample) / period_);
  return items < static_cast<double>(message.extent) ? static_cast<std::int64_t>(items) : message.extent;
}

std::optional<SigmfCapture> CaptureLog::before_retune(const Message& message, std::int64_t item) {
  if (!is_needed(message, item)) return std::nullopt;
  return begin(message, 0, item, was_at_hz_);
}

std::optional<SigmfCapture> CaptureLog::after_retune(const Message& message, std::int64_t first, std::int64_t item) {
  const bool needed = tuned_ >= 0 || is_needed(message, item);
  tuned_ = -1;
  if (!needed) return std::nullopt;
  return begin(message, first, item, message.frequency_hz());
}

bool CaptureLog::is_needed(const Message& message, std::int64_t item) const noexcept {
  if (!started_ || message.gap > 0) return true;
  if ((tuned_ < 0 ? message.frequency_hz() : was_at_hz_) != frequency_hz_) return true;
  const double expected = origin_ + static_cast<double>(item - origin_item_) * period_;
  // Rounding to whole source samples accounts for half an item, and for at least one sample.
  return std::fabs(static_cast<double>(message.sample) - expected) >= std::max(1.0, period_ / 2);
}

/// Starts at the message's item `first`.
SigmfCapture CaptureLog::begin(const Message& message, std::int64_t first, std::int64_t item, double frequency_hz) {
  SigmfCapture capture;
  capture.sample_start = item;
  origin_index_ = global_index(message, first, item);
  capture.global_index = origin_index_;
  frequency_hz_ = frequency_hz;
  if (frequency_hz_ != 0) capture.frequency_hz = frequency_hz_;
  if (is_date(message.time_ns))
    capture.time = IsoTime{message.time_ns + std::llround(static_cast<double>(first) * 1e9 / item_rate_hz_), 1};
  origin_ = static_cast<double>(message.sample) + static_cast<double>(first) * period_;
  origin_item_ = item;
  started_ = true;
  return capture;
}

/// After a restart the stream counts from zero again, but core:global_index must not.
std::int64_t CaptureLog::global_index(const Message& message, std::int64_t first, std::int64_t item) {
  const auto at_item = [this](std::int64_t sample) { return std::llround(static_cast<double>(sample) / period_); };
  const std::int64_t index = std::max<std::int64_t>(at_item(message.sample) + first + index_offset_, 0);
  const std::int64_t next = origin_index_ + item - origin_item_;
  if (!started_ || index >= next) return index;
  index_offset_ += next + at_item(message.gap) - index;
  return next + at_item(message.gap);
}

}  // namespace iqd::radio
