// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/array_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <exception>

#include "base/element.hpp"
#include "base/files/npy.hpp"

namespace iqd {
namespace {

using Complex = std::complex<double>;

// Elements: of coefficients, which take 16 bytes each here, and of integers such as bits.
constexpr std::int64_t kMostNumbers = 1 << 22;
constexpr std::int64_t kMostWhole = 1 << 24;

template <class T> Complex widened(T x) {
  if constexpr (std::is_same_v<T, f16>) {
    return static_cast<double>(to_float(x));
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, Complex>) {
    return Complex(x.real(), x.imag());
  } else {
    return static_cast<double>(x);
  }
}

template <class T> std::vector<Complex> widened(const NpyArray& array) {
  std::vector<Complex> list(array.data.size() / sizeof(T));
  for (std::size_t i = 0; i < list.size(); ++i) {
    T x;
    std::memcpy(&x, &array.data[i * sizeof(T)], sizeof(T));
    list[i] = widened(x);
  }
  return list;
}

std::vector<Complex> widened(const NpyArray& array) {
  const std::string& t = array.dtype;
  if (t == "<c16") return widened<Complex>(array);
  if (t == "<c8") return widened<std::complex<float>>(array);
  if (t == "<f8") return widened<double>(array);
  if (t == "<f4") return widened<float>(array);
  if (t == "<f2") return widened<f16>(array);
  if (t == "<i8") return widened<std::int64_t>(array);
  if (t == "<i4") return widened<std::int32_t>(array);
  if (t == "<i2") return widened<std::int16_t>(array);
  if (t == "<i1") return widened<std::int8_t>(array);
  return widened<std::uint8_t>(array);  // <u1 |b1
}

bool load(const std::string& path, std::int64_t most, NpyArray& array, std::string& why) {
  try {
    array = read_npy(path, most);
  } catch (const std::exception& e) {
    why = e.what();
    return false;
  }
  if (array.shape.size() <= 1) return true;
  why = fmt::format("{} has {} dimensions; a list has one", path, array.shape.size());
  return false;
}

bool all_finite(const std::string& path, const std::vector<Complex>& list, std::string& why) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (std::isfinite(list[i].real()) && std::isfinite(list[i].imag())) continue;
    why = fmt::format("{}: element {} is not a finite number", path, i);
    return false;
  }
  return true;
}

}  // namespace

bool read_array(const std::string& path, std::vector<Complex>& into, std::string& why) {
  NpyArray array;
  if (!load(path, kMostNumbers, array, why)) return false;
  std::vector<Complex> list = widened(array);
  if (!all_finite(path, list, why)) return false;
  into = std::move(list);
  return true;
}

bool read_array(const std::string& path, std::vector<double>& into, std::string& why) {
  NpyArray array;
  if (!load(path, kMostNumbers, array, why)) return false;
  if (array.dtype.find('c') != std::string::npos) {
    why = fmt::format("{} holds complex numbers ({}); real ones are needed", path, array.dtype);
    return false;
  }
  const std::vector<Complex> list = widened(array);
  if (!all_finite(path, list, why)) return false;
  into.clear();
  for (const Complex& x : list) into.push_back(x.real());
  return true;
}

bool read_array(const std::string& path, std::vector<std::int64_t>& into, std::string& why) {
  NpyArray array;
  if (!load(path, kMostWhole, array, why)) return false;
  if (array.dtype.find_first_of("cf") != std::string::npos) {
    why = fmt::format("{} holds {}; whole numbers are needed (<i1 to <i8 or <u1)", path, array.dtype);
    return false;
  }
  into.clear();
  if (array.dtype == "<i8") {  // exact, unlike doubles
    into.resize(array.data.size() / sizeof(std::int64_t));
    if (!into.empty()) std::memcpy(into.data(), array.data.data(), array.data.size());
    return true;
  }
  for (const Complex& x : widened(array)) into.push_back(static_cast<std::int64_t>(x.real()));
  return true;
}

}  // namespace iqd
