// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/kernel/host_compiler.hpp"

namespace iqd::kernel {

/// A program that is ready to run on the CPU.
struct HostProgram {
  Program program;
  std::shared_ptr<const HostCode> code;
  bool varies = false;  // the input gives the number of positions, instead of the stream
};

/// Scratch memory that run_cpu needs: none without a halo.
std::size_t scratch_bytes(const Program& program) noexcept;
/// Processes one block.
void run_cpu(const HostProgram& host, const StageIo& io) noexcept;

}  // namespace iqd::kernel
