// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "pipeline/stages/math/kernel/host_compiler.hpp"
#include "tests/support/scratch_folder.hpp"
#include "tests/support/stage_under_test.hpp"

namespace iqd::kernel {

/// With its own cache.
class KernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (host_compiler().empty()) GTEST_SKIP() << "NO KERNEL WAS COMPILED: there is no compiler";
    ::setenv("IQD_CACHE_DIR", (folder_ / "cache").c_str(), 1);
  }
  void TearDown() override { ::unsetenv("IQD_CACHE_DIR"); }

  struct UnderTest : iqd::testing::StageUnderTest {
    UnderTest(const std::string& yaml, const std::vector<Element>& in, std::int64_t channels = 1)
        : StageUnderTest(entry(), yaml, shapes(in, channels)) {}
    static std::vector<PortShape> shapes(const std::vector<Element>& in, std::int64_t channels) {
      std::vector<PortShape> all;
      for (const Element e : in) all.push_back(testing::stream_of(e, channels));
      return all;
    }
  };
  /// `keys` after the code.
  static std::string with(const std::string& code, const std::string& keys = "") {
    return "{code: \"" + code + "\"" + (keys.empty() ? "" : ", " + keys) + "}";
  }
  /// The problems of a kernel with one cf32 input.
  static std::string complaint(const std::string& yaml, const std::vector<Element>& in = {Element::cf32}) try {
    return UnderTest(yaml, in).complaints();
  } catch (const UsageError& e) {
    return e.what();
  }
  ScratchFolder folder_;
};

}  // namespace iqd::kernel
