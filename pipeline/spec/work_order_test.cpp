// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/work_order.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/files/sha256.hpp"
#include "pipeline/ordered_plan.hpp"
#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

WorkOrder order_of(std::string text) {
  Sha256 hash;
  hash.add(text);
  return {std::move(text), hash.hex()};
}

/// Why a worker does not carry it out; empty if it does.
std::string refusal_of(const WorkOrder& order) {
  try {
    const OrderedPlan plan(order, test_catalogue(), {"cpu"}, 1, 1 << 20);
    return {};
  } catch (const SetupError& e) {
    return e.what();
  }
}

/// An order for `stages`, from which `returns` come back.
std::string text_of(const std::string& stages, const std::string& returns, const std::string& block = "64",
                    const std::string& element = "i32") {
  return R"({"v":1,"build":"b","pipeline":{"name":"lab","block":)" + block + R"(,"fuse":true,"stages":)" + stages +
         R"(},"stream":{"element":")" + element +
         R"(","channels":1,"rate":1e6,"frequency":0,"full_scale":0,"edges":0},"returns":)" + returns + "}";
}

const std::string kWindow = R"([{"window":{"past":3,"name":"w","from":"source"}}])";
const std::string kOut = R"([{"port":"w.out","dtype":"i32","past":5,"future":0}])";

TEST(WorkOrder, IsCarriedOut) {
  EXPECT_EQ(refusal_of(order_of(text_of(kWindow, kOut))), "");
}

/// Somebody who can write to the server must not make a worker crash, read a file or run a program.
TEST(WorkOrder, OthersAreRefused) {
  for (const auto& [text, why] : std::vector<std::pair<std::string, std::string>>{
           {"", "is not one"},
           {"[]", "is not one"},
           {"{}", "is not one"},
           {R"({"v":2})", "another version"},
           {text_of("7", kOut), "expected a list"},
           {text_of("[]", kOut), "there is no port 'w.out'"},
           {text_of(R"([{"nothing":{}}])", kOut), "unknown stage"},
           {text_of(R"([{"window":{"past":"@/etc/passwd"}}])", kOut), "names a file"},
           {text_of(kWindow, R"([{"port":"w.no","dtype":"i32","past":0,"future":0}])"), "there is no port 'w.no'"},
           {text_of(kWindow, R"([{"port":"w.out","dtype":"i32","past":-1,"future":0}])"), "impossible reach"},
           {text_of(kWindow, R"([{"port":"w.out","dtype":"i32","past":1e30,"future":0}])"), ""},
           {text_of(kWindow, "[]", "64", "i33"), "unknown element"},
           {text_of(std::string(200'000, '[') + std::string(200'000, ']'), kOut), "too many levels"},
           {text_of(kWindow, kOut, "0"), "block"},
           {text_of(kWindow, kOut, "100000000"), "no message can hold"},
           {text_of(R"([{"running":{"name":"w","from":"source"}}])", kOut), "a stage with a state"}}) {
    const std::string found = refusal_of(order_of(text));
    EXPECT_NE(found, "") << text;
    EXPECT_NE(found.find(why), std::string::npos) << text << ": " << found;
  }
}

TEST(WorkOrder, IsTheOneThatItsBlockNames) {
  WorkOrder order = order_of(text_of(kWindow, kOut));
  order.hash[0] = order.hash[0] == '0' ? '1' : '0';
  EXPECT_EQ(refusal_of(order), "the order is not the one that its block names");
}

TEST(OrderedPlan, BlocksThatDoNotFitAreRefused) {
  OrderedPlan plan(order_of(text_of(kWindow, kOut)), test_catalogue(), {"cpu"}, 1, 1 << 20);
  std::vector<std::byte> samples(1 << 12);
  SampleBlock good;
  good.first = 640;
  good.length = 64;
  good.past = 8;
  const auto bytes = [&](const SampleBlock& b) { return plan.sample_bytes(b); };
  ASSERT_EQ(bytes(good), 4 * 72);
  EXPECT_TRUE(plan.compute(0, {good, std::span(samples).first(4 * 72)}));
  EXPECT_FALSE(plan.compute(0, {good, std::span(samples).first(4 * 71)}));
  EXPECT_FALSE(plan.compute(0, {good, {}}));
  const auto with = [&](auto change) {
    SampleBlock block = good;
    change(block);
    return bytes(block);
  };
  EXPECT_EQ(with([](SampleBlock& b) { b.length = 0; }), -1);
  EXPECT_EQ(with([](SampleBlock& b) { b.length = 65; }), -1);
  EXPECT_EQ(with([](SampleBlock& b) { b.past = -1; }), -1);
  EXPECT_EQ(with([](SampleBlock& b) { b.past = 1000; }), -1);
  EXPECT_EQ(with([](SampleBlock& b) { b.first = 7, b.past = 8; }), -1) << "before the stream";
  EXPECT_EQ(with([](SampleBlock& b) { b.first = INT64_MAX; }), -1);
  EXPECT_EQ(with([](SampleBlock& b) { b.future = 1; }), -1);
}

}  // namespace
}  // namespace iqd::testing
