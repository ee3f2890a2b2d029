// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/growing_npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace iqd::radio {
namespace {

/// For format version 1, a multiple of 64.
constexpr std::int64_t kLeastHeader = 384;
constexpr std::int64_t kMostHeader = 65536 - 64;

/// Room for any number of rows and a few dimensions.
std::int64_t header_bytes(const std::string& descr) {
  return std::max(kLeastHeader, (std::ssize(descr) + 255) / 64 * 64);
}

}  // namespace

GrowingNpy::GrowingNpy(const std::string& path, std::string descr, std::vector<std::int64_t> row,
                       std::int64_t row_bytes)
    : descr_(std::move(descr)),
      row_(std::move(row)),
      row_bytes_(row_bytes),
      header_bytes_(header_bytes(descr_)),
      file_(path, 1) {
  if (!begin()) throw SetupError(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

bool GrowingNpy::begin() {
  file_.cut(0);
  const std::string empty = header(0);
  return file_.append(std::as_bytes(std::span(empty)));
}

bool GrowingNpy::redefine(std::string descr, std::int64_t row_bytes) {
  descr_ = std::move(descr);
  row_bytes_ = row_bytes;
  if (std::exchange(header_bytes_, header_bytes(descr_)) != header_bytes_) return begin();
  return settle();
}

bool GrowingNpy::append(std::span<const std::byte> rows) noexcept {
  if (file_.append(rows)) return true;
  const int why = errno;
  file_.cut(header_bytes_ + this->rows() * row_bytes_);
  errno = why;
  return false;
}

std::int64_t GrowingNpy::rows() const noexcept {
  return (file_.frames() - header_bytes_) / row_bytes_;
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
  const auto whole = static_cast<std::size_t>(header_bytes_) - kPrefix;
  if (text.size() + 1 > whole || header_bytes_ > kMostHeader)
    throw SetupError("the array has too many dimensions for its header");
  text.resize(whole - 1, ' ');
  const char prefix[kPrefix] = {
      '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(whole & 0xFF), static_cast<char>(whole >> 8)};
  return std::string(prefix, kPrefix) + text + '\n';
}

}  // namespace iqd::radio
