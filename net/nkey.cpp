// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/nkey.hpp"

#include <sodium.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "net/key_file.hpp"

namespace iqd::net {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::string_view kBase32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
constexpr std::uint8_t kSeed = 18 << 3, kUser = 20 << 3;
constexpr std::size_t kRawSeed = crypto_sign_SEEDBYTES;

std::uint16_t crc16(std::span<const std::uint8_t> data) noexcept {
  unsigned crc = 0;
  for (const std::uint8_t byte : data) {
    crc ^= static_cast<unsigned>(byte) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) ? (crc << 1) ^ 0x1021 : crc << 1;
    crc &= 0xffff;
  }
  return static_cast<std::uint16_t>(crc);
}

std::string with_checksum(Bytes data) {
  const std::uint16_t crc = crc16(data);
  data.push_back(static_cast<std::uint8_t>(crc & 0xff));
  data.push_back(static_cast<std::uint8_t>(crc >> 8));
  std::string text;
  unsigned bits = 0;
  int held = 0;
  for (const std::uint8_t byte : data) {
    bits = (bits << 8 | byte) & 0xffff;
    for (held += 8; held >= 5; held -= 5) text += kBase32[bits >> (held - 5) & 31];
  }
  if (held > 0) text += kBase32[bits << (5 - held) & 31];
  return text;
}

/// Without the checksum; nothing if it is wrong.
std::optional<Bytes> decoded(std::string_view text) {
  Bytes data;
  unsigned bits = 0;
  int held = 0;
  for (const char c : text) {
    const std::size_t value = kBase32.find(c);
    if (value == kBase32.npos) return std::nullopt;
    bits = (bits << 5 | static_cast<unsigned>(value)) & 0xffff;
    held += 5;
    if (held < 8) continue;
    held -= 8;
    data.push_back(static_cast<std::uint8_t>(bits >> held & 0xff));
  }
  if (data.size() < 2) return std::nullopt;
  const unsigned crc = data[data.size() - 2] | static_cast<unsigned>(data.back()) << 8;
  data.resize(data.size() - 2);
  // Bits behind the last byte must be zero, and no letter may follow.
  return crc16(data) == crc && with_checksum(data) == text ? std::optional(data) : std::nullopt;
}

std::string public_text(std::span<const std::uint8_t> raw_seed) {
  std::array<std::uint8_t, crypto_sign_PUBLICKEYBYTES> open{};
  std::array<std::uint8_t, crypto_sign_SECRETKEYBYTES> secret{};
  crypto_sign_seed_keypair(open.data(), secret.data(), raw_seed.data());
  sodium_memzero(secret.data(), secret.size());
  Bytes data{kUser};
  data.insert(data.end(), open.begin(), open.end());
  return with_checksum(std::move(data));
}

}  // namespace

NKey make_nkey() {
  if (sodium_init() < 0) throw SetupError("libsodium has no source of random numbers");
  Bytes data{kSeed | kUser >> 5, static_cast<std::uint8_t>((kUser & 31) << 3)};
  data.resize(2 + kRawSeed);
  randombytes_buf(data.data() + 2, kRawSeed);
  return {with_checksum(data), public_text(std::span(data).subspan(2))};
}

std::string public_nkey(const std::string& seed) {
  const auto data = decoded(seed);
  const bool is_users = data && data->size() == 2 + kRawSeed && (*data)[0] == (kSeed | kUser >> 5) &&
                        (*data)[1] == static_cast<std::uint8_t>((kUser & 31) << 3);
  if (!is_users) throw SetupError("is not the seed of a user: expected the line of NAME.seed from `iqd keygen --nkey`");
  return public_text(std::span(*data).subspan(2));
}

// Errors about a seed's file never contain the seed.
std::string read_nkey(const std::string& path) {
  std::string text = read_key_file(path, KeyKind::secret);
  text.resize(text.find_last_not_of(" \t\r\n") + 1);
  try {
    return public_nkey(text);
  } catch (const SetupError& e) {
    refuse_key(path, e.what());
  }
}

NKeyFile write_nkey(const std::filesystem::path& folder, const std::string& name, bool overwrite) {
  const NKey key = make_nkey();
  const std::filesystem::path path = folder / (name + ".seed");
  make_room_for_key(path, overwrite);
  create_key_file(path, KeyKind::secret, key.seed + '\n');
  return {path, key.public_key};
}

}  // namespace iqd::net
