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

/// The last transmitted samples, by position on the device's sample clock. One thread writes while another reads.
class Air {
 public:
  /// `depth`: samples kept per opened channel.
  Air(int channels, std::int64_t depth);
  /// Allocates the memory of a channel before it is written.
  void open(int channel);
  /// Positions that are skipped become zeros. `first` must not be before the end of the previous write.
  void write(int channel, std::int64_t first, std::span<const cf32> samples);
  /// Returns zeros where nothing was sent, and where the samples are no longer kept.
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
