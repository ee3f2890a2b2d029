// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/kernel/kernel.hpp"

namespace iqd::kernel {

struct DeviceProgram {
  std::string text;
  std::string name;
  std::string folder;
  std::vector<Element> in;
  bool element_wise = true;
  bool varies = false;
  std::vector<Parameter> values{};
};

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  /// Throws SetupError, with what the compiler says, where the text is wrong.
  std::unique_ptr<StageRun> (*make)(const DeviceProgram& program);
  /// Compiles alone, for no device in particular. Empty where that went well, or there is no compiler.
  std::string (*check)(const DeviceProgram& program);
};

}  // namespace iqd::kernel
