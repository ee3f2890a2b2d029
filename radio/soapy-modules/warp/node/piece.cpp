// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/node/piece.hpp"

namespace iqd::warp {

void Piece::begin(std::uint32_t buffer_bit, std::uint32_t first, std::uint32_t count) {
  buffer = buffer_bit;
  coverage.begin(first, count);
  iq.resize(std::size_t{2} * count);
}

Piece::Taken Piece::take(const Packet& packet, std::optional<std::uint8_t>& capture, SampleHeader& said) {
  const auto samples = decode_samples(packet);
  said = samples ? samples->header : SampleHeader{};
  if ((packet.header.flags & kNodeNotReady) || (said.flags & kSamplesNotReady)) return Taken::not_ready;
  if (!samples) return Taken::unfit;
  if (said.flags & kSamplesError) return Taken::failed;
  if (said.buffer != buffer || !coverage.holds(said.first, said.count)) return Taken::unfit;
  if (capture.value_or(said.id) != said.id) return Taken::other_capture;
  capture = said.id;
  const std::size_t begin = coverage.end() - iq.size() / 2;
  unpack(samples->words, &iq[2 * (said.first - begin)]);
  return coverage.add(said.first, said.count) ? Taken::fresh : Taken::again;
}

}  // namespace iqd::warp
