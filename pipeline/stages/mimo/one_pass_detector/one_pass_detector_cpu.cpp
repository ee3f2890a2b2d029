// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/mimo/one_pass_detector/one_pass_detector.hpp"
#include "signal/filters/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/mimo/one_pass_detector/one_pass_detector_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "pipeline/stages/mimo/paths_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace iqd::one_pass_detector::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace mimo::HWY_NAMESPACE;

/// Puts the path of least cost into every symbol; of equal costs the first.
int reduce(const Paths& paths, const Paths::Choice& choice) {
  for (int q = 0; q < paths.points(); ++q) {
    const int i = paths.real_of(q), j = paths.imag_of(q);
    V least = all(std::numeric_limits<float>::infinity());
    auto parent = hn::Zero(I());
    for (int k = 0; k < paths.size(); ++k) {
      const V cost = hn::Add(paths.cost_re(k)[i].get(), paths.cost_im(k)[j].get());
      const auto less = hn::Lt(cost, least);
      least = hn::IfThenElse(less, cost, least);
      parent = hn::IfThenElse(hn::RebindMask(I(), less), hn::Set(I(), k), parent);
    }
    choice.parent[q].set(parent);
    choice.symbol[q].set(hn::Set(I(), q));
    choice.distance[q].set(least);
  }
  return paths.points();
}

std::int64_t run(const mimo::DetectorShape& shape, float clip, const mimo::DetectorJob& job, const mimo::Batch& batch,
                 std::byte* memory) {
  Scratch scratch(memory);
  Front& front = *scratch.take<Front>(1);
  Paths paths(shape.tx, shape.bits, std::int64_t{1} << shape.bits, scratch);
  paths.prepare();
  return detect_all(shape, job, batch, front, [&](Front& f) {
    paths.descend(f, clip, [&](const Paths::Choice& choice) { return reduce(paths, choice); });
  });
}

}  // namespace iqd::one_pass_detector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::one_pass_detector {

HWY_EXPORT(run);

std::size_t scratch_bytes(const mimo::DetectorShape& shape) {
  Scratch count(nullptr);
  count.take<mimo::HWY_NAMESPACE::Front>(1);
  mimo::HWY_NAMESPACE::Paths(shape.tx, shape.bits, std::int64_t{1} << shape.bits, count);
  return count.bytes();
}

std::int64_t run_cpu(const mimo::DetectorShape& shape, float clip, const mimo::DetectorJob& job,
                     const mimo::Batch& batch, std::byte* memory) noexcept {
  return HWY_DYNAMIC_DISPATCH(run)(shape, clip, job, batch, memory);
}

}  // namespace iqd::one_pass_detector
#endif
