// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/packet_format.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kMostPatternBits = 1024;
constexpr std::int64_t kFewestRepeats = 4;   // two periods before the offset's terms, one of terms, one after
constexpr std::int64_t kFewestSamples = 75;  // of the pilot: as many equations as the channel has taps
constexpr std::int64_t kMostBits = 1 << 21;

std::optional<std::string> fault_of_digits(const std::string& digits) {
  if (!read_bits(digits))
    return "'" + digits + "' is not hexadecimal, as in CD98 or 0xCD98, and not bits, as in 0b1101";
  if (const std::int64_t bits = bit_count(digits); bits < 1 || bits > kMostPatternBits || bits % 4 != 0)
    return "has to have 4 to " + std::to_string(kMostPatternBits) + " bits, a multiple of 4; it has " +
           std::to_string(bits);
  return {};
}

}  // namespace

std::vector<std::uint8_t> PacketFormat::pilot() const {
  const auto period = read_bits(preamble).value();
  const auto sync = read_bits(sync_word).value();
  std::vector<std::uint8_t> bits;
  for (std::int64_t i = 0; i < repeats; ++i) bits.insert(bits.end(), period.begin(), period.end());
  bits.insert(bits.end(), sync.begin(), sync.end());
  return bits;
}

std::optional<PacketFormat::Fault> PacketFormat::fault() const {
  if (auto what = fault_of_digits(preamble)) return Fault{"preamble", *what};
  if (auto what = fault_of_digits(sync_word)) return Fault{"sync_word", *what};
  if (repeats < kFewestRepeats)
    return Fault{"repeats", "has to be at least " + std::to_string(kFewestRepeats) +
                                ", so that a frequency offset can be estimated; it is " + std::to_string(repeats)};
  if (samples_per_bit != 2 && samples_per_bit != 4 && samples_per_bit != 8)
    return Fault{"samples_per_bit", "has to be 2, 4 or 8; it is " + std::to_string(samples_per_bit)};
  if (samples_per_bit * pilot_bits() < kFewestSamples)
    return Fault{"sync_word", "preamble and sync word together have to be at least " + std::to_string(kFewestSamples) +
                                  " samples long, so that a channel can be estimated; they are " +
                                  std::to_string(samples_per_bit * pilot_bits())};
  if (payload_bits < 2 || payload_bits % 2 != 0)
    return Fault{"payload_bits", "has to be an even number, since bits alternate between the two axes; it is " +
                                     std::to_string(payload_bits)};
  if (payload_bits > kMostBits || bits() > kMostBits)
    return Fault{"payload_bits", "a packet has at most " + std::to_string(kMostBits) + " bits; this one would have " +
                                     std::to_string(bits())};
  return {};
}

}  // namespace iqd
