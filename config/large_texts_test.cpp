// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>

#include "config/reader.hpp"
#include "config/test_options.hpp"

namespace iqd {
namespace {

/// Time must grow no faster than the input.
TEST(LargeTexts, TakeLinearTime) {
  const std::string n(100000, ' ');
  const auto repeated = [](std::string_view piece, int times) {
    std::string s;
    for (int i = 0; i < times; ++i) s += piece;
    return s;
  };
  std::string keys;
  for (int i = 0; i < 20000; ++i) keys += "key" + std::to_string(i) + ": 1\n";
  const std::string texts[] = {repeated("[", 100000),
                               repeated("a: ", 50000),
                               repeated("- ", 50000),
                               repeated("{a: ", 50000),
                               repeated("? ", 50000),
                               repeated("'", 100001),
                               "a: [" + repeated("1, ", 200000) + "1]",
                               keys,
                               repeated("&a ", 50000),
                               repeated("[]", 50000),
                               "a: " + n + "b",
                               repeated("!", 100000)};
  for (const std::string& text : texts) {
    Problems problems;
    TestOptions options;
    const auto start = std::chrono::steady_clock::now();
    const Document document = parse_document(text, "a.yaml", problems);
    read_fields(
        document.root, [&](FieldVisitor& v) { options.fields(v); }, problems);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    EXPECT_LT(took.count(), 20.0) << text.substr(0, 20);
  }
}

}  // namespace
}  // namespace iqd
