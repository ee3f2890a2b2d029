// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// A stage must follow its block's calibration, also in code that was captured when another block had a different one.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/conformance/one_stage.hpp"
#include "tests/conformance/stage_input.hpp"

namespace iqd::conformance {
namespace {

constexpr std::int64_t kCalibrationBlock = 2000;

/// Output of align_channels for the second block, if the source's calibration changes at sample `tuned`.
std::vector<cf32> aligned(StageRunner& runner, SampleIndex tuned, bool before, bool after) {
  SampleBlock block;
  block.first = block.length = kCalibrationBlock;
  block.tuned = tuned;
  block.was_calibrated = before;
  block.calibrated = after;
  runner.set_block(block);
  runner.run_block();
  std::vector<cf32> all(2 * kCalibrationBlock);
  const BlockWork::Output out = runner.work().output(0);
  for (int row = 0; row < 2; ++row)
    std::memcpy(&all[row * kCalibrationBlock], out.data + row * out.pitch, kCalibrationBlock * sizeof(cf32));
  return all;
}

class Calibration : public ::testing::TestWithParam<const char*> {};

TEST_P(Calibration, HoldsFromSampleToSample) {
  if (const std::string why = no_cuda(); GetParam() == std::string_view("cuda") && !why.empty())
    GTEST_SKIP() << "NO CALIBRATION WAS TESTED ON CUDA: " << why;
  const StageEntry& entry = *find_stage("align_channels");
  const auto inputs = inputs_for(entry, Element::cf32, 2, 3 * kCalibrationBlock, Signal::noise);
  Problems problems;
  StageRunner runner(entry, "{gain: [6.02, 0], phase: [180, 0], delay: [0, 0.5], while_calibrated: true}", inputs,
                     kCalibrationBlock, GetParam(), problems);
  ASSERT_TRUE(problems.empty()) << problems.front().text();
  runner.rehearse(kCalibrationBlock, kCalibrationBlock);
  const std::vector<cf32> corrected = aligned(runner, -1, false, true), passed = aligned(runner, -1, true, false);
  std::vector<cf32> came(2 * kCalibrationBlock);
  for (std::size_t row = 0; row < 2; ++row)
    std::memcpy(&came[row * kCalibrationBlock],
                inputs[0].data.data() + (3 * row + 1) * kCalibrationBlock * sizeof(cf32),
                kCalibrationBlock * sizeof(cf32));
  EXPECT_EQ(passed, came);
  for (std::size_t n = 0; n < kCalibrationBlock; ++n)
    EXPECT_LT(std::abs(corrected[n] + came[n] / 2.0F), 1e-3 * std::abs(came[n]));
  EXPECT_GT(std::abs(corrected[kCalibrationBlock + 50] - came[kCalibrationBlock + 50]), 1e-3) << "half a sample apart";
  for (const SampleIndex tuned : {kCalibrationBlock - 7, kCalibrationBlock, kCalibrationBlock + 1,
                                  kCalibrationBlock + 515, 2 * kCalibrationBlock - 1, 2 * kCalibrationBlock + 9}) {
    const std::vector<cf32> lost = aligned(runner, tuned, true, false), found = aligned(runner, tuned, false, true);
    for (std::int64_t n = 0; n < 2 * kCalibrationBlock; ++n) {
      const auto i = static_cast<std::size_t>(n);
      const bool is_before = kCalibrationBlock + n % kCalibrationBlock < tuned;
      ASSERT_EQ(lost[i], is_before ? corrected[i] : passed[i]) << n << ", tuned at " << tuned;
      ASSERT_EQ(found[i], is_before ? passed[i] : corrected[i]) << n << ", tuned at " << tuned;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(On, Calibration, ::testing::Values("cpu", "cuda"),
                         [](const auto& on) { return std::string(on.param); });

}  // namespace
}  // namespace iqd::conformance
