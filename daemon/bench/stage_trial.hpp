// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "pipeline/stage_runner.hpp"

namespace iqd {

/// What a bench of stages times: a stage, or the chain that it begins, on blocks of so many items of its first input.
struct StageTrial {
  const StageEntry* entry = nullptr;
  std::string keys = "{}";  // YAML
  std::int64_t block = 0;
  std::string backend = "auto";
  std::string transfer = "auto";       // auto, mapped or copy
  std::vector<std::string> outputs{};  // of the stage, that are wanted; empty: all
  std::vector<ChainedStage> behind{};  // see StageRunner::Options
  bool fuse = true;
};

enum class Timed : std::uint8_t {
  whole,     // what a caller waits for
  resident,  // of a device: what the stages take whose input and output stay there, by its own clock
};

/// Several blocks' worth, so that no call finds its input in the first cache, and another phase each time.
inline constexpr std::int64_t kBlocksOfInput = 4;

/// `inputs` hold kBlocksOfInput blocks. Null, and problems, where the keys are wrong or the stages do not go together.
std::unique_ptr<StageRunner> make_runner(const StageTrial& trial, std::vector<StageInput> inputs, Timed timed,
                                         Problems& problems);

/// Microseconds of each block, one after the other on the calling thread; what comes before it is warm is not counted.
std::vector<double> time_blocks(StageRunner& runner, std::int64_t block, Timed timed, double seconds);

/// Several blocks under way on a device, host to host.
struct InFlight {
  std::vector<double> us;  // of each block
  double blocks_per_second = 0;
};
/// One runner for each that is under way.
InFlight time_in_flight(std::vector<std::unique_ptr<StageRunner>>& runners, std::int64_t block, double seconds);

/// What a stage gives is not what it should be.
class WrongResult : public SetupError {
 public:
  using SetupError::SetupError;
};

/// Holds what the trial gives of the first samples against the processor, stage by stage without fusion, in blocks of
/// half the length where that must not matter. Throws WrongResult where they are further apart than `tolerance` times
/// the rms. False where there is no other way to compute it, so that nothing was compared.
bool check_results(const StageTrial& trial, const std::vector<StageInput>& inputs, double tolerance);

/// Bytes of a block: of all ports together without transfers, of the inputs, of what comes out.
std::size_t bytes_of_ports(const Plan& plan);
std::size_t bytes_in(const Plan& plan);
std::size_t bytes_out(const Plan& plan);

}  // namespace iqd
