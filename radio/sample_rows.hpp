// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/driver.hpp"

namespace iqd::radio {

/// The next sample of each channel in a message `[n]` or `[channel][n]`, as the pointers that drivers' libraries need.
/// One thread at a time.
class SampleRows {
 public:
  SampleRows(std::size_t channels, Element element) : next_(channels), sample_bytes_(size_of(element)) {}

  /// Points to the first samples of a message. Returns how many each channel has.
  std::int64_t start(const Message& message) noexcept {
    const std::size_t row = message.payload.size() / next_.size();
    for (std::size_t c = 0; c < next_.size(); ++c) next_[c] = message.payload.data() + c * row;
    return static_cast<std::int64_t>(row / sample_bytes_);
  }
  void advance(std::int64_t samples) noexcept {
    const std::size_t bytes = static_cast<std::size_t>(samples) * sample_bytes_;
    for (const void*& next : next_) next = static_cast<const std::byte*>(next) + bytes;
  }
  /// One for each channel.
  const std::vector<const void*>& pointers() const noexcept { return next_; }

 private:
  std::vector<const void*> next_;
  std::size_t sample_bytes_;
};

}  // namespace iqd::radio
