// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/formats/word_frame.hpp"

#include <algorithm>

#include "signal/codes/irig_codes.hpp"
#include "signal/formats/bit_pattern.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kMostMarkerBits = 1024;
constexpr std::string_view kMarker = "FCB88938D8D76A4F", kComplement = "034776C7272895B0";

bool is_irig(const LdpcCode& code) {
  return std::ranges::find(irig_codes(), code.name, &LdpcCode::name) != irig_codes().end();
}

std::string irig_marker(const LdpcCode& code) {
  std::string digits(kMarker);
  if (code.k() == 1024) return digits;
  return digits.append(kMarker).append(kComplement).append(kMarker);
}

}  // namespace

std::span<const std::string_view> enum_names(Randomize) {
  static constexpr std::string_view kNames[] = {"off", "ccsds"};
  return kNames;
}

void WordFrame::close(std::span<std::uint8_t> frame) const noexcept {
  const auto word = frame.subspan(marker.size());
  std::copy(marker.begin(), marker.end(), frame.begin());
  static constexpr WordSequence kSequence;
  for (std::size_t i = 0; is_randomized && i < word.size(); ++i)
    word[i] ^= static_cast<std::uint8_t>(kSequence.at(static_cast<int>(i)));
}

std::optional<std::string> FrameChoice::fault(const LdpcCode& code) const {
  if (marker == "none") return std::nullopt;
  if (marker == "irig")
    return is_irig(code) ? std::nullopt
                         : std::optional<std::string>("'irig' needs a code irig_…; write the marker's bits instead");
  const std::int64_t bits = read_bits(marker) ? bit_count(marker) : 0;
  if (bits >= 1 && bits <= kMostMarkerBits) return std::nullopt;
  return "'" + marker + "' is not none, irig, or 1 to " + std::to_string(kMostMarkerBits) +
         " bits, hexadecimal as in FCB8 or 0xFCB8, or like 0b1101";
}

WordFrame FrameChoice::frame(const LdpcCode& code) const {
  WordFrame frame{.is_randomized = randomize == Randomize::ccsds};
  if (marker != "none") frame.marker = *read_bits(marker == "irig" ? irig_marker(code) : marker);
  return frame;
}

}  // namespace iqd
