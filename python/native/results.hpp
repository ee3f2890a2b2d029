// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/numpy.h>

#include <memory>
#include <vector>

#include "python/native/program.hpp"

namespace iqd::native {

/// What a plan's outputs are, as Python objects: one `_array.Format` each.
class ResultFormats {
 public:
  explicit ResultFormats(const Plan& plan);

  /// The results of a block, as arrays in its memory, which they keep. What a block has at most once, and with
  /// `one_item` what was found once, has no dimension for that.
  pybind11::tuple arrays(std::shared_ptr<ResultMemory> memory, bool one_item) const;
  /// Copies of the results of a block, each with its first dimension.
  pybind11::tuple copies(const ArrayRun& run) const;
  /// The results of no block at all.
  pybind11::tuple none(const Plan& plan) const;

 private:
  pybind11::object wrapped(OutputIndex output, const ArrayRun& run, const pybind11::object& owner, bool bare) const;
  pybind11::object on_device(OutputIndex output, std::shared_ptr<ResultMemory> memory, bool bare) const;
  pybind11::object finished(OutputIndex output, const ArrayRun& run, const pybind11::object& array) const;

  pybind11::object wrap_;  // iqd._array.wrapped
  std::vector<pybind11::object> formats_;
};

}  // namespace iqd::native
