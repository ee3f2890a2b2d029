// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// Cyclic redundancy checks of TS 38.212, 5.1: the remainder of the bits as a polynomial, the first bit its highest
/// power; no initial value, no final xor.
namespace iqd {

enum class Crc : std::uint8_t { none, crc16, crc24a, crc24b };
std::span<const std::string_view> enum_names(Crc);

/// How many bits it has; 0 for none.
int bits_of(Crc crc) noexcept;
std::uint32_t crc_of(Crc crc, std::span<const std::uint8_t> bits) noexcept;
/// What each bit of a word contributes: of `bits` bits, CRC included. The CRC holds if the sum (xor) over the bits that
/// are 1 is 0; the contribution of the CRC's own bits is the bit itself.
std::vector<std::uint32_t> crc_weights(Crc crc, int bits);

}  // namespace iqd
