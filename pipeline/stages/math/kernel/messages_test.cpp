// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/messages.hpp"

#include <gtest/gtest.h>

#include "pipeline/stages/math/kernel/texts.hpp"

namespace iqd::kernel {
namespace {

std::string text_of(std::string_view log) {
  std::string all;
  for (const Message& m : errors_in(log))
    all +=
        m.place.file + ":" + std::to_string(m.place.line) + ":" + std::to_string(m.place.column) + ": " + m.what + "|";
  return all;
}

TEST(Messages, OfEachCompiler) {
  EXPECT_EQ(text_of("a/b.cu: In function 'f':\na/b.cu:3:9: error: 'y' was not declared\n    3 |  y\n      |  ^\n"),
            "a/b.cu:3:9: 'y' was not declared|");
  EXPECT_EQ(text_of("b.cu:1:10: fatal error: x.h: No such file or directory\n"),
            "b.cu:1:10: x.h: No such file or directory|");
  EXPECT_EQ(text_of("b.cu(3): error: identifier \"y\" is undefined\n    y;\n    ^\n\n1 error detected.\n"),
            "b.cu:3:0: identifier \"y\" is undefined|");
  EXPECT_EQ(text_of("b.cu(1): catastrophic error: cannot open source file \"x.h\"\n"),
            "b.cu:1:0: cannot open source file \"x.h\"|");
  EXPECT_EQ(text_of("/tmp/x.o: in function `f':\nk.cpp:(.text+0x1): undefined reference to `g(float)'\n"),
            ":0:0: undefined reference to `g(float)'|");
}

TEST(Messages, WhatIsNotUnderstoodIsHandedOn) {
  EXPECT_EQ(text_of(""), ":0:0: the compiler failed without a message|");
  EXPECT_EQ(text_of("something\nelse\n  \n"), ":0:0: else|");
  EXPECT_EQ(errors_in([] {
              std::string log;
              for (int i = 0; i < 100; ++i) log += "b.cu:1:1: error: x\n";
              return log;
            }())
                .size(),
            10U);
}

TEST(Messages, OfOurOwnPartAreAboutTheDeclaration) {
  Problems problems;
  const Section section("stages[0].kernel", {"p.yaml", 3, 5}, problems);
  Program program;
  program.name = "mine.cu";
  program.function = "f";
  program.function_line = 7;
  add_problems({{{std::string(kOwnPart), 12, 3}, "no match"}, {{}, "lost"}, {{"mine.h", 2, 1}, "odd"}}, program,
               section);
  ASSERT_EQ(problems.size(), 2U) << "errors that follow from the user's mistakes are not reported";
  EXPECT_EQ(problems[0].text(), "mine.cu:1 stages[0].kernel: lost");
  EXPECT_EQ(problems[1].text(), "mine.h:2:1 stages[0].kernel: odd");
  problems.clear();
  add_problems({{{std::string(kOwnPart), 12, 3}, "no match"}, {{std::string(kOwnPart), 13, 3}, "no more"}}, program,
               section);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].text(), "mine.cu:7 stages[0].kernel: f does not match `in`, `out` and `params`: no match");
}

TEST(Messages, OfAnOpenBraceThereIsOne) {
  Problems problems;
  Program program;
  program.name = "mine.cu";
  program.text = "float f(float x)\n{\n  if (x > 0) {\n  return \"}\"[0];\n}\n";
  const Message noise{{std::string(kOwnPart), 1, 1}, "expected '}'"};
  add_problems({noise, noise, noise}, program, Section("kernel", {}, problems));
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].text(), "mine.cu:2 kernel: this '{' is never closed");
}

}  // namespace
}  // namespace iqd::kernel
