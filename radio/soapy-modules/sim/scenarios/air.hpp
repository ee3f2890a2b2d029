// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace iqd::sim {

using cf32 = std::complex<float>;

/// What was transmitted, by position on the device's sample clock, as far back as the rings are deep. One thread
/// writes while another reads.
class Air {
 public:
  /// `depth` samples of each channel that is opened.
  Air(int channels, std::int64_t depth);
  /// Takes the memory of a channel that is going to be written.
  void open(int channel);
  /// Positions that were passed over are zeros; `first` is not before the end of what was written earlier.
  void write(int channel, std::int64_t first, std::span<const cf32> samples);
  /// Zeros where nothing was sent, and where it is too long ago.
  void read(int channel, std::int64_t first, std::span<cf32> out);

 private:
  struct Channel {
    std::vector<cf32> ring;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  template <class F> void pieces(std::int64_t first, std::int64_t count, F f) const;

  std::mutex mutex_;
  std::int64_t depth_;
  std::vector<Channel> channels_;
};

}  // namespace iqd::sim
