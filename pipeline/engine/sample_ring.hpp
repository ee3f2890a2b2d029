// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/backend.hpp"
#include "base/block.hpp"
#include "base/mirror_ring.hpp"
#include "pipeline/engine/ring_layout.hpp"

namespace iqd {

/// The ring of samples, which a backend reads in place. Places in it count up and do not wrap. Missing samples have no
/// place, so a gap takes no space.
class SampleRing {
 public:
  SampleRing(const Plan& plan, std::int64_t least_samples, Backend& reader)
      : sample_bytes_(size_of(plan.ports.front().shape.element)),
        ring_(static_cast<std::size_t>(plan.ports.front().shape.row_count()),
              ring_layout(plan, least_samples).row_bytes),
        reader_(reader) {
    reader_.share(ring_.mapped());
  }
  ~SampleRing() { reader_.unshare(ring_.mapped()); }
  SampleRing(const SampleRing&) = delete;
  SampleRing& operator=(const SampleRing&) = delete;

  std::byte* at(std::size_t channel, SampleIndex place) const noexcept {
    return ring_.at(channel, static_cast<std::size_t>(place) * sample_bytes_);
  }
  std::int64_t samples() const noexcept { return static_cast<std::int64_t>(ring_.row_bytes() / sample_bytes_); }
  /// The number of samples from this place to the ring's end.
  std::int64_t before_end(SampleIndex place) const noexcept { return samples() - place % samples(); }
  std::int64_t pitch() const noexcept { return static_cast<std::int64_t>(ring_.row_pitch()); }

 private:
  std::size_t sample_bytes_;
  MirrorRing ring_;
  Backend& reader_;
};

}  // namespace iqd
