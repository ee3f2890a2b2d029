// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// CUDA against the CPU with keys that lead to other code than the sample's.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "pipeline/cpu_backend.hpp"
#include "tests/conformance/stage_input.hpp"

namespace iqd::conformance {
namespace {

struct Keys {
  std::string_view stage;
  std::string keys;
};

std::vector<Keys> all_keys() {
  std::vector<Keys> all;
  for (const int size : {1, 2, 3, 4, 8, 16, 31, 32, 64, 100, 128, 256, 360, 512, 2048, 4096, 97})
    for (const char* more : {"", ", window: hann", ", shift: true", ", inverse: true, shift: true, window: kaiser"})
      if (size > 2 || std::string_view(more).find("window") == std::string_view::npos)
        all.push_back({"fft", fmt::format("{{size: {}{}}}", size, more)});
  for (const int size : {3, 16, 31, 64, 100, 128, 512, 2048, 4096})
    for (const char* more : {"", ", average: 1", ", window: rectangular"})
      all.push_back({"spectrum", fmt::format("{{size: {}{}}}", size, more)});
  for (const char* keys : {"{threshold: -60, max: 1}", "{threshold: -60, max: 3000}", "{threshold: 1}",
                           "{threshold: 0, max: 300}", "{threshold: 1e30}"})
    all.push_back({"peak_finder", keys});
  return all;
}

std::vector<StageOutput> outputs(const StageEntry& entry, const std::string& keys, int channels, std::int64_t length,
                                 Signal signal, std::int64_t block, const std::string& backend) {
  Problems problems;
  const Element element = entry.inputs.front().elements.front();
  StageRunner runner(entry, keys, inputs_for(entry, element, channels, length, signal), block, backend, problems);
  for (const Problem& p : problems) ADD_FAILURE() << p.text();
  return problems.empty() ? runner.run() : std::vector<StageOutput>();
}

TEST(Cuda, AgreesWithTheCpuWithOtherKeys) {
  try {
    choose_backend("cuda");
  } catch (const SetupError& e) {
    GTEST_SKIP() << "NO KEYS WERE TESTED ON CUDA: " << e.what();
  }
  constexpr std::int64_t kLength = 40009;
  for (const Keys& k : all_keys())
    for (const int channels : {1, 2})
      for (const Signal signal : {Signal::noise, Signal::huge})
        for (const std::int64_t block : {10007, 0}) {
          const StageEntry& entry = *find_stage(k.stage);
          const auto cpu = outputs(entry, k.keys, channels, kLength, signal, block, "cpu");
          const auto cuda = outputs(entry, k.keys, channels, kLength, signal, block, "cuda");
          ASSERT_EQ(cpu.size(), cuda.size());
          // Of so many transforms the worst is worse than of the few of the sample.
          for (std::size_t o = 0; o < cpu.size(); ++o)
            EXPECT_LE(distance(cpu[o], cuda[o]), 2 * entry.tolerance)
                << k.stage << " " << k.keys << " in blocks of " << block << ", " << channels << " channel(s), signal "
                << static_cast<int>(signal);
        }
}

}  // namespace
}  // namespace iqd::conformance
