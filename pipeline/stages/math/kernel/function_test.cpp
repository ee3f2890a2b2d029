// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/function.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace iqd::kernel {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

/// One cf32 input, the text from line 10 of a file on.
Program program_of(const std::string& text) {
  Program program;
  program.name = "mine.cu";
  program.text = text;
  program.first_line = 10;
  program.in = {Element::cf32};
  return program;
}

/// The first problem; empty if there is none.
std::string first_problem(Program& program, const StringMap& params = {}) {
  Config config;
  config.params = params;
  Problems problems;
  read_function(config, Section("stages[0].kernel", {"a.yaml", 3, 1}, problems), program);
  return problems.empty() ? "" : problems.front().text();
}
std::string problem(const std::string& text, const StringMap& params = {}) {
  Program program = program_of(text);
  return first_problem(program, params);
}

TEST(Function, ParametersGetTheTypesOfTheDeclarationAndTheValuesOfTheKeys) {
  Program program = program_of("\n__device__ float2 f(float2 x, float k, int n) { return x; }");
  ASSERT_EQ(first_problem(program, {{"n", "-3"}, {"k", "0.5"}}), "");
  EXPECT_EQ(program.function, "f");
  EXPECT_EQ(program.function_line, 11);
  EXPECT_THAT(program.types, ElementsAre("float", "int"));
  ASSERT_EQ(program.values.size(), 2u);
  EXPECT_EQ(program.values[0].re, 0.5f);
  EXPECT_EQ(program.values[1].whole, -3);
  ASSERT_EQ(first_problem(program, {{"n", "4"}, {"k", "1"}}), "");  // again, with other values
  EXPECT_THAT(program.types, ElementsAre("float", "int"));
  EXPECT_EQ(program.values[1].whole, 4);
}

TEST(Function, AWrongDeclarationHasItsPlaceAndTheRightOne) {
  const std::string expected = "; expected __device__ float2 f(float2 x, float k)";
  EXPECT_EQ(problem("float2 f(float2 x, float k) { return x; }"),
            "mine.cu:10 stages[0].kernel: f lacks __device__" + expected);
  EXPECT_EQ(problem("\n__device__ float f(float2 x, float k) { return 0; }"),
            "mine.cu:11 stages[0].kernel: f returns float" + expected);
  EXPECT_THAT(problem("__device__ float2 f(const float2* x, float k) { return x[0]; }"),
              HasSubstr("takes float2* as argument 1, but `past` and `future` are 0"));
  EXPECT_THAT(problem("__device__ float2 f() { return make_float2(0, 0); }", {{"gain", "2j"}}),
              EndsWith("takes 0 argument(s), but `in` names 1; expected __device__ float2 f(float2 x, float2 gain)"));
}

TEST(Function, WithAHaloArgumentsArePointers) {
  Program program = program_of("__device__ float2 f(const float2* x) { return x[-1]; }");
  program.past = 1;
  EXPECT_EQ(first_problem(program), "");
  program.text = "__device__ float2 f(float2 x) { return x; }";
  EXPECT_THAT(first_problem(program),
              EndsWith("takes float2 as argument 1; expected __device__ float2 f(const float2* x)"));
}

TEST(Function, AMissingFunctionIsNamedWithThoseThatExist) {
  EXPECT_THAT(problem("__device__ float2 g(float2 x) { return x; }"),
              HasSubstr("there is no function 'f' in mine.cu; there is g"));
  EXPECT_THAT(problem("// nothing"), HasSubstr("; write __device__ float2 f(float2 x)"));
  EXPECT_EQ(problem("\n__device__ float2 f(float2 x) {"), "");  // the compiler reports it
  EXPECT_THAT(problem("__device__ float g() {\n\nfloat2 f(float2 x) {}"), HasSubstr("mine.cu:10"));
}

TEST(Function, ParametersAndKeysHaveToMatch) {
  EXPECT_THAT(problem("__device__ float2 f(float2 x, float k) { return x; }"),
              HasSubstr("parameter 'k' of f has no value: `params: {k: …}`"));
  EXPECT_THAT(problem("__device__ float2 f(float2 x, char* k) { return x; }", {{"k", "1"}}),
              HasSubstr("parameter 'k' of f is char*"));
  EXPECT_THAT(problem("__device__ float2 f(float2 x, float gain) { return x; }", {{"gain", "1"}, {"gian", "1"}}),
              HasSubstr("params.gian: f has no parameter of this name (did you mean 'gain'?); to add it, declare "
                        "__device__ float2 f(float2 x, float gain, float gian)"));
  EXPECT_THAT(problem("__device__ float2 f(float2 x, int n) { return x; }", {{"n", "1.5"}}),
              HasSubstr("params.n: '1.5' is not a whole number"));
}

}  // namespace
}  // namespace iqd::kernel
