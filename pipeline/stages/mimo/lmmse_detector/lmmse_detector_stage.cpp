// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/mimo/detector_stage.hpp"
#include "pipeline/stages/mimo/lmmse_detector/lmmse_detector.hpp"

namespace iqd::lmmse_detector {
namespace {

class LmmseDetectorStage final : public mimo::DetectorStage {
 public:
  void shape(ShapeContext& context) override {
    DetectorStage::shape(context);
    context.scratch_bytes = scratch_bytes();
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    const mimo::DetectorShape shape = detector_shape();
    if (auto* cuda = device_half<CudaHalf>(backend, "lmmse_detector")) return cuda(shape);
    return mimo::detector_cpu_run(run_cpu, shape);
  }
};

}  // namespace

StageEntry entry() {
  return mimo::detector_entry("lmmse_detector", "soft linear (LMMSE) MIMO detection", make_stage<LmmseDetectorStage>,
                              "lmmse_detector: {modulation: qpsk}", 1e-4);
}

}  // namespace iqd::lmmse_detector
