// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/window/fingerprint.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "base/error.hpp"
#include "base/files/sha256.hpp"
#include "base/integer.hpp"

namespace iqd::radio {
namespace {

constexpr long long kSmall = 64 << 20;  // read whole, in about 0.2 s
constexpr long long kPieces = 1024;
constexpr long long kPiece = kSmall / kPieces;

void add(Sha256& hash, const std::string& name, long long bytes) {
  std::ifstream in(name, std::ios::binary);
  std::string piece;
  const auto add_piece = [&](long long at, long long length) {
    piece.resize(static_cast<std::size_t>(length));
    in.seekg(at);
    if (!in.read(piece.data(), length)) throw SetupError(fmt::format("{}: cannot be read for its hash", name));
    hash.add(piece);
  };
  if (bytes > kSmall)
    for (long long p = 0; p < kPieces; ++p) add_piece(mul_div(bytes - kPiece, p, kPieces - 1), kPiece);
  else
    for (long long at = 0; at < bytes; at += kPiece) add_piece(at, std::min(kPiece, bytes - at));
}

}  // namespace

bool Fingerprint::look(const std::string& name, File& file) noexcept {
  struct stat found = {};
  if (::stat(name.c_str(), &found) != 0) return false;
  file.bytes = found.st_size;
  file.changed_ns = found.st_mtim.tv_sec * 1'000'000'000LL + found.st_mtim.tv_nsec;
  return true;
}

Fingerprint Fingerprint::of(const std::string& path, const std::string& data) {
  std::set<std::string> names{path, data};
  if (data.ends_with(".npy"))
    for (const char* const ending : {".json", ".messages.npy"}) names.insert(data.substr(0, data.size() - 4) + ending);
  Fingerprint all;
  Sha256 hash;
  for (const std::string& name : names) {
    File file{.name = name};
    if (!look(name, file)) continue;
    hash.add(fmt::format("{} ", file.bytes));
    if (file.bytes > kSmall) hash.add(fmt::format("{} ", file.changed_ns));
    add(hash, name, file.bytes);
    all.files_.push_back(std::move(file));
  }
  all.text_ = hash.hex();
  return all;
}

bool Fingerprint::holds() const noexcept {
  return std::ranges::all_of(files_, [](const File& file) {
    File now = file;
    return look(file.name, now) && now == file;
  });
}

}  // namespace iqd::radio
