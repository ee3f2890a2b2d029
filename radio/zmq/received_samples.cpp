// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/zmq/received_samples.hpp"

#include <algorithm>
#include <cstring>

namespace iqd::radio::zmq {

void ReceivedSamples::begin_message() noexcept {
  times_.clear();
  taken_ = 0;
}

std::int64_t ReceivedSamples::add(std::string_view bytes) noexcept {
  rest_ = bytes;
  return static_cast<std::int64_t>(bytes.size() / sample_bytes_);
}

std::int64_t ReceivedSamples::left() const noexcept {
  const auto whole = static_cast<std::int64_t>(rest_.size() / sample_bytes_);
  const auto next = std::find_if(times_.begin(), times_.end(), [this](const TimeTag& t) { return t.sample > taken_; });
  return next == times_.end() ? whole : std::min(whole, next->sample - taken_);
}

void ReceivedSamples::take(std::byte* into, std::int64_t samples) noexcept {
  const std::size_t bytes = static_cast<std::size_t>(samples) * sample_bytes_;
  std::memcpy(into, rest_.data(), bytes);
  rest_.remove_prefix(bytes);
  std::erase_if(times_, [this](const TimeTag& t) { return t.sample <= taken_; });
  taken_ += samples;
}

const std::int64_t* ReceivedSamples::time_ns() const noexcept {
  return !times_.empty() && times_.front().sample == taken_ ? &times_.front().time_ns : nullptr;
}

}  // namespace iqd::radio::zmq
