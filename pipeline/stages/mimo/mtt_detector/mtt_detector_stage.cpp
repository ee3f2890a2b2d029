// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/mimo/detector_stage.hpp"
#include "pipeline/stages/mimo/mtt_detector/mtt_detector.hpp"

namespace iqd::mtt_detector {
namespace {

class MttDetectorStage final : public mimo::DetectorStageWith<Config> {
 public:
  void shape(ShapeContext& context) override {
    DetectorStage::shape(context);
    context.scratch_bytes = scratch_bytes(detector_shape());
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const mimo::DetectorShape shape = detector_shape();
    if (auto* cuda = device_half<CudaHalf>(backend, "mtt_detector")) return cuda(shape, config());
    return mimo::detector_cpu_run(run_cpu, shape, config());
  }
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("lists", lists, {.help = "paths that an LLR is computed from: those of its antenna's own pass, or all"});
  v.field("variant", variant, {.help = "paper: costs of all points one by one, as published; for comparison"});
}

StageEntry entry() {
  return mimo::detector_entry("mtt_detector", "soft MIMO detection by multi-pass trellis traversal",
                              make_stage<MttDetectorStage>, "mtt_detector: {modulation: qpsk}", 1e-4);
}

}  // namespace iqd::mtt_detector
