// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/mimo/detector_stage.hpp"
#include "pipeline/stages/mimo/one_pass_detector/one_pass_detector.hpp"

namespace iqd::one_pass_detector {
namespace {

class OnePassDetectorStage final : public mimo::DetectorStageWith<Config> {
 public:
  void shape(ShapeContext& context) override {
    DetectorStage::shape(context);
    context.scratch_bytes = scratch_bytes(detector_shape());
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const mimo::DetectorShape shape = detector_shape();
    const auto clip = static_cast<float>(config().clip);
    if (auto* cuda = device_half<CudaHalf>(backend, "one_pass_detector")) return cuda(shape, clip);
    return mimo::detector_cpu_run(run_cpu, shape, clip);
  }
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  mimo::clip_field(v, clip);
}

StageEntry entry() {
  return mimo::detector_entry("one_pass_detector", "soft MIMO detection by one pass through a trellis",
                              make_stage<OnePassDetectorStage>, "one_pass_detector: {modulation: qpsk}", 1e-4);
}

}  // namespace iqd::one_pass_detector
