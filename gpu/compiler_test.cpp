// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/compiler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "gpu/late_library.hpp"
#include "gpu/owned.hpp"

namespace iqd::gpu {
namespace {

using ::testing::HasSubstr;

constexpr const char* kScale = R"(
extern "C" __global__ void scale(const float* x, float* y, int n, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = OFFSET + by * x[i];
}
)";
const std::vector<std::string> kOptions{"-DOFFSET=1.0f"};

template <class Action> std::string error_of(Action action) {
  try {
    action();
  } catch (const SetupError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

/// Why there is no compiler here; empty if there is one.
std::string no_compiler() {
  try {
    LateLibrary("libnvrtc.so.13", "NVRTC");
  } catch (const SetupError& e) {
    return e.what();
  }
  return {};
}

/// Compiling needs no device.
class Compiler : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = no_compiler(); !why.empty()) GTEST_SKIP() << "NVRTC WAS NOT TESTED: " << why;
  }
};

TEST_F(Compiler, GivesMachineCode) {
  const std::vector<char> code = compile(kScale, "scale.cu", kOptions, "sm_90");
  ASSERT_GT(code.size(), 4U);
  EXPECT_EQ(std::string(code.data() + 1, 3), "ELF");
}

TEST_F(Compiler, KnowsTheStandardOfTheSources) {
  EXPECT_NO_THROW(compile("static_assert(__cplusplus >= 202002L);", "standard.cu", {}, "sm_90"));
}

TEST_F(Compiler, NamesTheLineOfAMistake) {
  const std::string text =
      error_of([] { compile("__global__ void f() {\n  int x = 1;\n  x = y;\n}\n", "mine.cu", {}, "sm_90"); });
  EXPECT_THAT(text, HasSubstr("mine.cu cannot be compiled"));
  EXPECT_THAT(text, HasSubstr("mine.cu(3)"));
  EXPECT_THAT(text, HasSubstr("\"y\" is undefined"));
  EXPECT_NE(text.back(), '\n');
}

TEST_F(Compiler, NamesAnArchitectureOrOptionThatThereIsNot) {
  EXPECT_THAT(error_of([] { compile(kScale, "scale.cu", kOptions, "sm_1"); }), HasSubstr("architecture"));
  const std::vector<std::string> wrong{"--unheard-of"};
  EXPECT_THAT(error_of([&] { compile(kScale, "scale.cu", wrong, "sm_90"); }), HasSubstr("unheard-of"));
}

TEST(Late, ALibraryThatIsNotThereIsNamed) {
  const std::string text = error_of([] { LateLibrary("libunheard_of.so.13", "the unheard-of"); });
  EXPECT_THAT(text, HasSubstr("the unheard-of"));
  EXPECT_THAT(text, HasSubstr("libunheard_of.so.13"));
  EXPECT_THAT(text, HasSubstr("LD_LIBRARY_PATH"));
}

TEST(Late, AFunctionThatIsNotThereIsNamed) {
  const LateLibrary library("libc.so.6", "C");
  EXPECT_NE(library.find<void* (*)(std::size_t)>("malloc"), nullptr);
  EXPECT_THAT(error_of([&] { library.find<void (*)()>("unheard_of"); }), HasSubstr("unheard_of"));
}

class CompiledKernel : public Compiler {
 protected:
  void SetUp() override {
    Compiler::SetUp();
    int devices = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&devices); error != cudaSuccess || devices == 0)
      GTEST_SKIP() << "NO KERNEL WAS COMPILED AT RUN TIME AND RUN: " << cudaGetErrorString(error);
    stream = make_stream(0);
    check(cudaMallocManaged(reinterpret_cast<void**>(&x), 2 * kCount * sizeof(float)), "cudaMallocManaged");
    for (int i = 0; i < kCount; ++i) x[i] = static_cast<float>(i);
  }
  void TearDown() override { cudaFree(x); }

  static constexpr int kCount = 1000;
  Stream stream;
  float* x = nullptr;
};

TEST_F(CompiledKernel, Runs) {
  const CompiledModule module(compile(kScale, "scale.cu", kOptions));
  const Kernel scale = module.kernel("scale");
  float* y = x + kCount;
  EXPECT_EQ(scale.launch(groups_of(kCount, 128), 128, 0, view_of(stream.get()), x, y, kCount, 2.0F), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(y[i], 1 + 2 * static_cast<float>(i));
}

TEST_F(CompiledKernel, IsCaptured) {
  const CompiledModule module(compile(kScale, "scale.cu", kOptions));
  const Kernel scale = module.kernel("scale");
  float* y = x + kCount;
  cudaGraph_t captured = nullptr;
  check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  EXPECT_EQ(scale.launch(groups_of(kCount, 128), 128, 0, view_of(stream.get()), x, y, kCount, -1.0F), cudaSuccess);
  check(cudaStreamEndCapture(stream.get(), &captured), "cudaStreamEndCapture");
  const Graph graph(captured);
  cudaGraphExec_t made = nullptr;
  check(cudaGraphInstantiate(&made, graph.get(), 0), "cudaGraphInstantiate");
  const GraphExec exec(made);
  check(cudaGraphLaunch(exec.get(), stream.get()), "cudaGraphLaunch");
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
  EXPECT_EQ(y[kCount - 1], 1 - static_cast<float>(kCount - 1));
}

TEST_F(CompiledKernel, WithoutAGroupNothingIsLaunched) {
  const CompiledModule module(compile(kScale, "scale.cu", kOptions));
  EXPECT_EQ(module.kernel("scale").launch(0, 128, 0, view_of(stream.get()), x, x, 0, 1.0F), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CompiledKernel, IsNamedWhereThereIsNone) {
  const CompiledModule module(compile(kScale, "scale.cu", kOptions));
  EXPECT_THAT(error_of([&] { static_cast<void>(module.kernel("shrink")); }), HasSubstr("shrink"));
}

/// The runtime loads code when a kernel is first requested.
TEST_F(CompiledKernel, CodeThatIsNoneIsRefused) {
  const std::string text = "this is no machine code, and long enough to be looked at as if it were some of it";
  EXPECT_THAT(error_of([&] { static_cast<void>(CompiledModule{text}.kernel("scale")); }),
              HasSubstr("image is invalid"));
}

}  // namespace
}  // namespace iqd::gpu
