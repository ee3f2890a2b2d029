// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/file_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace iqd {
namespace {

/// FNV-1a of 128 bits.
class Digest {
 public:
  void add(std::string_view bytes) noexcept {
    constexpr Word kPrime = (Word{1} << 88) + 0x13b;
    for (const char c : bytes) value_ = (value_ ^ static_cast<unsigned char>(c)) * kPrime;
  }
  std::string text() const {
    return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(value_ >> 64), static_cast<std::uint64_t>(value_));
  }

 private:
  __extension__ using Word = unsigned __int128;
  Word value_ = (Word{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
};

/// The first line of a file.
std::string header_of(const std::string& key, std::string_view content) {
  Digest digest;
  digest.add(content);
  return fmt::format("iqd cache 1 {} {} {}\n", key, content.size(), digest.text());
}

}  // namespace

std::filesystem::path cache_folder() {
  const auto named = [](const char* variable) -> std::string {
    const char* value = std::getenv(variable);
    return value ? value : "";
  };
  if (const std::string folder = named("IQD_CACHE_DIR"); !folder.empty()) return folder;
  // systemd separates several folders with colons.
  if (const std::string folders = named("CACHE_DIRECTORY"); !folders.empty())
    return folders.substr(0, folders.find(':'));
  if (const std::string folder = named("XDG_CACHE_HOME"); !folder.empty()) return std::filesystem::path(folder) / "iqd";
  if (const std::string home = named("HOME"); !home.empty()) return std::filesystem::path(home) / ".cache/iqd";
  return {};
}

std::string content_key(std::initializer_list<std::string_view> texts) {
  Digest digest;
  for (const std::string_view text : texts) {
    digest.add(fmt::format("{}:", text.size()));
    digest.add(text);
  }
  return digest.text();
}

std::optional<std::vector<char>> FileCache::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(file_of(key), std::ios::binary);
  std::string header;
  if (!file || !std::getline(file, header)) return std::nullopt;
  std::vector<char> content{std::istreambuf_iterator<char>(file), {}};
  if (header + '\n' != header_of(key, {content.data(), content.size()})) return std::nullopt;
  return content;
}

std::string FileCache::keep(const std::string& key, std::span<const char> content) const {
  static std::atomic<unsigned> number{0};
  if (folder_.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) return fmt::format("cannot create {}: {}", folder_.string(), error.message());
  const std::filesystem::path beside = folder_ / fmt::format(".{}.{}.{}", key, ::getpid(), number++);
  std::ofstream file(beside, std::ios::binary);
  file << header_of(key, {content.data(), content.size()});
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  if (!file) error = std::make_error_code(std::errc::io_error);
  if (!error) std::filesystem::rename(beside, file_of(key), error);
  if (!error) return {};
  std::error_code ignored;
  std::filesystem::remove(beside, ignored);
  return fmt::format("cannot write to {}: {}", folder_.string(), error.message());
}

}  // namespace iqd
