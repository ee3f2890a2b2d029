// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/mimo/mtt_detector/mtt_detector.hpp"
#include "signal/filters/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/mimo/mtt_detector/mtt_detector_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "pipeline/stages/mimo/front_end_inl.hpp"
#include "pipeline/stages/mimo/mtt_detector/traversal_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace iqd::mtt_detector::HWY_NAMESPACE {

template <int kAxis, bool kPrior, bool kMixed = false>
std::int64_t detect_with(const mimo::DetectorShape& shape, const Config& config, const mimo::DetectorJob& job,
                         const mimo::Batch& batch, std::byte* memory) {
  Scratch scratch(memory);
  Traversal<kAxis, kPrior, kMixed> traversal(config, scratch);
  Front front;
  return detect_all(shape, job, batch, front, traversal);
}
template <int kAxis> std::int64_t detect_points(const mimo::DetectorShape& shape, const Config& config,
                                                const mimo::DetectorJob& job, const mimo::Batch& batch,
                                                std::byte* memory) {
  if (shape.mixed && !shape.prior && config.variant == Variant::fast)
    return detect_with<kAxis, false, true>(shape, config, job, batch, memory);
  return (shape.prior || shape.mixed ? detect_with<kAxis, true> : detect_with<kAxis, false>)(shape, config, job, batch,
                                                                                             memory);
}

std::int64_t detect(const mimo::DetectorShape& shape, const Config& config, const mimo::DetectorJob& job,
                    const mimo::Batch& batch, std::byte* memory) {
  switch (shape.bits) {
    case 2: return detect_points<1>(shape, config, job, batch, memory);
    case 4: return detect_points<2>(shape, config, job, batch, memory);
    case 6: return detect_points<3>(shape, config, job, batch, memory);
    default: return detect_points<4>(shape, config, job, batch, memory);
  }
}

std::size_t bytes(int bits) {
  Scratch count(nullptr);
  const Config config;
  switch (bits) {
    case 2: Traversal<1, true>(config, count); break;
    case 4: Traversal<2, true>(config, count); break;
    case 6: Traversal<3, true>(config, count); break;
    default: Traversal<4, true>(config, count); break;
  }
  return count.bytes();
}

}  // namespace iqd::mtt_detector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::mtt_detector {

HWY_EXPORT(detect);
HWY_EXPORT(bytes);

std::size_t scratch_bytes(const mimo::DetectorShape& shape) {
  return HWY_DYNAMIC_DISPATCH(bytes)(shape.bits);
}

std::int64_t run_cpu(const mimo::DetectorShape& shape, const Config& config, const mimo::DetectorJob& job,
                     const mimo::Batch& batch, std::byte* memory) noexcept {
  return HWY_DYNAMIC_DISPATCH(detect)(shape, config, job, batch, memory);
}

}  // namespace iqd::mtt_detector
#endif
