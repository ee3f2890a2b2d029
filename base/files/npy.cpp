// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/files/npy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

#include "base/error.hpp"
#include "base/files/npy_header.hpp"

namespace iqd {

namespace {

using npy::find_kind;
using npy::Header;
using npy::Kind;
using npy::normal_name;
using npy::supported;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMostHeader = 1 << 16;  // real ones are 64 to 128 bytes

/// The file's text in quotes, with unprintable bytes escaped.
std::string printable(std::string_view text) {
  std::string q = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    q += byte >= 0x20 && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return q + "'";
}

/// Number of elements of `shape`, or nothing if their bytes overflow.
std::optional<std::int64_t> count(std::span<const std::int64_t> shape, std::size_t item) noexcept {
  auto bytes = static_cast<std::int64_t>(item);
  for (const std::int64_t n : shape)
    if (n < 0 || __builtin_mul_overflow(bytes, n, &bytes)) return std::nullopt;
  return bytes / static_cast<std::int64_t>(item);
}

void swap_bytes(std::span<std::byte> data, std::size_t unit) noexcept {
  for (std::size_t at = 0; at + unit <= data.size(); at += unit)
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(at), data.begin() + static_cast<std::ptrdiff_t>(at + unit));
}

std::vector<std::byte> to_c_order(const std::vector<std::byte>& from, std::span<const std::int64_t> shape,
                                  std::size_t item) {
  std::vector<std::byte> to(from.size());
  std::vector<std::int64_t> index(shape.size(), 0);
  std::vector<std::size_t> strides(shape.size());
  std::size_t stride = item;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    strides[d] = stride;
    stride *= static_cast<std::size_t>(shape[d]);
  }
  std::size_t source = 0;
  for (std::size_t at = 0; at < to.size(); at += item) {
    std::memcpy(&to[at], &from[source], item);
    for (std::size_t d = shape.size(); d-- > 0;) {
      source += strides[d];
      if (++index[d] < shape[d]) break;
      source -= strides[d] * static_cast<std::size_t>(shape[d]);
      index[d] = 0;
    }
  }
  return to;
}

/// A .npy file that is being read; throws UsageError with its path.
class NpyFile {
 public:
  explicit NpyFile(const std::string& path) : path_(path) {
    namespace fs = std::filesystem;
    std::error_code error;
    const auto status = fs::status(path, error);
    if (!fs::exists(status)) fail("there is no such file");
    if (!fs::is_regular_file(status)) fail("it is not a regular file");
    left_ = fs::file_size(path, error);
    errno = 0;
    stream_.open(path, std::ios::binary);
    if (error || !stream_) fail(fmt::format("cannot be opened: {}", std::strerror(errno)));
  }

  [[noreturn]] void fail(std::string_view what) const { throw UsageError(fmt::format("{}: {}", path_, what)); }

  std::uintmax_t left() const noexcept { return left_; }

  void read(std::span<std::byte> into) {
    stream_.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size()));
    if (static_cast<std::size_t>(stream_.gcount()) != into.size()) fail("it ends in the middle (truncated)");
    left_ -= into.size();
  }

  std::string header_text() {
    std::array<unsigned char, 8> start{};
    if (left_ < start.size() + 2) fail("it is not an NPY file (too short); numpy.save writes one");
    read(std::as_writable_bytes(std::span(start)));
    if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0)
      fail("it is not an NPY file (wrong first bytes); numpy.save writes one");
    const int version = start[6];
    if (version < 1 || version > 3) fail(fmt::format("NPY format version {}, iqd reads 1, 2 and 3", version));
    std::array<unsigned char, 4> raw{};
    const std::size_t width = version == 1 ? 2 : 4;
    if (left_ < width) fail("it ends in its header (truncated)");
    read(std::as_writable_bytes(std::span(raw)).first(width));
    const std::size_t length = raw[0] | raw[1] << 8 | raw[2] << 16 | static_cast<std::size_t>(raw[3]) << 24;
    if (length > left_) fail("it ends in its header (truncated)");
    if (length > kMostHeader) fail(fmt::format("a header of {} bytes, too long for a plain array", length));
    std::string text(length, ' ');
    read(std::as_writable_bytes(std::span(text)));
    return text;
  }

 private:
  const std::string& path_;
  std::ifstream stream_;
  std::uintmax_t left_ = 0;
};

}  // namespace

std::size_t npy_item_bytes(std::string_view dtype) noexcept {
  const Kind* kind = find_kind(dtype);
  return kind ? kind->bytes : 0;
}

std::int64_t NpyArray::size() const noexcept {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) n *= extent;
  return n;
}

NpyLayout read_npy_layout(const std::string& path) {
  NpyFile file(path);
  const auto all = static_cast<std::int64_t>(file.left());
  NpyLayout layout;
  if (const auto wrong = npy::parse(file.header_text(), layout.header); !wrong.empty()) file.fail(wrong);
  layout.bytes = static_cast<std::int64_t>(file.left());
  layout.begin = all - layout.bytes;
  return layout;
}

NpyArray read_npy(const std::string& path, std::int64_t most) {
  NpyFile file(path);
  Header header;
  const std::string text = file.header_text();
  if (const auto wrong = npy::parse(text, header); !wrong.empty()) file.fail(wrong);
  if (!header.fields.empty()) file.fail(fmt::format("it contains records; iqd reads plain arrays of {}", supported()));
  const Kind* kind = find_kind(*header.descr);
  if (!kind) {
    file.fail(fmt::format("dtype {} is not supported, iqd reads {}; convert it with numpy's astype",
                          printable(*header.descr), supported()));
  }
  const auto elements = count(*header.shape, kind->bytes);
  if (!elements) file.fail("its shape has too many elements");
  const auto bytes = static_cast<std::uintmax_t>(*elements) * kind->bytes;
  if (file.left() != bytes) {
    file.fail(fmt::format("{} by shape ({}) and dtype should be {} bytes, the file has {} ({})",
                          *elements == 1 ? "one element" : fmt::format("{} elements", *elements),
                          fmt::join(*header.shape, ", "), bytes, file.left(),
                          file.left() < bytes ? "truncated" : "something follows the array"));
  }
  if (*elements > most) file.fail(fmt::format("it has {} elements; at most {} are allowed here", *elements, most));
  NpyArray array{normal_name(*kind), std::move(*header.shape), {}};
  try {
    array.data.resize(bytes);
  } catch (const std::exception&) {
    file.fail(fmt::format("not enough memory for its {} MB", bytes / 1'000'000));
  }
  file.read(array.data);
  if (header.descr->front() == '>') swap_bytes(array.data, kind->swap);
  if (*header.fortran && array.shape.size() > 1) array.data = to_c_order(array.data, array.shape, kind->bytes);
  return array;
}

void write_npy(const std::string& path, std::string_view dtype, std::span<const std::int64_t> shape,
               std::span<const std::byte> data) {
  const Kind* kind = find_kind(dtype);
  if (!kind || dtype.front() == '>')
    throw UsageError(fmt::format("{}: dtype '{}' is not supported, iqd writes {}", path, dtype, supported()));
  const auto elements = count(shape, kind->bytes);
  if (!elements || static_cast<std::size_t>(*elements) * kind->bytes != data.size()) {
    throw UsageError(fmt::format("{}: {} bytes do not match shape ({}) and dtype {}", path, data.size(),
                                 fmt::join(shape, ", "), dtype));
  }
  std::string header =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}{}), }}", kind->bytes == 1 ? '|' : '<',
                  kind->name, fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // Like NumPy, pads with spaces and a newline, so that the data start at a multiple of 64.
  const std::size_t start = kMagic.size() + 4;
  header.append(63 - (start + header.size()) % 64, ' ').push_back('\n');
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  if (!out) throw UsageError(fmt::format("{}: cannot be created: {}", path, std::strerror(errno)));
  const std::array<char, 4> middle{1, 0, static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  out.write(kMagic.data(), kMagic.size()).write(middle.data(), middle.size()) << header;
  out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  out.close();
  if (!out) throw SetupError(fmt::format("{}: cannot be written completely: {}", path, std::strerror(errno)));
}

}  // namespace iqd
