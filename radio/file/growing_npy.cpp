// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/growing_npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"

namespace iqd::radio {
namespace {

/// For format version 1, a multiple of 64: room for any number of rows.
constexpr std::size_t kHeaderBytes = 384;

}  // namespace

GrowingNpy::GrowingNpy(const std::string& path, std::string descr, std::vector<std::int64_t> row,
                       std::int64_t row_bytes)
    : descr_(std::move(descr)), row_(std::move(row)), row_bytes_(row_bytes), file_(path, 1) {
  file_.cut(0);
  const std::string empty = header(0);
  if (!file_.append(std::as_bytes(std::span(empty))))
    throw SetupError(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

bool GrowingNpy::append(std::span<const std::byte> rows) noexcept {
  if (file_.append(rows)) return true;
  const int why = errno;
  file_.cut(static_cast<std::int64_t>(kHeaderBytes) + this->rows() * row_bytes_);
  errno = why;
  return false;
}

std::int64_t GrowingNpy::rows() const noexcept {
  return (file_.frames() - static_cast<std::int64_t>(kHeaderBytes)) / row_bytes_;
}

bool GrowingNpy::settle() {
  const std::string now = header(rows());
  return file_.rewrite(0, std::as_bytes(std::span(now)));
}

std::string GrowingNpy::header(std::int64_t rows) const {
  std::string shape = fmt::format("{},", rows);
  for (const std::int64_t extent : row_) shape += fmt::format(" {},", extent);
  std::string text = fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': ({}), }}", descr_, shape);
  constexpr std::size_t kPrefix = 10;
  if (text.size() + 1 > kHeaderBytes - kPrefix) throw SetupError("the array has too many dimensions for its header");
  text.resize(kHeaderBytes - kPrefix - 1, ' ');
  constexpr auto kLength = static_cast<unsigned>(kHeaderBytes - kPrefix);
  const char prefix[kPrefix] = {
      '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(kLength & 0xFF), static_cast<char>(kLength >> 8)};
  return std::string(prefix, kPrefix) + text + '\n';
}

}  // namespace iqd::radio
