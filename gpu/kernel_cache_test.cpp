// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Needs the compiler, but no device.
#include "gpu/kernel_cache.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::gpu {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTwice = "extern \"C\" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n";

class Kernels : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      compiler_version();
    } catch (const SetupError& e) {
      GTEST_SKIP() << "NO KERNEL WAS COMPILED AND KEPT: " << e.what();
    }
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path()))
      names.push_back(entry.path().filename().string());
    return names;
  }
  static bool is_code(const std::vector<char>& code) {
    return code.size() > 4 && std::string(code.data() + 1, 3) == "ELF";
  }

  ScratchFolder scratch_;
  KernelCache cache_{scratch_.path()};
};

TEST_F(Kernels, AreKeptForThisProcessAndOthers) {
  const std::vector<char> code = cache_.compile(kTwice, "twice.cu", {}, "sm_90");
  EXPECT_TRUE(is_code(code));
  ASSERT_EQ(files().size(), 1u);
  // The cache returns a planted file, which shows that nothing was compiled.
  const std::vector<char> planted{'m', 'i', 'n', 'e'};
  ASSERT_EQ(FileCache(scratch_.path()).keep(files().front(), planted), "");
  EXPECT_EQ(cache_.compile(kTwice, "twice.cu", {}, "sm_90"), code) << "from memory";
  EXPECT_EQ(KernelCache(scratch_.path()).compile(kTwice, "twice.cu", {}, "sm_90"), planted) << "another process";
}

TEST_F(Kernels, AreToldApartByAllThatTheyAreMadeOf) {
  const Header one[] = {{"factor.hpp", "#define FACTOR 2\n"}}, other[] = {{"factor.hpp", "#define FACTOR 3\n"}};
  const std::vector<std::string> lines{"-lineinfo"};
  const std::string text = "#include \"factor.hpp\"\nextern \"C\" __global__ void f(int* x) { *x = FACTOR; }\n";
  const auto two = cache_.compile(text, "f.cu", {}, "sm_90", one);
  EXPECT_EQ(cache_.compile(text, "f.cu", {}, "sm_90", one), two);
  EXPECT_EQ(files().size(), 1u);
  EXPECT_NE(cache_.compile(text, "f.cu", {}, "sm_90", other), two);
  cache_.compile(text, "f.cu", lines, "sm_90", one);
  cache_.compile(text, "f.cu", {}, "sm_80", one);
  cache_.compile(text, "another.cu", {}, "sm_90", one);
  cache_.compile(text + "\n", "f.cu", {}, "sm_90", one);
  EXPECT_EQ(files().size(), 6u);
}

TEST_F(Kernels, RubbishIsCompiledAnewAndWrittenOver) {
  const std::vector<char> code = cache_.compile(kTwice, "twice.cu", {}, "sm_90");
  const std::string file = files().at(0), good = scratch_.text(file);
  for (const std::string& rubbish : {std::string(), std::string("rubbish"), good.substr(0, good.size() / 2)}) {
    scratch_.write(file, rubbish);
    EXPECT_TRUE(is_code(KernelCache(scratch_.path()).compile(kTwice, "twice.cu", {}, "sm_90")));
    EXPECT_EQ(scratch_.text(file).size(), good.size());
  }
}

TEST_F(Kernels, AFolderThatIsNoneIsWarnedOfOnce) {
  KernelCache cache(scratch_.write("a file", "mine"));
  const std::uint64_t before = log::lines();
  EXPECT_TRUE(is_code(cache.compile(kTwice, "twice.cu", {}, "sm_90")));
  EXPECT_EQ(log::lines(), before + 1);
  EXPECT_TRUE(is_code(cache.compile(kTwice, "again.cu", {}, "sm_90")));
  EXPECT_EQ(log::lines(), before + 1);
  EXPECT_EQ(scratch_.text("a file"), "mine");
}

TEST_F(Kernels, MistakesAreToldEachTimeAndNotKept) {
  for (int i = 0; i < 2; ++i) {
    try {
      cache_.compile("__global__ void f() { x = 1; }", "mine.cu", {}, "sm_90");
      ADD_FAILURE() << "was compiled";
    } catch (const SetupError& e) {
      EXPECT_THAT(e.what(), HasSubstr("mine.cu(1)"));
    }
    EXPECT_TRUE(files().empty());
  }
}

}  // namespace
}  // namespace iqd::gpu
