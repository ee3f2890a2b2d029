// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "signal/formats/pn_sequence.hpp"

namespace iqd::testing {

/// Bits first, first + 1, … of a pseudo-random sequence.
inline std::vector<std::uint8_t> pn_bits(int order, std::int64_t first, std::int64_t count) {
  const PnSequence pn(order);
  std::vector<std::uint8_t> bits;
  for (std::uint32_t state = pn.state_at(first); std::ssize(bits) < count; state = pn.next(state))
    bits.push_back(static_cast<std::uint8_t>(pn.bit(state)));
  return bits;
}

}  // namespace iqd::testing
