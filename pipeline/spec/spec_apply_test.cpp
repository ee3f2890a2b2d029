// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec_apply.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "pipeline/spec/spec_change.hpp"
#include "pipeline/spec_plan.hpp"
#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

/// Two pipelines; the second has one entry more.
std::string applying(const std::string& entry) {
  return fmt::format(R"(pipelines:
- name: send
  source: {{radio: {{}}}}
  block: 64
  stages: [pick: {{}}, total: {{from: source}}, window: {{from: source}}]
- name: learn
  source: {{tape: {{}}}}
  block: 64
  stages: [total: {{}}, extremes: {{from: source}}, pick: {{from: source}}, running: {{from: source}}]
  apply:
  - {}
)",
                     entry);
}

/// The problems with the entry, without its place.
std::string problem_of(const std::string& entry) {
  const std::string lines = problems_of(applying(entry));
  return lines.substr(std::min(lines.find("apply[0]"), lines.size()));
}

TEST(SpecApply, FindsTheKey) {
  const auto found = [](const std::string& entry) {
    Problems problems;
    const Spec spec = read_spec(parse_document(applying(entry), "x.yaml", problems), test_catalogue(), problems);
    check_spec(spec, test_catalogue(), problems);
    for (const Problem& p : problems) ADD_FAILURE() << p.text();
    return spec.pipelines.at(1).apply.at(0).key.text();
  };
  EXPECT_EQ(found("{port: total, to: pick.divisor}"), "learn/pick.divisor");
  EXPECT_EQ(found("{port: total.out, to: send/pick.divisor}"), "send/pick.divisor");
  EXPECT_EQ(found("{port: total, to: source.gain}"), "learn/source.gain");
  EXPECT_EQ(found("{port: total, to: send/source.gain}"), "send/source.gain");
}

TEST(SpecApply, WhatCannotBeSetIsNamedWithWhatCan) {
  EXPECT_EQ(problem_of("{port: total, to: pick}"), "apply[0].to: 'pick' is not stage.key or pipeline/stage.key\n");
  EXPECT_EQ(problem_of("{port: total, to: sent/pick.divisor}"),
            "apply[0].to: there is no pipeline 'sent' (did you mean 'send'?); there are: send, learn\n");
  EXPECT_EQ(problem_of("{port: total, to: send/pik.divisor}"),
            "apply[0].to: send has no stage 'pik' (did you mean 'pick'?); there are: source, pick, total, window\n");
  EXPECT_EQ(problem_of("{port: total, to: send/pick.divisr}"),
            "apply[0].to: pick has no key 'divisr' (did you mean 'divisor'?); live keys of pick that take numbers: "
            "divisor\n");
  EXPECT_EQ(problem_of("{port: total, to: send/pick.most}"),
            "apply[0].to: most cannot change while it runs; live keys of pick that take numbers: divisor\n");
  EXPECT_EQ(problem_of("{port: total, to: window.past}"),
            "apply[0].to: learn has no stage 'window'; there are: source, total, extremes, pick, running\n");
  EXPECT_EQ(problem_of("{port: total, to: send/window.past}"),
            "apply[0].to: past cannot change while it runs; live keys of window that take numbers: none\n");
  EXPECT_EQ(problem_of("{port: total}"), "apply[0].to: is required\n");
  EXPECT_EQ(problem_of("{to: pick.divisor}"), "apply[0].port: is required\n");
  EXPECT_EQ(problem_of("5"), "apply[0]: expected a map of keys, found '5'\n");
}

TEST(SpecApply, PortsThatCannotBeAppliedAreNamed) {
  EXPECT_EQ(problems_of(applying("{port: nothing, to: pick.divisor}")),
            "x.yaml:11:6 pipelines[1].apply[0].port: there is no port 'nothing'; there are: source, total.out, "
            "extremes.levels, pick.finds, pick.start, running.out\n");
  EXPECT_EQ(problem_of("{port: running, to: pick.divisor}"),
            "apply[0].port: running is i32 [n]; `apply` takes one value per block: use a port without [n] or counted "
            "items\n");
  EXPECT_EQ(problem_of("{port: extremes, to: source.gain}"),
            "apply[0].port: extremes is f32 [level 2]; source.gain takes one number\n");
  EXPECT_EQ(problem_of("{port: extremes, to: send/pick.divisor}"),
            "apply[0].port: extremes is f32 [level 2]; send/pick.divisor takes one number\n"
            "x.yaml:11:6 pipelines[1].apply[0].port: extremes is f32 [level 2]; send/pick.divisor takes whole "
            "numbers\n");
}

TEST(SpecApply, PortsByTheNumbersThatTheKeyTakes) {
  const auto problem = [](Element element, std::int64_t numbers, ApplySpec::Takes takes) {
    Problems problems;
    ApplySpec apply{"a", "b.c", Section("apply[0]", {}, problems)};
    apply.takes = takes;
    apply.takes_list = true;
    PortShape port;
    port.element = element;
    port.axis = Axis::block;
    port.item = {{"value", numbers}};
    check_apply(apply, port);
    return problems.empty() ? "" : problems.front().what;
  };
  using Takes = ApplySpec::Takes;
  EXPECT_EQ(problem(Element::cf32, 4096, Takes::complex), "");
  EXPECT_EQ(problem(Element::f32, 5, Takes::complex), "");
  EXPECT_EQ(problem(Element::i64, 5, Takes::complex), "");
  EXPECT_EQ(problem(Element::i32, 5, Takes::real), "");
  EXPECT_EQ(problem(Element::i32, 5, Takes::whole), "");
  EXPECT_EQ(problem(Element::cf32, 4097, Takes::complex), "a is cf32 [value 4097]; `apply` takes at most 4096 numbers");
  EXPECT_EQ(problem(Element::cf32, 5, Takes::real), "a is cf32 [value 5]; b.c takes no complex numbers");
  EXPECT_EQ(problem(Element::cf32, 5, Takes::whole), "a is cf32 [value 5]; b.c takes no complex numbers");
  EXPECT_EQ(problem(Element::f32, 5, Takes::whole), "a is f32 [value 5]; b.c takes whole numbers");
  EXPECT_EQ(problem(Element::u8, 5, Takes::whole), "a is u8 [value 5]; `apply` takes cf32, f32, i64 or i32");
}

TEST(SpecApply, TwoEntriesForOneKey) {
  EXPECT_EQ(problems_of("source: {tape: {}}\nblock: 64\nstages: [total: {}]\napply:\n"
                        "- {port: total, to: source.gain}\n- {port: total, to: iqd/source.gain}\n"),
            "x.yaml:6:17 apply[1].to: another entry already sets iqd/source.gain; keep one of them\n");
}

TEST(SpecApply, IsPartOfWhatAReloadCompares) {
  const auto changed = [](const std::string& before, const std::string& after) {
    Problems problems;
    const auto read = [&](const std::string& entry) {
      return read_spec(parse_document(applying(entry), "x.yaml", problems), test_catalogue(), problems);
    };
    Spec one = read(before), other = read(after);
    EXPECT_TRUE(problems.empty());
    EXPECT_TRUE(compare(one.pipelines[0], other.pipelines[0]).none());
    const SpecChange change = compare(one.pipelines[1], other.pipelines[1]);
    EXPECT_EQ(change.plan, !change.none());
    EXPECT_EQ(change.not_live, change.keys);
    return change.keys;
  };
  const std::string entry = "{port: total, to: pick.divisor}";
  EXPECT_EQ(changed(entry, "{port: total, to: learn/pick.divisor}"), std::vector<std::string>{});
  EXPECT_EQ(changed(entry, "{port: total, to: send/pick.divisor}"), std::vector<std::string>{"apply"});
  EXPECT_EQ(changed(entry, "{port: total.out, to: pick.divisor}"), std::vector<std::string>{"apply"});
}

}  // namespace
}  // namespace iqd::testing
