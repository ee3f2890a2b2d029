// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/log.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/built_path.hpp"

namespace iqd::fuzz {
namespace {

namespace fs = std::filesystem;

/// Inputs worth keeping: each takes another path through the code, or once crashed it.
class Corpus : public ::testing::TestWithParam<Target> {};

TEST_P(Corpus, EndsNothing) {
  ::setenv("CXX", "none", 1);                // so that kernels start no compiler
  ::setenv("IQD_PYTHON_WORKER", "none", 1);  // nor Python functions a process
  log::set_level(log::Level::none);
  const fs::path folder = built_path(IQD_SOURCE_FOLDER, "IQD_SOURCE_FOLDER") + "/tests/fuzz/corpus";
  int inputs = 0;
  for (const auto& entry : fs::directory_iterator(folder / GetParam().name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    SCOPED_TRACE(entry.path());
    const auto start = std::chrono::steady_clock::now();
    GetParam().run(input);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), 10.0);
    ++inputs;
  }
  log::set_level(log::Level::info);
  EXPECT_GT(inputs, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Corpus, ::testing::ValuesIn(targets().begin(), targets().end()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace iqd::fuzz
