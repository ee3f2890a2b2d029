// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "pipeline/stage/stage.hpp"
#include "signal/codes/ldpc_code.hpp"

namespace iqd::ldpc_encoder {

/// What the CUDA backend brings for this stage.
struct CudaHalf {
  std::unique_ptr<StageRun> (*make)(const LdpcCode& code, std::int64_t words_of_item);
};

}  // namespace iqd::ldpc_encoder
