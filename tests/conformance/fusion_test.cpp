// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Random chains of the element-wise stages: fused or one by one they give the same bits, however the stream is split.
// The same holds on a device, except for `rotate`, whose angles a fused kernel computes differently.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/conformance/one_stage.hpp"

namespace iqd::conformance {
namespace {

struct Link {
  std::string stage, keys;
  Element gives;
};

/// The stages that can follow an element of this type.
std::vector<Link> links_behind(Element element) {
  using enum Element;
  switch (element) {
    case sc16: return {{"convert", "{dtype: cf32}", cf32}};
    case cf32:
      return {{"multiply_const", "{value: 0.7-0.4j}", cf32},
              {"add_const", "{value: 0.1+2j}", cf32},
              {"conjugate", "{}", cf32},
              {"rotate", "{frequency: 12.3 kHz, phase: 1}", cf32},
              {"signal_source", "{frequency: 5 kHz, amplitude: 0.5}", cf32},
              {"complex_to_mag", "{}", f32},
              {"complex_to_mag_squared", "{}", f32},
              {"complex_to_arg", "{}", f32},
              {"complex_to_mag_phase", "{}", f32},
              {"convert", "{dtype: sc16}", sc16}};
    case f32:
      return {{"log10", "{n: 10, k: -3}", f32},
              {"multiply_const", "{value: 0.3}", f32},
              {"add_const", "{value: -0.2}", f32},
              {"convert", "{dtype: i16}", i16}};
    default:
      return {
          {"multiply_const", "{value: 3}", i16}, {"add_const", "{value: -7}", i16}, {"convert", "{dtype: f32}", f32}};
  }
}

std::vector<Link> random_chain(std::mt19937& random, Element element) {
  std::vector<Link> chain;
  for (std::size_t i = 0, n = 2 + random() % 7; i < n; ++i) {
    const std::vector<Link> links = links_behind(element);
    chain.push_back(links[random() % links.size()]);
    element = chain.back().gives;
  }
  return chain;
}

StageInput random_input(std::mt19937& random, Element element, std::int64_t length, std::int64_t rows) {
  StageInput in;
  in.shape.element = element;
  in.shape.rate_hz = in.shape.source_rate_hz = 1e6;
  if (rows > 1) in.shape.rows = {{"channel", rows}};
  in.length = length;
  const auto n = static_cast<std::size_t>(length * rows);
  std::normal_distribution<float> normal;
  in.data.resize(n * size_of(element));
  for (std::size_t at = 0; at + 4 <= in.data.size(); at += 4) {
    const float x = normal(random);
    const auto word = static_cast<std::uint32_t>(random());
    const bool is_float = element == Element::cf32 || element == Element::f32;
    std::memcpy(in.data.data() + at, is_float ? static_cast<const void*>(&x) : &word, 4);
  }
  return in;
}

std::vector<std::vector<std::byte>> outputs_of(const std::vector<Link>& chain, const StageInput& in, std::int64_t block,
                                               const std::string& backend, bool fuse, std::size_t& steps) {
  StageRunner::Options options;
  options.fuse = fuse;
  for (std::size_t i = 1; i < chain.size(); ++i) options.behind.push_back({find_stage(chain[i].stage), chain[i].keys});
  Problems problems;
  StageRunner runner(*find_stage(chain.front().stage), chain.front().keys, {in}, block, backend, problems, options);
  for (const Problem& p : problems) ADD_FAILURE() << p.text();
  if (!problems.empty()) return {};
  steps = runner.plan().steps.size();
  std::vector<std::vector<std::byte>> all;
  for (const StageOutput& o : runner.run()) all.push_back(o.joined());
  return all;
}

void run_random_chain(unsigned seed, const std::string& backend) {
  std::mt19937 random(seed);
  constexpr Element kFirst[] = {Element::sc16, Element::cf32, Element::f32, Element::i16};
  const Element element = kFirst[random() % 4];
  const std::vector<Link> chain = random_chain(random, element);
  const auto length = static_cast<std::int64_t>(1 + random() % 5000);
  const StageInput in = random_input(random, element, length, 1 + random() % 3);
  if (backend != "cpu" && std::ranges::any_of(chain, [](const Link& l) { return l.stage == "rotate"; })) return;
  std::string text = fmt::format("seed {}: {}", seed, in.shape.text());
  for (const Link& l : chain) text += fmt::format(" {} {}", l.stage, l.keys);
  SCOPED_TRACE(text);
  std::size_t apart = 0, fused = 0;
  const auto expected = outputs_of(chain, in, 0, "cpu", false, apart);
  const auto got = outputs_of(chain, in, 1 + static_cast<std::int64_t>(random() % 3000), backend, true, fused);
  EXPECT_LT(fused, apart);
  EXPECT_EQ(got, expected);
}

TEST(Fusion, RandomChainsGiveTheSameBits) {
  for (unsigned seed = 1; seed <= 300 && !HasFailure(); ++seed) run_random_chain(seed, "cpu");
}

TEST(Fusion, RandomChainsGiveTheSameBitsOnADevice) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "FUSED KERNELS WERE NOT TRIED: " << why;
  for (unsigned seed = 1; seed <= 100 && !HasFailure(); ++seed) run_random_chain(seed, "cuda");
}

}  // namespace
}  // namespace iqd::conformance
