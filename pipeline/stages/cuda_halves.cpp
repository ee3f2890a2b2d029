// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Part of libiqd_cuda.so: finds a stage's CUDA half by its folder's name. Weak symbols, since a stage may have none.
#include <string_view>

#define STAGE(family, name)              \
  namespace iqd::name {                  \
  [[gnu::weak]] const void* cuda_half(); \
  }
#define STAGE_SET(family, name) STAGE(family, name)
#define STAGE_PART(family, name) STAGE(family, name)
#include "pipeline/stages/stages.def"
#undef STAGE

namespace iqd {

namespace fusion {
const void* cuda_half();
}

const void* cuda_half_of(std::string_view stage);

const void* cuda_half_of(std::string_view stage) {
  if (stage == "fused") return fusion::cuda_half();  // made by the planner, not in stages.def
#define STAGE(family, name) \
  if (stage == #name) return name::cuda_half ? name::cuda_half() : nullptr;
#include "pipeline/stages/stages.def"
#undef STAGE
#undef STAGE_SET
#undef STAGE_PART
  return nullptr;
}

}  // namespace iqd
