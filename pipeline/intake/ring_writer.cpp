// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/ring_writer.hpp"

#include <cstring>

namespace iqd {

RingWriter::RingWriter(const StreamInfo& info, const SampleRing& ring)
    : sample_bytes_(size_of(info.element)),
      ring_(&ring),
      into_(static_cast<std::size_t>(info.channels)),
      aside_(into_.size(), std::vector<std::byte>(bytes(kMost))) {}

std::size_t RingWriter::aside_bytes(const StreamInfo& info) noexcept {
  return static_cast<std::size_t>(kMost) * size_of(info.element) * static_cast<std::size_t>(info.channels);
}

std::span<std::byte* const> RingWriter::at(SampleIndex place) noexcept {
  for (std::size_t c = 0; c < into_.size(); ++c) into_[c] = ring_->at(c, place);
  return into_;
}

std::span<std::byte* const> RingWriter::aside() noexcept {
  for (std::size_t c = 0; c < into_.size(); ++c) into_[c] = aside_[c].data();
  return into_;
}

void RingWriter::set_aside(std::int64_t samples) noexcept {
  for (std::size_t c = 0; c < into_.size(); ++c) std::memcpy(aside_[c].data(), into_[c], bytes(samples));
}

void RingWriter::put_back(std::int64_t from, SampleIndex place, std::int64_t samples) noexcept {
  for (std::size_t c = 0; c < into_.size(); ++c)
    std::memcpy(ring_->at(c, place), aside_[c].data() + bytes(from), bytes(samples));
}

void RingWriter::move_to(const SampleRing& ring, SampleIndex place, SampleIndex place_before,
                         std::int64_t samples) noexcept {
  for (std::size_t c = 0; c < into_.size() && samples > 0; ++c)
    std::memcpy(ring.at(c, place), ring_->at(c, place_before), bytes(samples));
  ring_ = &ring;
}

}  // namespace iqd
