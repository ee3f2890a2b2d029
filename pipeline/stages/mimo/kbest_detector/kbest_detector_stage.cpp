// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/mimo/detector_stage.hpp"
#include "pipeline/stages/mimo/kbest_detector/kbest_detector.hpp"

namespace iqd::kbest_detector {
namespace {

class KbestDetectorStage final : public mimo::DetectorStageWith<Config> {
 public:
  void shape(ShapeContext& context) override {
    DetectorStage::shape(context);
    context.scratch_bytes = scratch_bytes(detector_shape(), config());
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const mimo::DetectorShape shape = detector_shape();
    if (auto* cuda = device_half<CudaHalf>(backend, "kbest_detector")) return cuda(shape, config());
    return mimo::detector_cpu_run(run_cpu, shape, config());
  }
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("survivors", survivors, {.help = "paths kept, K; 0: as many as symbols", .low = 0, .high = kMostSurvivors});
  mimo::clip_field(v, clip);
}

StageEntry entry() {
  return mimo::detector_entry("kbest_detector", "soft MIMO detection with the K best paths",
                              make_stage<KbestDetectorStage>, "kbest_detector: {modulation: qpsk}", 1e-4);
}

}  // namespace iqd::kbest_detector
