// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "daemon/commands.hpp"
#include "daemon/http_access.hpp"
#include "tests/support/built_path.hpp"

namespace iqd {
namespace {

/// The shipped pipelines, without their comments, in which changes would be lost.
std::vector<std::string> seeds() {
  std::vector<std::string> all;
  const std::string folder = built_path(IQD_SOURCE_FOLDER "/pipelines", "IQD_PIPELINES");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    std::ifstream file(entry.path());
    std::string text;
    for (std::string line; std::getline(file, line);) {
      line.erase(std::min(line.find('#'), line.size()));
      if (line.find_first_not_of(' ') != line.npos) text += line + "\n";
    }
    all.push_back(text + "monitor: {listen: \"127.0.0.1:0\"}\n");
  }
  std::sort(all.begin(), all.end());
  return all;
}

/// Words that mean something to the reader, and values that are at an edge or beyond.
constexpr std::string_view kWords[] = {"source",
                                       "stages",
                                       "publish",
                                       "sinks",
                                       "apply",
                                       "to",
                                       "monitor",
                                       "pipelines",
                                       "name",
                                       "from",
                                       "backend",
                                       "block",
                                       "lanes",
                                       "port",
                                       "topic",
                                       "bind",
                                       "connect",
                                       "kind",
                                       "hwm_bytes",
                                       "dtype",
                                       "rate",
                                       "channels",
                                       "taps",
                                       "fir",
                                       "fft",
                                       "spectrum",
                                       "size",
                                       "decimation",
                                       "realtime",
                                       "source.out",
                                       "soapy",
                                       "file",
                                       "generate",
                                       "zmq",
                                       "listen",
                                       "token",
                                       "insecure",
                                       "overrun",
                                       "0",
                                       "-1",
                                       "1",
                                       "2.5",
                                       "1e400",
                                       "nan",
                                       "9223372036854775807",
                                       "4294967296",
                                       "20.625 MS/s",
                                       "1 GHz",
                                       "true",
                                       "auto",
                                       "cuda:9",
                                       "none",
                                       "[]",
                                       "{}",
                                       "~",
                                       "[1, 2, 3]",
                                       "@none.npy",
                                       "0.3-0.1j",
                                       "\"\"",
                                       "tcp://*:1",
                                       "/dev/null",
                                       "127.0.0.1:99999"};
constexpr std::string_view kSyntax[] = {"[",  "]", "{",  "}", ": ",  "- ", "\n",
                                        "  ", "'", "\"", ",", "&a ", "*a", "\xff"};

std::size_t below(std::mt19937& random, std::size_t n) {
  return n == 0 ? 0 : random() % n;
}

/// Where the word at or behind `at` begins, and how long it is.
std::pair<std::size_t, std::size_t> word_at(std::string_view text, std::size_t at) {
  constexpr std::string_view kBetween = " \n:,[]{}\"'";
  const std::size_t begin = std::min(text.find_first_not_of(kBetween, at), text.size());
  return {begin, std::min(text.find_first_of(kBetween, begin), text.size()) - begin};
}

/// One to four changes: mostly of a whole word, so that what comes out is still YAML.
std::string mutated(std::string text, std::mt19937& random) {
  for (std::size_t changes = 1 + below(random, 4); changes > 0; --changes) {
    const auto [at, length] = word_at(text, below(random, text.size()));
    const auto [other, other_length] = word_at(text, below(random, text.size()));
    switch (below(random, 6)) {
      case 0: text.insert(at, kSyntax[below(random, std::size(kSyntax))]); break;
      case 1: text.erase(at, length); break;
      case 2: text.replace(at, length, std::string(text, other, other_length)); break;
      case 3: text.insert(at, text, other, below(random, 40)); break;
      default: text.replace(at, length, kWords[below(random, std::size(kWords))]); break;
    }
  }
  return text;
}

/// Any file leads to a plan or to problems that have a place; none makes anything large or slow.
TEST(SpecFuzz, MutatedPipelinesGivePlansOrProblems) {
  const char* asked = std::getenv("IQD_FUZZ_RUNS");
  const long runs = asked == nullptr ? 100000 : std::strtol(asked, nullptr, 10);
  const std::vector<std::string> files = seeds();
  ASSERT_GT(files.size(), 3u);
  std::mt19937 random(20240611);
  long understood = 0, planned = 0;
  for (long i = 0; i < runs; ++i) {
    const std::string text = mutated(files[below(random, files.size())], random);
    Problems problems;
    const auto start = std::chrono::steady_clock::now();
    const Document document = parse_document(text, "a.yaml", problems);
    if (!problems.empty()) continue;
    ++understood;
    const Spec spec = read_spec(document, catalogue(), problems);
    check_monitor(spec);
    // A plan takes as long as all the rest, so it is made of some.
    if (problems.empty() || i % 4 == 0) check_spec(spec, catalogue(), problems);
    planned += problems.empty() ? 1 : 0;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    ASSERT_LT(took.count(), 10.0) << text;
    for (const Problem& p : problems) ASSERT_TRUE(p.text().starts_with("a.yaml:")) << p.text() << "\n" << text;
  }
  EXPECT_GT(understood, runs / 5) << "the changes are too wild to reach the reader";
  EXPECT_GT(planned, runs / 100) << "the changes are too wild to reach the planner";
}

}  // namespace
}  // namespace iqd
