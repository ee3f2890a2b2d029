// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/element.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stage/element_code.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd::fusion {

/// What a step computes that several element-wise ones became: values, of which the inputs are the first, and calls
/// that make the others. All ports have the same rows, positions and items; all outputs have the same positions in a
/// block.
struct ElementProgram {
  struct Call {
    std::shared_ptr<const ElementCode> code;
    std::vector<int> in;  // values
    std::vector<int> out;
  };
  std::vector<Element> values;
  int inputs = 0;
  std::vector<int> outputs;  // values that leave, in the order of the ports
  std::vector<Call> calls;   // in turn
  bool varies = false;  // there are as many positions as the first input's count says, and the outputs' is the same
};

/// No more of these in one program: what a kernel has registers, and its arguments room for.
constexpr std::size_t kMostCalls = 24;
constexpr std::size_t kMostInputs = 4;
constexpr std::size_t kMostOutputs = 4;
constexpr std::size_t kMostOfCall = 4;  // inputs of a call, and outputs

/// On the processor: piece by piece, so that what is between two calls stays in the cache. The same bits as each call
/// by itself, since an element has the same bits wherever a call begins.
std::unique_ptr<StageRun> make_cpu_run(const ElementProgram& program);
/// What that needs of StageIo::scratch.
std::size_t cpu_scratch_bytes(const ElementProgram& program);

/// For a device: the source text of a kernel `iqd_fused(Fused, Job)` of fused_job.hpp.
struct KernelText {
  std::string source;
  std::vector<std::byte> parameters;  // what `Fused` is filled with
  int width = 1;                      // elements of an access
  int accesses = 1;                   // of a thread, at most
};
/// Each call has device code.
KernelText kernel_text(const ElementProgram& program);
/// As device code calls it; empty where it has no name there.
std::string_view device_type(Element element) noexcept;

/// The CUDA half, by the name `fused`.
struct CudaHalf {
  /// Why it cannot compile kernels; empty where it can.
  std::string (*why_not)();
  /// Throws SetupError.
  std::unique_ptr<StageRun> (*make)(const ElementProgram& program, const KernelText& text);
};
/// Whether neighbours can be fused there. Why not is said in the log, once.
bool can_fuse(const Backend& backend);

/// The program, ready for the backend. Throws SetupError.
std::unique_ptr<StageRun> make_run(const ElementProgram& program, Backend& backend);

}  // namespace iqd::fusion
