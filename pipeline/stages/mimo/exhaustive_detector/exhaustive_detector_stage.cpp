// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "pipeline/stages/mimo/detector_stage.hpp"
#include "pipeline/stages/mimo/exhaustive_detector/exhaustive_detector.hpp"

namespace iqd::exhaustive_detector {
namespace {

class ExhaustiveDetectorStage final : public mimo::DetectorStage {
 public:
  void shape(ShapeContext& context) override {
    DetectorStage::shape(context);
    context.scratch_bytes = scratch_bytes();
    const mimo::DetectorShape& shape = detector_shape();
    if (shape.llrs() > kMostBits)
      context.section.problem(
          "modulation", fmt::format("{} transmit antennas with {} bits each have 2^{} combinations; the limit is 2^{}: "
                                    "use mtt_detector or kbest_detector, or fewer bits",
                                    shape.tx, shape.bits, shape.llrs(), kMostBits));
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    require_cpu(backend, "exhaustive_detector runs on the CPU only: set `backend: cpu`");
    return mimo::detector_cpu_run(run_cpu, detector_shape());
  }
};

}  // namespace

StageEntry entry() {
  StageEntry entry =
      mimo::detector_entry("exhaustive_detector", "exact (max-log) soft MIMO detection, by exhaustive search",
                           make_stage<ExhaustiveDetectorStage>, "exhaustive_detector: {modulation: qpsk}", 1e-5);
  entry.host_only = true;
  return entry;
}

}  // namespace iqd::exhaustive_detector
