// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/fields.hpp"

namespace iqd::radio::soapy {

/// What receiving and transmitting have in common.
struct Settings {
  std::string args;
  std::vector<std::int64_t> channels{0};
  double rate_hz = 0;
  std::optional<double> frequency_hz;
  std::optional<double> gain_db;
  std::string antenna;
  std::optional<double> bandwidth_hz;
  StringMap stream_args;
  StringMap settings;
  bool accept_rate = false;

  void fields(FieldVisitor& visitor, bool rate_required);
  void check(const Section& section) const;
  /// Whether a granted rate will do: it is the asked one to 1 ppm, or any may be.
  bool accepts(double granted_hz) const;
};

/// Two rates are the same when they differ by no more than 1 ppm.
bool same_rate(double a_hz, double b_hz) noexcept;

}  // namespace iqd::radio::soapy
