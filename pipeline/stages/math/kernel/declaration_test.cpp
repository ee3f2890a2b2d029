// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/declaration.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace iqd::kernel {
namespace {

/// `float2 f(float2 x, int n) @2; …`
std::string found_in(std::string_view text) {
  std::string all;
  for (const Declaration& d : find_functions(text)) {
    all += (d.is_template ? "template " : "") + d.result + " " + d.name + "(";
    for (std::size_t a = 0; a < d.arguments.size(); ++a)
      all += (a ? ", " : "") + d.arguments[a].type + " " + d.arguments[a].name;
    all += ") @" + std::to_string(d.line) + ";";
  }
  return all;
}

TEST(Declaration, AsPeopleWriteThem) {
  EXPECT_EQ(found_in("__device__ float2 f(float2 x, float k) { return x; }"), "float2 f(float2 x, float k) @1;");
  EXPECT_EQ(found_in("\n\nstatic __device__ __forceinline__\nfloat2\nf(const float2 &x,\n  const int n = 3)\n{}"),
            "float2 f(float2 x, int n) @5;");
  EXPECT_EQ(found_in("extern \"C\" __host__ __device__ unsigned  char f(short2, unsigned char b);"),
            "unsigned char f(short2 , unsigned char b) @1;");
  EXPECT_EQ(found_in("float f(const float2* __restrict__ x, float2 const *y, const short z[])"),
            "float f(float2* x, float2* y, short* z) @1;");
  EXPECT_EQ(found_in("std::uint8_t f(std::int16_t a) {} int g(void) {}"), "uint8_t f(int16_t a) @1;int g() @1;");
  EXPECT_EQ(found_in("template <class T> T f(T x) {}"), "template template < class T > T f(T x) @1;");
}

TEST(Declaration, WhatIsNoFunctionIsPassedOver) {
  EXPECT_EQ(found_in("// float f(float x)\n/* float\n g(int) { */\n#define H(x) float h(x) { \\\n  }\n  # if 0\nint "
                     "k(int a) { \"}{\"; '}'; }"),
            "int k(int a) @7;");
  EXPECT_EQ(found_in("struct A { float f(float x) { return x; } };\nnamespace n { float g(float x); }\nint h(int i);"),
            "int h(int i) @3;");
  EXPECT_EQ(
      found_in("__constant__ float t[2] = {1, 2};\nconst float k = sinf(1);\nfloat f(float x) { if (x) { g(x); } }"),
      "float f(float x) @3;");
  EXPECT_EQ(found_in("float2 operator+(float2 a, float2 b) { return a; }"), "");
}

TEST(Declaration, SurvivesWhatIsNoText) {
  std::mt19937 random(1);
  const std::string words[] = {"float", "f",  "(", ")",  "{", "}", ",", "*", "\"",       "'", "/*",  "*/",
                               "//",    "\n", "#", "\\", "[", "]", "=", ";", "template", " ", "\xff"};
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (auto n = random() % 24; n > 0; --n) text += words[random() % std::size(words)];
    for (const Declaration& d : find_functions(text)) EXPECT_FALSE(d.name.empty()) << text;
  }
}

}  // namespace
}  // namespace iqd::kernel
