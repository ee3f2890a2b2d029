// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/convolution.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "gpu/owned.hpp"
#include "tests/support/convolution_case.hpp"

namespace iqd::gpu {
namespace {

constexpr cf32 kUntouched(9, 9);

/// Device memory with rows `pitch` apart and `fill` after each row's samples.
class DeviceRows {
 public:
  DeviceRows(const std::vector<cf32>& values, std::int64_t rows, std::int64_t length, std::int64_t pitch, cf32 fill)
      : host_(static_cast<std::size_t>(rows * pitch), fill) {
    for (std::int64_t r = 0; r < rows && !values.empty(); ++r)
      std::copy_n(values.begin() + r * length, length, host_.begin() + r * pitch);
    check(cudaMalloc(reinterpret_cast<void**>(&data_), bytes() + 256), "cudaMalloc");
    check(cudaMemcpy(data_, host_.data(), bytes(), cudaMemcpyHostToDevice), "cudaMemcpy");
    settle();
  }
  ~DeviceRows() { cudaFree(data_); }
  DeviceRows(const DeviceRows&) = delete;
  DeviceRows& operator=(const DeviceRows&) = delete;

  cf32* data() const { return data_; }
  std::vector<cf32> fetched() {
    check(cudaMemcpy(host_.data(), data_, bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return host_;
  }

 private:
  std::size_t bytes() const { return host_.size() * sizeof(cf32); }
  std::vector<cf32> host_;
  cf32* data_ = nullptr;
};

class CudaConvolution : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&devices); error != cudaSuccess || devices == 0)
      GTEST_SKIP() << "CONVOLUTION ON A GPU WAS NOT TESTED: " << cudaGetErrorString(error);
    stream_ = make_stream(0);
  }

  /// Rows of y are `padding` more than their outputs apart, or as the method requires.
  std::vector<cf32> run(const ConvolutionCase& c, const ConvolutionChoice& choice, std::int64_t padding,
                        std::int64_t& pitch) {
    const ConvolutionShape& s = c.shape;
    const auto convolver = convolution_table().make(s, choice);
    const std::int64_t whole = convolver->padded_row();
    const auto apart = [&](std::int64_t length) { return whole > 0 ? whole : length + padding; };
    // Memory after the samples must not be read, unless the method needs zeros there.
    const float behind = whole > 0 ? 0.0f : std::numeric_limits<float>::quiet_NaN();
    const DeviceRows x(c.x, s.batch, s.signal, apart(s.signal), behind);
    const DeviceRows h(c.h, s.filters(), s.taps, apart(s.taps), behind);
    const DeviceRows g(c.g, c.second_filters, s.second, apart(s.second), behind);
    pitch = apart(s.outputs());
    DeviceRows y({}, s.batch, s.outputs(), pitch, kUntouched);
    const DeviceRows scratch({}, 1, 1, static_cast<std::int64_t>(convolver->scratch_bytes() / sizeof(cf32)) + 1,
                             std::numeric_limits<float>::quiet_NaN());
    convolver->run({{x.data(), {s.batch, s.signal}, apart(s.signal)},
                    {h.data(), {s.filters(), s.taps}, apart(s.taps)},
                    {g.data(), {c.second_filters, s.second}, apart(s.second)},
                    {y.data(), {s.batch, s.outputs()}, pitch}},
                   reinterpret_cast<std::byte*>(scratch.data()), view_of(stream_.get()));
    check(cudaGetLastError(), "a launch");
    check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    return y.fetched();
  }

  void expect(const ConvolutionCase& c, const ConvolutionChoice& choice, std::int64_t padding) {
    std::int64_t pitch = 0;
    const std::string what = text_of(c.shape) + ", " + text_of(choice);
    const std::vector<cf32> y = run(c, choice, padding, pitch);
    c.expect(y, pitch, what);
    if (choice.method == "cufft_padded") return;  // writes whole rows
    for (std::int64_t b = 0; b < c.shape.batch; ++b)
      for (std::int64_t i = c.shape.outputs(); i < pitch; ++i)
        ASSERT_EQ(y[static_cast<std::size_t>(b * pitch + i)], kUntouched) << what << ", packet " << b;
  }

  Stream stream_;
};

TEST_F(CudaConvolution, EachMethodIsTheDefinition) {
  for (const ConvolutionShape& shape : convolution_shapes()) {
    const ConvolutionCase c(shape);
    for (const ConvolutionChoice& choice : convolution_table().choices(shape)) expect(c, choice, 3);
  }
}

TEST_F(CudaConvolution, PacketsOfTheThesis) {
  const ConvolutionCase c(convolution_shape("12672x186+21x3"));
  for (const ConvolutionChoice& choice : convolution_table().choices(c.shape)) expect(c, choice, 0);
}

TEST_F(CudaConvolution, ASecondFilterMayBeOneForAll) {
  const ConvolutionCase c(convolution_shape("300x30+5x3"), true);
  for (const ConvolutionChoice& choice : convolution_table().choices(c.shape)) expect(c, choice, 1);
}

TEST_F(CudaConvolution, ManyShortPackets) {
  const ConvolutionCase c(convolution_shape("40x5x1000"));
  for (const ConvolutionChoice& choice : convolution_table().choices(c.shape)) expect(c, choice, 0);
}

TEST_F(CudaConvolution, WhatIsNotFiniteStaysInItsPacket) {
  ConvolutionCase c(convolution_shape("300x30x3"));
  c.x[300 + 10] = {std::numeric_limits<float>::infinity(), 0};
  const auto finite = [](cf32 v) { return std::isfinite(v.real()) && std::isfinite(v.imag()); };
  for (const ConvolutionChoice& choice : convolution_table().choices(c.shape)) {
    std::int64_t pitch = 0;
    const auto y = run(c, choice, 0, pitch);
    const auto all_finite = [&](std::int64_t b) {
      return std::all_of(y.begin() + b * pitch, y.begin() + b * pitch + c.shape.outputs(), finite);
    };
    EXPECT_TRUE(all_finite(0)) << text_of(choice);
    EXPECT_FALSE(all_finite(1)) << text_of(choice);
    EXPECT_TRUE(all_finite(2)) << text_of(choice);
  }
}

TEST_F(CudaConvolution, IsCapturedOnceAndLaunchedManyTimes) {
  const ConvolutionShape shape = convolution_shape("300x30x2");
  const ConvolutionCase c(shape);
  const DeviceRows x(c.x, 2, 300, 300, 0), h(c.h, 2, 30, 30, 0);
  for (const char* method : {"tiled", "overlap"}) {
    const auto choices = convolution_table().choices(shape);
    const auto choice = std::find_if(choices.begin(), choices.end(), [&](const auto& a) { return a.method == method; });
    ASSERT_NE(choice, choices.end());
    const auto convolver = convolution_table().make(shape, *choice);
    DeviceRows y({}, 2, 329, 329, kUntouched);
    const DeviceRows scratch({}, 1, 1, static_cast<std::int64_t>(convolver->scratch_bytes() / sizeof(cf32)) + 1, 0);
    check(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    convolver->run({{x.data(), {2, 300}}, {h.data(), {2, 30}}, {}, {y.data(), {2, 329}}},
                   reinterpret_cast<std::byte*>(scratch.data()), view_of(stream_.get()));
    cudaGraph_t captured = nullptr;
    check(cudaStreamEndCapture(stream_.get(), &captured), "cudaStreamEndCapture");
    const Graph graph(captured);
    cudaGraphExec_t made = nullptr;
    check(cudaGraphInstantiate(&made, graph.get(), 0), "cudaGraphInstantiate");
    const GraphExec exec(made);
    for (int i = 0; i < 2; ++i) check(cudaGraphLaunch(exec.get(), stream_.get()), "cudaGraphLaunch");
    check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
    c.expect(y.fetched(), 329, method);
  }
}

TEST(CudaConvolutionTable, TheRuleIsOneOfTheChoices) {
  for (const ConvolutionShape& shape : convolution_shapes()) {
    const auto choices = convolution_table().choices(shape);
    const ConvolutionChoice rule = convolution_table().rule(shape);
    EXPECT_NE(std::find(choices.begin(), choices.end(), rule), choices.end()) << text_of(rule);
  }
  EXPECT_THROW(convolution_table().make(convolution_shape("100x21x3"), {"direct", 0}), UsageError);
  // The filter of `shared` is loaded with one load per thread.
  for (const ConvolutionChoice& choice : convolution_table().choices(convolution_shape("12672x186x1"))) {
    EXPECT_TRUE(choice.method != "shared" || choice.size >= 186) << choice.size;
  }
}

}  // namespace
}  // namespace iqd::gpu
