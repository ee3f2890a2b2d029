// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/kernel/host_compiler.hpp"

namespace iqd::kernel {

/// A program made ready for the processor.
struct HostProgram {
  Program program;
  std::shared_ptr<const HostCode> code;
  bool varies = false;  // as many positions as the input says, instead of those of a stream
};

/// Room that run_cpu needs: none without a halo.
std::size_t scratch_bytes(const Program& program) noexcept;
/// One block.
void run_cpu(const HostProgram& host, const StageIo& io) noexcept;

}  // namespace iqd::kernel
