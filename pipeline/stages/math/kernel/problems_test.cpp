// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The problems that a wrong kernel reports.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/kernel_under_test.hpp"

namespace iqd::kernel {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using KernelProblems = KernelTest;

constexpr const char* kScaleText = "__device__ float2 f(float2 x, float k) { return make_float2(k * x.x, k * x.y); }";

TEST_F(KernelProblems, WhatDoesNotCompileHasItsLine) {
  const std::string file = folder_.write("bad.cu", "__device__ float2 f(float2 x) {\n  x.x = y;\n  return x;\n}\n");
  EXPECT_THAT(complaint("{file: " + file + "}"), StartsWith(file + ":2:9 kernel: "));
  EXPECT_THAT(complaint("{file: " + file + "}"), HasSubstr("'y'"));
  const std::string missing =
      folder_.write("undefined.cu", "__device__ float g(float);\n__device__ float f(float x) { return g(x); }\n");
  EXPECT_THAT(complaint("{file: " + missing + ", in: [f32], out: f32}", {Element::f32}),
              HasSubstr("undefined reference"));
}

TEST_F(KernelProblems, AFunctionHasToReturn) {
  const std::string file = folder_.write("none.cu", "__device__ float2 f(float2 x)\n{\n}\n");
  EXPECT_THAT(complaint("{file: " + file + "}"), StartsWith(file + ":3:1 kernel: no return statement"));
}

TEST_F(KernelProblems, AnOpenBraceIsToldOnce) {
  const std::string inside =
      folder_.write("a.cu", "__device__ float2 f(float2 x)\n{\n  if (x.x > 0) {\n  return x;\n}\n");
  const std::string before = folder_.write(
      "b.cu", "__device__ float g(float x) {\n  return x;\n\n__device__ float2 f(float2 x)\n{ return x; }\n");
  EXPECT_EQ(complaint("{file: " + inside + "}"), inside + ":2 kernel: this '{' is never closed");
  EXPECT_EQ(complaint("{file: " + before + "}"), before + ":1: this '{' is never closed\n");
}

TEST_F(KernelProblems, AByteOrderMarkIsPassedOver) {
  const std::string file = folder_.write("bom.cu", "\xef\xbb\xbf__device__ float2 f(float2 x) { return x; }\n");
  EXPECT_EQ(complaint("{file: " + file + "}"), "");
}

TEST_F(KernelProblems, LinesOfCodeAreThoseOfThePipeline) {
  EXPECT_THAT(complaint("code: |\n  __device__ float2 f(float2 x) {\n    return y;\n  }\n"),
              StartsWith("test.yaml:3:"));
  EXPECT_THAT(complaint("function: f\ncode: \"__device__ float2 f(float2 x) { return y; }\"\n"),
              StartsWith("test.yaml:2:"));
}

TEST_F(KernelProblems, AnotherSignatureIsToldWithTheRightOne) {
  const auto file = [&](const std::string& text) {
    return "{file: " + folder_.write("f.cu", text) + ", params: {k: 2}}";
  };
  const std::string right = "expected __device__ float2 f(float2 x, float k)";
  for (const char* text :
       {"\nfloat2 f(float2 x, float k) { return x; }", "\n__device__ float f(float2 x, float k) { return x.x; }",
        "\n__device__ float2 f(float x, float k) { return make_float2(x, k); }",
        "\n__device__ float2 f(const float2* x, float k) { return x[0]; }",
        "\ntemplate <class T> __device__ float2 f(T x, float k) { return x; }",
        "\n__device__ float2 f() { return make_float2(0, 0); }"}) {
    EXPECT_THAT(complaint(file(text)), HasSubstr("f.cu:2")) << text;
    EXPECT_THAT(complaint(file(text)), HasSubstr(right)) << text;
  }
  EXPECT_THAT(complaint(file("__device__ float2 f(float2 x, char* k) { return x; }")), HasSubstr("'k' of f is char*"));
  EXPECT_THAT(complaint(file("__device__ float2 f(float2 x) { return x; }")),
              HasSubstr("f has no parameter of this name"));
  EXPECT_THAT(complaint(file("__device__ float2 f(float2 x, float q) { return x; }")),
              HasSubstr("'q' of f has no value"));
}

TEST_F(KernelProblems, KeysThatAreWrongAreToldWithTheirPlace) {
  const std::string empty = folder_.write("empty.cu", " \n"), none = folder_ / "none.cu";
  EXPECT_EQ(complaint("{file: " + none + "}"),
            "test.yaml:1:2 file: " + none + " cannot be read: No such file or directory\n");
  EXPECT_EQ(complaint("{file: " + empty + "}"), "test.yaml:1:2 file: " + empty + " is empty\n");
  EXPECT_THAT(complaint("{file: " + folder_.path().string() + "}"), HasSubstr("is a folder"));
  EXPECT_THAT(complaint("{file: /dev/zero}"), HasSubstr("is not a regular file"));
  EXPECT_THAT(complaint("{file: " + folder_.write("b.cu", std::string("a\0b", 3)) + "}"),
              HasSubstr("is not a text file"));
  EXPECT_THAT(complaint("{}"), HasSubstr("needs `file:`"));
  EXPECT_THAT(complaint("{code: a, file: b}"), HasSubstr("one of them"));
  EXPECT_THAT(complaint(with(kScaleText, "function: g")),
              HasSubstr("there is no function 'g' in test.yaml; there is f"));
  for (const char* name : {"2f", "f;", "a b", "''", "f::g"})
    EXPECT_THAT(complaint(with(kScaleText, std::string("function: ") + name)),
                HasSubstr("is not a valid function name"));
  EXPECT_THAT(complaint(with(kScaleText, "in: [cf64]")), HasSubstr("'cf64' is not one of cf32"));
  EXPECT_THAT(complaint(with(kScaleText, "in: []")), HasSubstr("one or two"));
  EXPECT_THAT(complaint(with(kScaleText, "in: [f32], params: {k: 1}")),
              HasSubstr("expected __device__ float2 f(float x, float k)"));
  EXPECT_THAT(complaint(with(kScaleText, "past: 2000, future: 49")), HasSubstr("the maximum is 2048"));
  EXPECT_THAT(complaint(with(kScaleText, "params: {k: [1, 2]}")), HasSubstr("params.k: '[1, 2]' is complex"));
  EXPECT_THAT(complaint(with(kScaleText, "params: {k: 1e39}")), HasSubstr("is out of range for float"));
  EXPECT_THAT(complaint(with(kScaleText, "params: {k: fast}")), HasSubstr("is not a number"));
}

TEST_F(KernelProblems, WhatComesInHasToBeWhatItTakes) {
  EXPECT_THAT(complaint(with(kScaleText, "params: {k: 1}"), {Element::f32}),
              HasSubstr("names cf32, but the input is f32"));
  EXPECT_THAT(complaint(with(kScaleText, "params: {k: 1}"), {Element::cf32, Element::cf32}),
              HasSubstr("names 1 input(s), but there are 2"));
}

}  // namespace
}  // namespace iqd::kernel
