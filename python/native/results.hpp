// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "python/native/binding.hpp"
#include "python/native/program.hpp"

namespace iqd::native {

/// What a plan's outputs are, as Python objects: one `_array.Format` each.
class ResultFormats {
 public:
  explicit ResultFormats(const Plan& plan);

  /// The results of a block, as arrays in its memory, which they keep. What a block has at most once, and with
  /// `one_item` what was found once, has no dimension for that.
  py::tuple arrays(std::shared_ptr<ResultMemory> memory, bool one_item) const;
  /// Copies of the results of a block, each with its first dimension.
  py::tuple copies(const ArrayRun& run) const;
  /// The results of no block at all.
  py::tuple none(const Plan& plan) const;

 private:
  py::object wrapped(OutputIndex output, const ArrayRun& run, const py::object& owner, bool bare) const;
  py::object on_device(OutputIndex output, const std::shared_ptr<ResultMemory>& memory, bool bare) const;
  py::object finished(OutputIndex output, const ArrayRun& run, const py::object& array) const;

  py::object wrap_;  // iqd._array.wrapped
  std::vector<py::object> formats_;
};

}  // namespace iqd::native
