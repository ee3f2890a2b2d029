// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sodium.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace iqd {

/// The SHA-256 of bytes that come in pieces.
class Sha256 {
 public:
  Sha256() noexcept;
  void add(std::span<const std::byte> bytes) noexcept;
  void add(std::string_view text) noexcept { add(std::as_bytes(std::span(text))); }
  /// In hexadecimal digits. The last call.
  std::string hex();

 private:
  crypto_hash_sha256_state state_;
};

}  // namespace iqd
