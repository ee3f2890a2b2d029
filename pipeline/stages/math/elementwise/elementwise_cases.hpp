// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "pipeline/stages/math/elementwise/elementwise.hpp"

/// Support for the tests of the operations without their stages.
namespace iqd::elementwise {

using Wide = std::complex<double>;

/// The result of an operation; of two outputs the first.
template <class Y, class Op, class X> std::vector<Y> applied(const Op& op, const std::vector<std::vector<X>>& x) {
  std::vector<Y> y(x[0].size()), second(x[0].size());
  const void* const in[] = {x.front().data(), x.back().data()};
  void* const out[] = {y.data(), second.data()};
  apply(op, element_of<X>, in, out, std::ssize(y));
  return y;
}
template <class Y, class Op, class X> std::vector<Y> applied(const Op& op, const std::vector<X>& x) {
  static_assert(Op::kInputs == 1);
  return applied<Y>(op, std::vector<std::vector<X>>{x});
}

}  // namespace iqd::elementwise
