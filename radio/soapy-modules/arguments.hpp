// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SoapySDR/Types.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iqd::soapy_module {

/// Throws std::invalid_argument; `wanted` says what the argument should be.
[[noreturn]] void refuse(const std::string& module, const std::string& key, const std::string& value,
                         const std::string& wanted);

/// Device arguments with types. An invalid value throws std::invalid_argument, which names the module, the key and the
/// value.
class Arguments {
 public:
  Arguments(std::string module, SoapySDR::Kwargs values) : module_(std::move(module)), values_(std::move(values)) {}

  [[noreturn]] void refuse(const std::string& key, const std::string& value, const std::string& wanted) const;

  std::optional<double> number(const std::string& key) const;
  double number(const std::string& key, double otherwise) const { return number(key).value_or(otherwise); }
  /// At least 0.
  double number_up_to(const std::string& key, double otherwise, double high) const;
  /// As in levels=0/-40: `count` numbers, which `each` describes ("one for each user"); zeros if the key is missing.
  std::vector<double> numbers(const std::string& key, std::int64_t count, const std::string& each) const;
  /// The same; one number alone is that of all, and a missing key gives an empty list.
  std::vector<double> numbers_or_one(const std::string& key, std::int64_t count, const std::string& each) const;
  /// The same, at least 0.
  std::vector<double> numbers_up_to(const std::string& key, std::int64_t count, const std::string& each,
                                    double high) const;
  /// As many as there are.
  std::vector<double> list(const std::string& key, const std::string& otherwise = "") const;
  /// A whole number in low…high; 1e6 is valid, too.
  std::int64_t count(const std::string& key, std::int64_t otherwise, std::int64_t low, std::int64_t high) const;
  bool flag(const std::string& key, bool otherwise) const;
  std::string text(const std::string& key, const std::string& otherwise) const;
  /// The index of the word among these names.
  std::size_t choice(const std::string& key, std::string_view otherwise, std::span<const std::string_view> names) const;
  /// The same for a list as in modulation=qpsk/16qam, or for one word, which is that of all.
  std::vector<std::size_t> choices(const std::string& key, std::string_view otherwise,
                                   std::span<const std::string_view> names, std::int64_t count,
                                   const std::string& each) const;
  /// Returns the first key that is not among these.
  std::optional<std::string> unknown(std::initializer_list<std::string_view> known) const;

 private:
  void check_up_to(const std::string& key, double value, double high) const;

  std::string module_;
  SoapySDR::Kwargs values_;
};

}  // namespace iqd::soapy_module
