// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/element.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd::fusion {

/// What a fused step computes: a list of values, inputs first, and calls that make the others. All ports have the same
/// rows, positions and items; all outputs have the same positions in a block.
struct ElementProgram {
  struct Call {
    std::shared_ptr<const ElementCode> code;
    std::vector<std::size_t> in;  // values
    std::vector<std::size_t> out;
  };
  std::vector<Element> values;
  std::size_t inputs = 0;
  std::vector<std::size_t> outputs;  // values that become outputs, in the order of the ports
  std::vector<Call> calls;           // in order
  bool varies = false;               // the first input's count is the number of positions, and the count of the outputs
};

/// The limits of one program: a kernel's registers and the room for its arguments.
constexpr std::size_t kMostCalls = 24;
constexpr std::size_t kMostInputs = 4;
constexpr std::size_t kMostOutputs = 4;
constexpr std::size_t kMostOfCall = 4;  // inputs of a call, and outputs

/// On the CPU: runs piece by piece, so that values between two calls stay in the cache. Gives the same bits as separate
/// stages, since an element has the same bits wherever a call begins.
std::unique_ptr<StageRun> make_cpu_run(const ElementProgram& program);
/// The bytes of StageIo::scratch that a CPU run needs.
std::size_t cpu_scratch_bytes(const ElementProgram& program);

/// For a device: the source text of a kernel `iqd_fused(Fused, Job)` of fused_job.hpp.
struct KernelText {
  std::string source;
  std::vector<std::byte> parameters;  // the bytes of `Fused`
  int width = 1;                      // elements per access
  int accesses = 1;                   // per thread, at most
};
/// Every call must have device code.
KernelText kernel_text(const ElementProgram& program);
/// The element's type in device code; empty if it has none.
std::string_view device_type(Element element) noexcept;

/// The CUDA half; its name is `fused`.
struct CudaHalf {
  /// Why it cannot compile kernels; empty if it can.
  std::string (*why_not)();
  /// Throws SetupError.
  std::unique_ptr<StageRun> (*make)(const ElementProgram& program, const KernelText& text);
};
/// Whether the backend can fuse neighbours. If not, logs the reason once.
bool can_fuse(const Backend& backend);

/// The program, ready for the backend. Throws SetupError.
std::unique_ptr<StageRun> make_run(const ElementProgram& program, Backend& backend);

}  // namespace iqd::fusion
