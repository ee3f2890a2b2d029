// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/noma/multiuser/multiuser.hpp"
#include "pipeline/stages/noma/multiuser/scheme.hpp"

namespace iqd::noma {

/// What the CUDA backend brings for apsm_detector, and for lls_detector and genie_detector, which are the same with
/// another start and no passes.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const Method& method, Scheme scheme);
};

}  // namespace iqd::noma
