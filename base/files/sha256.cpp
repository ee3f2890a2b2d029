// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/sha256.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

namespace iqd {

Sha256::Sha256() noexcept {
  crypto_hash_sha256_init(&state_);
}

void Sha256::add(std::span<const std::byte> bytes) noexcept {
  crypto_hash_sha256_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::string Sha256::hex() {
  std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
  crypto_hash_sha256_final(&state_, digest.data());
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace iqd
