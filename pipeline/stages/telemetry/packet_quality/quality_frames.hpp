// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/views.hpp"

/// Frames of a payload and its quality, all most significant bit first, as both backends make them:
///
///   FAC4h   16 bits: `word`   16 bits: DQM of the payload that follows   the payload
///
/// The payloads of all packets are one stream of bits that is cut into those of frames. What is left of it begins the
/// next block's first frame.
namespace iqd::packet_quality {

inline constexpr int kSegments = 16;  // of a packet's payload, as equal as bits allow
inline constexpr int kHeaderBytes = 6;
inline constexpr double kDecoded = 1e-12;  // error probability of a bit whose word has been decoded

struct FrameSetup {
  std::int64_t payload = 0;  // bits of a frame, a multiple of 8; 0: no frames
  std::int64_t bits = 0;     // of a packet and kind in `bits`
  int kinds = 1;
  int kind = 0;
  int words = 0;  // of a packet, if a decoder says which have failed
  int word = 0;

  IQD_HOST_DEVICE std::int64_t frame_bytes() const noexcept { return kHeaderBytes + payload / 8; }
  IQD_HOST_DEVICE bool carries() const noexcept { return payload > 0 && bits % payload != 0; }
};

/// The beginning of a frame that a later block ends: `bits` bytes behind this, each a bit.
struct Rest {
  std::int64_t bits;
  double sum;  // of their error probabilities
};

struct FrameJob {
  FrameSetup setup;
  std::int64_t segment_kinds;  // kinds of `segments`, and which of them
  std::int64_t segment_kind;
  const float* segments;       // [packet][kind][kSegments]
  const std::uint8_t* bits;    // [packet][kind][bit]
  const std::uint8_t* failed;  // [packet][word]
  const std::uint8_t* rest;    // bits
  Rest before;
  std::int64_t packets;

  IQD_HOST_DEVICE std::int64_t all_bits() const noexcept { return before.bits + packets * setup.bits; }
  IQD_HOST_DEVICE std::int64_t frames() const noexcept { return all_bits() / setup.payload; }

  /// Bit i of the stream.
  IQD_HOST_DEVICE unsigned bit(std::int64_t i) const noexcept {
    if (i < before.bits) return rest[i];
    i -= before.bits;
    const std::int64_t packet = i / setup.bits;
    return bits[(packet * setup.kinds + setup.kind) * setup.bits + i % setup.bits] & 1;
  }

  /// Of bits at the share `from` … `to` of a packet's payload. NaN if one segment is.
  IQD_HOST_DEVICE double mean_error(std::int64_t packet, double from, double to) const noexcept {
    const float* const p = segments + (packet * segment_kinds + segment_kind) * kSegments;
    double sum = 0;
    for (int s = 0; s < kSegments; ++s) {
      const double begin = from > s / double{kSegments} ? from : s / double{kSegments};
      const double end = to < (s + 1) / double{kSegments} ? to : (s + 1) / double{kSegments};
      if (end > begin) sum += (end - begin) * double{p[s]};
    }
    return sum / (to - from);
  }
  /// Of part `i` of a packet's `parts`: its words if there is a decoder, else its segments.
  IQD_HOST_DEVICE double error_of_part(std::int64_t packet, std::int64_t i) const noexcept {
    const auto parts = static_cast<double>(count_parts());
    if (setup.words > 0 && failed[packet * setup.words + i] == 0) return kDecoded;
    return mean_error(packet, static_cast<double>(i) / parts, static_cast<double>(i + 1) / parts);
  }
  IQD_HOST_DEVICE std::int64_t count_parts() const noexcept { return setup.words > 0 ? setup.words : kSegments; }

  /// The sum over bits begin … end - 1 of the stream, none of them of the rest.
  IQD_HOST_DEVICE double sum_errors(std::int64_t begin, std::int64_t end) const noexcept {
    double sum = 0;
    begin -= before.bits;
    end -= before.bits;
    while (begin < end) {
      const std::int64_t packet = begin / setup.bits, first = packet * setup.bits;
      const std::int64_t part = ((begin - first + 1) * count_parts() - 1) / setup.bits;
      const std::int64_t part_end = first + (part + 1) * setup.bits / count_parts();
      const std::int64_t stop = part_end < end ? part_end : end;
      sum += static_cast<double>(stop - begin) * error_of_part(packet, part);
      begin = stop;
    }
    return sum;
  }
  /// The error probability of a frame's bits.
  IQD_HOST_DEVICE double error_of_frame(std::int64_t frame) const noexcept {
    const std::int64_t begin = frame * setup.payload, end = begin + setup.payload;
    const double sum = (frame == 0 ? before.sum : 0) + sum_errors(frame == 0 ? before.bits : begin, end);
    return sum / static_cast<double>(setup.payload);
  }
  /// Byte i of a frame.
  IQD_HOST_DEVICE std::uint8_t byte(std::int64_t frame, std::int64_t i, int dqm) const noexcept {
    const unsigned header[kHeaderBytes / 2] = {0xfac4u, static_cast<unsigned>(setup.word), static_cast<unsigned>(dqm)};
    if (i < kHeaderBytes) return static_cast<std::uint8_t>(header[i / 2] >> (i % 2 == 0 ? 8 : 0) & 0xff);
    const std::int64_t first = frame * setup.payload + 8 * (i - kHeaderBytes);
    unsigned value = 0;
    for (int b = 0; b < 8; ++b) value = value << 1 | bit(first + b);
    return static_cast<std::uint8_t>(value);
  }

  /// The rest that the next block begins with, without its bits.
  IQD_HOST_DEVICE Rest rest_after() const noexcept {
    const std::int64_t begin = frames() * setup.payload, end = all_bits();
    if (begin == 0) return {end, before.sum + sum_errors(before.bits, end)};
    return {end - begin, sum_errors(begin, end)};
  }
};

}  // namespace iqd::packet_quality
