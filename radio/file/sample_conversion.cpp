// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/sample_conversion.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace iqd::radio {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are assembled as on a little-endian machine");

template <int Bytes> struct UnsignedOf;
template <> struct UnsignedOf<1> { using Type = std::uint8_t; };
template <> struct UnsignedOf<2> { using Type = std::uint16_t; };
template <> struct UnsignedOf<3> { using Type = std::uint32_t; };
template <> struct UnsignedOf<4> { using Type = std::uint32_t; };
template <> struct UnsignedOf<8> { using Type = std::uint64_t; };

template <int Bytes, bool Big> auto load(const std::byte* from) noexcept {
  typename UnsignedOf<Bytes>::Type bits = 0;
  std::array<std::byte, Bytes> raw;
  std::memcpy(raw.data(), from, Bytes);
  if constexpr (Big) std::reverse(raw.begin(), raw.end());
  std::memcpy(&bits, raw.data(), Bytes);
  return bits;
}

template <int Bytes> void store(typename UnsignedOf<Bytes>::Type bits, bool big, std::byte* to) noexcept {
  std::array<std::byte, Bytes> raw;
  std::memcpy(raw.data(), &bits, Bytes);
  if (big) std::reverse(raw.begin(), raw.end());
  std::memcpy(to, raw.data(), Bytes);
}

/// An integer x of `Bits` bits, whose value is (2 x + Bias) / 2^Bits.
template <int Bits, bool Signed, std::int64_t Bias> struct Integer {
  static constexpr int kBytes = Bits / 8;
  static constexpr std::int64_t kLeast = Signed ? -(std::int64_t{1} << (Bits - 1)) : 0;
  static constexpr std::int64_t kMost = kLeast + (std::int64_t{1} << Bits) - 1;

  template <bool Big> static std::int64_t twice(const std::byte* from) noexcept {
    auto x = static_cast<std::int64_t>(load<kBytes, Big>(from));
    if (Signed && x > kMost) x -= std::int64_t{1} << Bits;
    return 2 * x + Bias;
  }
  template <bool Big> static void read(const std::byte* from, float& to) noexcept {
    to = static_cast<float>(static_cast<double>(twice<Big>(from)) *
                            (1.0 / static_cast<double>(std::int64_t{1} << Bits)));
  }
  template <bool Big> static void read(const std::byte* from, std::int16_t& to) noexcept {
    static_assert(Bits <= 32);
    if constexpr (Bits <= 16) to = static_cast<std::int16_t>(twice<Big>(from) * (1 << (16 - Bits)) / 2);
  }
  /// Returns whether it was clipped.
  static bool write(double value, bool big, std::byte* to) noexcept {
    const double x = (value * static_cast<double>(std::int64_t{1} << Bits) - Bias) / 2;
    const double shown = std::isnan(value) ? static_cast<double>(-Bias) / 2
                                           : std::clamp(x, static_cast<double>(kLeast), static_cast<double>(kMost));
    const auto whole = static_cast<std::int64_t>(shown < 0 ? shown - 0.5 : shown + 0.5);
    store<kBytes>(static_cast<typename UnsignedOf<kBytes>::Type>(std::min(whole, kMost)), big, to);
    return !(x <= static_cast<double>(kMost) + 0.5 && x >= static_cast<double>(kLeast) - 0.5);
  }
};

template <class Bits, class Real> struct Floating {
  static constexpr int kBytes = sizeof(Real);

  template <bool Big> static void read(const std::byte* from, float& to) noexcept {
    const auto x = std::bit_cast<Real>(static_cast<Bits>(load<kBytes, Big>(from)));
    if constexpr (std::is_same_v<Real, f16>)
      to = to_float(x);
    else
      to = static_cast<float>(x);
  }
  template <bool Big> static void read(const std::byte*, std::int16_t&) noexcept {}
  static bool write(double value, bool big, std::byte* to) noexcept {
    if constexpr (std::is_same_v<Real, f16>)
      store<kBytes>(to_f16(static_cast<float>(value)).bits, big, to);
    else
      store<kBytes>(std::bit_cast<Bits>(static_cast<Real>(value)), big, to);
    return false;
  }
};

template <class F> decltype(auto) with_number(Number number, F&& f) {
  switch (number) {
    case Number::f16: return f(Floating<std::uint16_t, f16>{});
    case Number::f32: return f(Floating<std::uint32_t, float>{});
    case Number::f64: return f(Floating<std::uint64_t, double>{});
    case Number::i8: return f(Integer<8, true, 0>{});
    case Number::i16: return f(Integer<16, true, 0>{});
    case Number::i24: return f(Integer<24, true, 0>{});
    case Number::i32: return f(Integer<32, true, 0>{});
    case Number::u8: return f(Integer<8, false, -255>{});
    case Number::u16: return f(Integer<16, false, -65535>{});
    case Number::u32: return f(Integer<32, false, -4294967295>{});
    case Number::wav8: break;
  }
  return f(Integer<8, false, -256>{});
}

template <class Stored, bool Big, class To>
void read_parts(const std::byte* from, std::int64_t step, std::int64_t samples, int parts, To* to) noexcept {
  for (std::int64_t n = 0; n < samples; ++n, from += step)
    for (int p = 0; p < parts; ++p) Stored::template read<Big>(from + p * Stored::kBytes, *to++);
}

template <bool Big> void read_as(const DiskFormat& format, const std::byte* from, std::int64_t step,
                                 std::int64_t samples, std::byte* to) noexcept {
  const int parts = format.complex ? 2 : 1;
  with_number(format.number, [&](auto stored) {
    using Stored = decltype(stored);
    if (format.element == Element::sc16)
      read_parts<Stored, Big>(from, step, samples, parts, reinterpret_cast<std::int16_t*>(to));
    else
      read_parts<Stored, Big>(from, step, samples, parts, reinterpret_cast<float*>(to));
  });
}

/// A part of an element, full scale 1.
double value_of(float x) noexcept {
  return static_cast<double>(x);
}
double value_of(f16 x) noexcept {
  return static_cast<double>(to_float(x));
}
double value_of(std::int16_t x) noexcept {
  return x / 32768.0;
}
double value_of(std::int8_t x) noexcept {
  return x / 128.0;
}
double value_of(std::int32_t x) noexcept {
  return x / 2147483648.0;
}
double value_of(std::uint8_t x) noexcept {
  return (x - 127.5) / 128;
}

template <class Stored, class From> std::int64_t write_parts(const std::byte* from, std::int64_t samples, int parts,
                                                             bool big, std::byte* to, std::int64_t step) noexcept {
  std::int64_t clipped = 0;
  for (std::int64_t n = 0; n < samples; ++n, to += step) {
    for (int p = 0; p < parts; ++p, from += sizeof(From)) {
      From x;
      std::memcpy(&x, from, sizeof x);
      clipped += Stored::write(value_of(x), big, to + p * Stored::kBytes);
    }
  }
  return clipped;
}

/// Calls `f` with a value of the type of the element's parts; for an element that no file takes, with nullptr.
template <class F> auto with_part(Element element, F&& f) {
  switch (element) {
    case Element::sc16:
    case Element::i16: return f(std::int16_t{});
    case Element::f16: return f(f16{});
    case Element::i32: return f(std::int32_t{});
    case Element::i8: return f(std::int8_t{});
    case Element::u8: return f(std::uint8_t{});
    default: return f(float{});
  }
}

}  // namespace

void read_samples(const DiskFormat& format, const std::byte* from, std::int64_t step, std::int64_t samples,
                  std::byte* to) noexcept {
  if (format.big_endian)
    read_as<true>(format, from, step, samples, to);
  else
    read_as<false>(format, from, step, samples, to);
}

bool can_write(const DiskFormat& format, Element element) noexcept {
  return element != Element::i64 && traits(element).complex == format.complex;
}

std::int64_t write_samples(const DiskFormat& format, Element element, const std::byte* from, std::int64_t samples,
                           std::byte* to, std::int64_t step) noexcept {
  const int parts = format.complex ? 2 : 1;
  return with_number(format.number, [&](auto stored) {
    return with_part(element, [&](auto part) {
      return write_parts<decltype(stored), decltype(part)>(from, samples, parts, format.big_endian, to, step);
    });
  });
}

}  // namespace iqd::radio
