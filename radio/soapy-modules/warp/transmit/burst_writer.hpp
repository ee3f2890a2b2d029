// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "radio/soapy-modules/warp/node/chain.hpp"
#include "radio/soapy-modules/warp/transmit/burst.hpp"

namespace iqd::warp {

/// Writes a burst into the nodes' buffers, one chain after another. No call takes longer than its deadline (steady_ns);
/// the next call continues. One thread.
class BurstWriter {
 public:
  /// `chains` must outlive it.
  explicit BurstWriter(const std::vector<Chain>& chains) : chains_(chains) {}

  /// The next call writes another burst.
  void clear() noexcept;
  /// From now on, the burst must be written within a few seconds; repeated calls change nothing.
  void start_clock();
  /// Returns true if all is written. Throws std::runtime_error if a node does not accept the burst in time.
  bool write(const Burst& burst, std::int64_t deadline_ns);

 private:
  bool write(const Burst& burst, const Chain& chain, std::int64_t deadline_ns);

  const std::vector<Chain>& chains_;
  std::size_t chain_ = 0;      // being written
  std::uint32_t written_ = 0;  // samples of it
  std::int64_t since_ns_ = 0;  // when writing began (steady)
};

}  // namespace iqd::warp
