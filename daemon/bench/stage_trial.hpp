// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "pipeline/stage_runner.hpp"

namespace iqd {

/// A stage, or the chain that it begins, to be timed on blocks of `block` items of its first input.
struct StageTrial {
  const StageEntry* entry = nullptr;
  std::string keys = "{}";  // YAML
  std::int64_t block = 0;
  std::string backend = "auto";
  std::string transfer = "auto";       // auto, mapped or copy
  std::vector<std::string> outputs{};  // outputs of the stage to compute; empty: all
  std::vector<ChainedStage> behind{};  // see StageRunner::Options
  bool fuse = true;
  Wait wait = Wait::spin;
};

enum class Timed : std::uint8_t {
  whole,     // as long as a caller waits
  resident,  // on a device: the stages with input and output there, by its own clock
};

/// Several blocks, so that no call finds its input in the L1 cache, and the phase changes.
inline constexpr std::int64_t kBlocksOfInput = 4;

/// `inputs` hold kBlocksOfInput blocks. Null, with problems, if the keys are wrong or the stages do not fit together.
std::unique_ptr<StageRunner> make_runner(const StageTrial& trial, const std::vector<StageInput>& inputs, Timed timed,
                                         Problems& problems);

/// Microseconds of each block, one after the other on the calling thread, without warm-up.
std::vector<double> time_blocks(StageRunner& runner, std::int64_t block, Timed timed, double seconds);

/// Several blocks in flight on a device, host to host.
struct InFlight {
  std::vector<double> us;  // of each block
  double blocks_per_second = 0;
};
/// One runner for each block in flight.
InFlight time_in_flight(std::vector<std::unique_ptr<StageRunner>>& runners, std::int64_t block, double seconds);

/// A stage's result is wrong.
class WrongResult : public SetupError {
 public:
  using SetupError::SetupError;
};

/// Compares the trial's results for the first samples with the CPU, stage by stage without fusion, in blocks of half
/// the length if that must not matter. Throws WrongResult if they differ by more than `tolerance` times the rms. False
/// if there is no other way to compute it, so that nothing was compared.
bool check_results(const StageTrial& trial, const std::vector<StageInput>& inputs, double tolerance);

/// Bytes of a block: of all ports together without transfers, of the inputs, of the outputs.
std::size_t bytes_of_ports(const Plan& plan);
std::size_t bytes_in(const Plan& plan);
std::size_t bytes_out(const Plan& plan);

}  // namespace iqd
