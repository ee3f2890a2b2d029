// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/disk_format.hpp"

#include <array>
#include <cctype>
#include <utility>

namespace iqd::radio {
namespace {

constexpr std::int64_t bytes_of(Number number) {
  switch (number) {
    case Number::i8:
    case Number::u8:
    case Number::wav8: return 1;
    case Number::f16:
    case Number::i16:
    case Number::u16: return 2;
    case Number::i24: return 3;
    case Number::f32:
    case Number::i32:
    case Number::u32: return 4;
    case Number::f64: break;
  }
  return 8;
}

/// One more than the largest part as sc16, so that it counts as clipped (add_level); for cf32 and f32 the largest itself.
constexpr double full_scale_of(Number number, bool complex) {
  switch (number) {
    case Number::i8:
    case Number::wav8: return complex ? 127 * 256 + 1 : 127.0 / 128;
    case Number::u8: return complex ? 255 * 128 + 1 : 255.0 / 256;
    case Number::i16: return complex ? 32768 : 32767.0 / 32768;
    case Number::u16: return 65535.0 / 65536;
    case Number::i24: return 8388607.0 / 8388608;
    case Number::i32:
    case Number::u32: return 1;
    default: return 0;
  }
}

constexpr DiskFormat make(std::string_view name, Number number, bool big_endian = false) {
  DiskFormat f{};
  f.name = name;
  f.number = number;
  f.complex = name.front() == 'c';
  f.big_endian = big_endian;
  f.bytes = bytes_of(number) * (f.complex ? 2 : 1);
  const bool small = number == Number::i8 || number == Number::u8 || number == Number::i16 || number == Number::wav8;
  f.element = !f.complex ? Element::f32 : small ? Element::sc16 : Element::cf32;
  f.full_scale = full_scale_of(number, f.complex);
  f.as_in_memory = !big_endian && (number == Number::f32 || (number == Number::i16 && f.complex));
  return f;
}

constexpr std::array kDiskFormats{
    make("cf32_le", Number::f32),
    make("ci16_le", Number::i16),
    make("ci8", Number::i8),
    make("cu8", Number::u8),
    make("cf64_le", Number::f64),
    make("ci24_le", Number::i24),
    make("ci32_le", Number::i32),
    make("cu16_le", Number::u16),
    make("cu32_le", Number::u32),
    make("rf32_le", Number::f32),
    make("ri16_le", Number::i16),
    make("ri8", Number::i8),
    make("ru8", Number::u8),
    make("rf64_le", Number::f64),
    make("ri24_le", Number::i24),
    make("ri32_le", Number::i32),
    make("ru16_le", Number::u16),
    make("ru32_le", Number::u32),
    make("rf16_le", Number::f16),
    make("cf16_le", Number::f16),
    make("cf32_be", Number::f32, true),
    make("ci16_be", Number::i16, true),
    make("cf64_be", Number::f64, true),
    make("ci24_be", Number::i24, true),
    make("ci32_be", Number::i32, true),
    make("cu16_be", Number::u16, true),
    make("cu32_be", Number::u32, true),
    make("rf32_be", Number::f32, true),
    make("ri16_be", Number::i16, true),
    make("rf64_be", Number::f64, true),
    make("ri24_be", Number::i24, true),
    make("ri32_be", Number::i32, true),
    make("ru16_be", Number::u16, true),
    make("ru32_be", Number::u32, true),
    make("rf16_be", Number::f16, true),
    make("cf16_be", Number::f16, true),
    make("c wav8", Number::wav8),
    make("r wav8", Number::wav8),
};

/// Names that others use for SigMF's.
constexpr std::pair<std::string_view, std::string_view> kAliases[]{
    {"fc32", "cf32"},       {"cfile", "cf32"},      {"complex64", "cf32"}, {"complex", "cf32"}, {"fc64", "cf64"},
    {"complex128", "cf64"}, {"cs8", "ci8"},         {"sc8", "ci8"},        {"c8", "ci8"},       {"complex16s", "ci8"},
    {"complex32s", "ci16"}, {"complex32u", "cu16"}, {"ibyte", "ci8"},      {"uc8", "cu8"},      {"complex16u", "cu8"},
    {"cs16", "ci16"},       {"sc16", "ci16"},       {"c16", "ci16"},       {"ishort", "ci16"},  {"cs24", "ci24"},
    {"cs32", "ci32"},       {"sc32", "ci32"},       {"c32", "ci32"},       {"uc16", "cu16"},    {"f32", "rf32"},
    {"float32", "rf32"},    {"float", "rf32"},      {"f64", "rf64"},       {"float64", "rf64"}, {"double", "rf64"},
    {"f16", "rf16"},        {"float16", "rf16"},    {"s8", "ri8"},         {"i8", "ri8"},       {"int8", "ri8"},
    {"u8", "ru8"},          {"uint8", "ru8"},       {"s16", "ri16"},       {"i16", "ri16"},     {"int16", "ri16"},
    {"short", "ri16"},      {"u16", "ru16"},        {"uint16", "ru16"},    {"s24", "ri24"},     {"i24", "ri24"},
    {"s32", "ri32"},        {"i32", "ri32"},        {"int32", "ri32"},     {"u32", "ru32"},     {"uint32", "ru32"},
};

std::string lower(std::string_view text) {
  std::string all(text);
  for (char& c : all) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return all;
}

}  // namespace

const DiskFormat* find_disk_format(std::string_view datatype) noexcept {
  for (const DiskFormat& f : kDiskFormats) {
    const bool no_order = f.name.size() == datatype.size() + 3 && f.name.ends_with("_le");
    if (f.name == datatype || (no_order && f.name.starts_with(datatype))) return &f;
  }
  return nullptr;
}

const DiskFormat* find_raw_format(std::string_view name) {
  std::string plain = lower(name);
  if (plain.find(' ') != std::string::npos) return nullptr;
  std::string_view order;
  for (const std::string_view end : {"_be", "_le"}) {
    if (!plain.ends_with(end)) continue;
    order = end;
    plain.resize(plain.size() - end.size());
    break;
  }
  for (const auto& [other, sigmf] : kAliases) {
    if (plain != other) continue;
    plain = sigmf;
    break;
  }
  if (plain.ends_with("8")) return find_disk_format(plain);  // no order
  return find_disk_format(plain + std::string(order.empty() ? "_le" : order));
}

const DiskFormat* find_disk_format(Number number, bool complex, bool big_endian) noexcept {
  for (const DiskFormat& f : kDiskFormats)
    if (f.number == number && f.complex == complex && (f.big_endian == big_endian || bytes_of(number) == 1)) return &f;
  return nullptr;
}

const DiskFormat* with_complex(const DiskFormat& format, bool complex) noexcept {
  return find_disk_format(format.number, complex, format.big_endian);
}

std::string raw_format_names() {
  return "cu8, cs8, cs16, cs32, cf32, cf64 (complex), u8, s8, s16, s32, f32, f64 (real), with _be for big endian";
}

}  // namespace iqd::radio
