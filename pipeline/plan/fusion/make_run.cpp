// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <mutex>

#include "base/log.hpp"
#include "pipeline/plan/fusion/element_program.hpp"

namespace iqd::fusion {

std::unique_ptr<StageRun> make_run(const ElementProgram& program, Backend& backend) {
  if (const auto* cuda = device_half<CudaHalf>(backend, "fused")) return cuda->make(program, kernel_text(program));
  return make_cpu_run(program);
}

bool can_fuse(const Backend& backend) {
  static std::once_flag said;
  if (backend.kind() == BackendKind::cpu) return true;
  const auto* half = static_cast<const CudaHalf*>(backend.stage_half("fused"));
  if (!half) return false;
  const std::string why = half->why_not();
  if (!why.empty())
    std::call_once(said, [&] { log::warn("{} runs element-wise stages one by one: {}", backend.name(), why); });
  return why.empty();
}

}  // namespace iqd::fusion
