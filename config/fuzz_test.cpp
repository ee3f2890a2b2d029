// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <random>

#include "config/reader.hpp"
#include "config/test_options.hpp"
#include "config/text_check.hpp"

namespace iqd {
namespace {

constexpr std::string_view kSeeds[] = {
    "rate: 20.625 MS/s\nsize: 0x400\nwait: 3 ms\ntaps: [1, 0.3-0.1j, [0, 1]]\ncma:\n  step: 0.1\n  iterations: 3\n",
    "{refine: off, rate: 1e6, kinds: [zf, \"mm\\u00b5\", 'it''s'], args: {driver: iqdsim, x: ~}, method: fft}\n",
    "base: &b {rate: 1 kS/s, gains: [30 dB, -3]}\nname: |\n  two\n  lines\nother: *b\nchannels:\n- 0\n- 1\n# end\n",
    "--- !!map\nname: >-\n  folded\n  text\n? taps\n: - 1\n  - @none.npy\nweight: [1, 2]\nclip: none\n...\n",
};
constexpr std::string_view kPieces[] = {"[",  "]",   "{",    "}",    ": ",  "- ",   "\n",  "  ",     "&a ", "*a",  "'",
                                        "\"", "#",   "|\n",  ">",    "---", "...",  "? ",  "!!x ",   "\t",  "@",   "%",
                                        ",",  "\\x", "\xc3", "\xff", "~",   "<<: ", "1e9", "rate: ", "MHz", "\r\n"};

/// One to eight changes: a byte, a piece of syntax, a part doubled, moved or lost.
std::string mutated(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  for (std::size_t changes = 1 + below(8); changes > 0; --changes) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = below(std::min<std::size_t>(text.size() - at, 12) + 1);
    switch (below(5)) {
      case 0: text.insert(at, kPieces[below(std::size(kPieces))]); break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(below(text.size() + 1), text.substr(at, length)); break;
      case 3: text.replace(at, length, kPieces[below(std::size(kPieces))]); break;
      default: text.insert(at, 1, static_cast<char>(below(256))); break;
    }
  }
  return text;
}

/// Touches everything that a tree offers.
std::size_t walk(const Node& node) {
  std::size_t n = 1 + node.scalar().size() + node.found().size() + node.path().size();
  for (const auto& [key, value] : node.entries()) n += key.size() + walk(value) + walk(node[key]);
  for (const Node& item : node.items()) n += walk(item);
  return n;
}

TEST(Fuzz, AnyTextGivesProblemsOrValues) {
  const char* asked = std::getenv("IQD_FUZZ_RUNS");
  const long runs = asked == nullptr ? 100000 : std::strtol(asked, nullptr, 10);
  std::mt19937 random(20240611);
  long understood = 0;
  for (long i = 0; i < runs; ++i) {
    const std::string text = mutated(std::string(kSeeds[random() % std::size(kSeeds)]), random);
    Problems problems;
    TestOptions options;
    const auto start = std::chrono::steady_clock::now();
    const Document document = parse_document(text, "a.yaml", problems);
    EXPECT_GT(walk(document.root), 0u);
    if (document.root)
      read_fields(
          document.root, [&](FieldVisitor& v) { options.fields(v); }, problems);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    ASSERT_LT(took.count(), 2.0) << text;
    ASSERT_TRUE(document.root || !problems.empty()) << text;
    for (const Problem& p : problems) {
      const std::string line = p.text();
      ASSERT_TRUE(line.starts_with("a.yaml:")) << line << "\n" << text;
      ASSERT_EQ(line.find('\n'), std::string::npos) << line;
      Problems about_the_line;
      check_text(line, "", about_the_line);
      ASSERT_TRUE(about_the_line.empty()) << line;
    }
    understood += document.root ? 1 : 0;
  }
  EXPECT_GT(understood, runs / 20);  // else the changes are too wild to reach the reader
}

/// Inputs that grow must not take more than their share of time.
TEST(Fuzz, LargeTextsTakeLinearTime) {
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
