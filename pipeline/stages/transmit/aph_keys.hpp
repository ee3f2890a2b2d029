// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <complex>
#include <cstdint>
#include <vector>

#include "config/fields.hpp"
#include "signal/transmit/aph.hpp"

/// The keys that the predistorter and the estimator of its coefficients share: they must be the same in both.
namespace iqd::aph {

struct OrderKeys {
  bool given = false;
  std::int64_t main = AphOrders{}.main;
  std::int64_t conjugate = AphOrders{}.conjugate;
  std::int64_t taps = AphOrders{}.taps;

  void fields(FieldVisitor& visitor) {
    visitor.group("orders", given, {.help = "orders of the polynomials"}, [this](FieldVisitor& v) {
      v.field("main", main, {.help = "highest order of x, odd", .low = 1, .high = AphOrders::kMostMain});
      v.field(
          "conjugate", conjugate,
          {.help = "highest order of the conjugate of x, odd; 0: none", .low = 0, .high = AphOrders::kMostConjugate});
    });
    visitor.field("taps", taps, {.help = "taps of each branch", .low = 1, .high = AphOrders::kMostTaps});
  }
  AphOrders orders() const { return {static_cast<int>(main), static_cast<int>(conjugate), static_cast<int>(taps)}; }
};

/// Reports impossible orders, or a wrong number of coefficients, to the section; no coefficients are fine.
inline bool check(const AphOrders& orders, const std::vector<std::complex<double>>& coefficients,
                  const Section& section) {
  if (const std::string fault = orders.fault(); !fault.empty()) {
    section.problem("orders", fault);
    return false;
  }
  if (coefficients.empty() || std::ssize(coefficients) == orders.coefficients()) return true;
  section.problem("coefficients",
                  fmt::format("has {}; orders {{main: {}, conjugate: {}}} with {} taps and a constant need {}",
                              coefficients.size(), orders.main, orders.conjugate, orders.taps, orders.coefficients()));
  return false;
}

}  // namespace iqd::aph
