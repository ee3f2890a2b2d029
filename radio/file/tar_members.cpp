// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/tar_members.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

namespace iqd::radio {
namespace {

constexpr std::size_t kMostMembers = 10'000;
constexpr std::int64_t kMostExtra = 1 << 20;  // of a pax header or a long name

/// The text of a header's field, up to its first zero.
std::string_view field(std::string_view header, std::size_t at, std::size_t length) {
  const std::string_view all = header.substr(at, length);
  return all.substr(0, all.find('\0'));
}

/// Octal, or with 0x80 in its first byte big endian; negative if it is neither.
std::int64_t number(std::string_view header, std::size_t at, std::size_t length) {
  std::int64_t value = 0;
  if (static_cast<unsigned char>(header[at]) & 0x80) {
    for (std::size_t i = 1; i < length; ++i) {
      if (value > INT64_MAX >> 9) return -1;
      value = value << 8 | static_cast<unsigned char>(header[at + i]);
    }
    return value;
  }
  std::string_view text = field(header, at, length);
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 8);
  return error == std::errc() && end != text.data() ? value : -1;
}

std::int64_t sum_of(std::string_view header) {
  std::int64_t sum = 8 * ' ';  // the sum's own field counts as spaces
  for (std::size_t i = 0; i < header.size(); ++i)
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(header[i]);
  return sum;
}

/// What a pax header says about the next member: records `LENGTH KEY=VALUE\n`.
void read_pax(std::string_view text, std::string& name, std::int64_t& bytes) {
  while (!text.empty()) {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || length > text.size() || length < digits + 2) return;
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    text.remove_prefix(length);
    const std::size_t equals = std::min(record.find('='), record.size());
    const std::string_view value = record.substr(std::min(equals + 1, record.size()));
    if (record.substr(0, equals) == "path") name = value;
    if (record.substr(0, equals) == "size" && !value.empty())
      std::from_chars(value.data(), value.data() + value.size(), bytes);
  }
}

}  // namespace

std::vector<TarMember> tar_members(const FileBytes& file, std::string& why) {
  std::vector<TarMember> members;
  std::string next_name;
  std::int64_t next_bytes = -1;
  for (std::int64_t at = 0; at < file.size() && members.size() < kMostMembers;) {
    const std::string header = file.read(at, kTarBlock);
    if (header.find_first_not_of('\0') == std::string::npos) break;
    if (std::ssize(header) < kTarBlock || number(header, 148, 8) != sum_of(header)) {
      why = at == 0 ? "is not a tar archive: tar -xf cannot unpack it either"
                    : "is damaged: no header at byte " + std::to_string(at);
      return {};
    }
    const char type = header[156];
    const bool is_extra = type == 'x' || type == 'L' || type == 'g' || type == 'K';
    const std::int64_t own = number(header, 124, 12);
    const std::int64_t bytes = is_extra || next_bytes < 0 ? own : next_bytes;
    at += kTarBlock;
    if (bytes < 0 || bytes > file.size() - at) {
      why = fmt::format("is cut short: {} has {} bytes", field(header, 0, 100), bytes);
      return {};
    }
    if (is_extra) {
      const std::string text = file.read(at, static_cast<std::size_t>(std::min(bytes, kMostExtra)));
      if (type == 'x') read_pax(text, next_name, next_bytes);
      if (type == 'L') next_name = text.substr(0, text.find('\0'));
    } else {
      const std::string_view folder = header.compare(257, 5, "ustar") == 0 ? field(header, 345, 155) : "";
      std::string name(field(header, 0, 100));
      if (!folder.empty()) name.insert(0, "/").insert(0, folder);
      if (type == '0' || type == '\0' || type == '7')
        members.push_back({next_name.empty() ? name : next_name, at, bytes});
      next_name.clear();
      next_bytes = -1;
    }
    at += (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
  }
  if (members.empty()) why = "is an archive without files";
  return members;
}

std::string tar_header(const std::string& name, std::int64_t bytes) {
  std::string header(kTarBlock, '\0');
  const auto put = [&](std::size_t at, std::string_view text) { header.replace(at, text.size(), text); };
  put(0, std::string_view(name).substr(0, 100));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  if (bytes < std::int64_t{1} << 33) {
    put(124, fmt::format("{:011o}", bytes));
  } else {
    header[124] = '\x80';
    for (std::size_t i = 0; i < 8; ++i) header[135 - i] = static_cast<char>(bytes >> 8 * i & 0xff);
  }
  put(136, "00000000000");
  header[156] = '0';
  put(257, std::string_view("ustar\00000", 8));
  put(148, fmt::format("{:06o}", sum_of(header)));
  header[155] = ' ';
  return header;
}

}  // namespace iqd::radio
