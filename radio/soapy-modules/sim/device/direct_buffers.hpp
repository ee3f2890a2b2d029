// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace iqd::sim {

/// The device's buffers for reads in place. Each has memory for all channels of the stream; the program holds a buffer
/// until it releases it. One thread.
class DirectBuffers {
 public:
  void resize(std::size_t count) { buffers_.resize(count); }
  std::size_t size() const noexcept { return buffers_.size(); }
  /// Replaces the memory of all buffers; none is held.
  void allocate(std::size_t channels, std::size_t bytes_a_channel) {
    for (Buffer& b : buffers_) b = {{channels, std::vector<std::byte>(bytes_a_channel)}};
  }
  /// One address for each channel. Throws std::out_of_range.
  std::vector<void*> addresses(std::size_t handle) {
    std::vector<void*> all;
    for (auto& channel : buffers_.at(handle).channels) all.push_back(channel.data());
    return all;
  }
  /// The first buffer that is not held.
  std::optional<std::size_t> free() const noexcept {
    const auto found = std::ranges::find(buffers_, false, &Buffer::held);
    return found == buffers_.end() ? std::nullopt : std::optional<std::size_t>(found - buffers_.begin());
  }
  void hold(std::size_t handle) { buffers_.at(handle).held = true; }
  void release(std::size_t handle) { buffers_.at(handle).held = false; }

 private:
  struct Buffer {
    std::vector<std::vector<std::byte>> channels;
    bool held = false;
  };
  std::vector<Buffer> buffers_;
};

}  // namespace iqd::sim
