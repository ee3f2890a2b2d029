// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/key_origins.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_catalogue.hpp"

namespace iqd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Override request(const std::string& stage, const std::string& text) {
  Problems problems;
  return {"lab", stage, parse_document(text, "request", problems).root};
}

class OriginsOfKeys : public ::testing::Test {
 protected:
  OriginsOfKeys() { origins_.start("lab", 10); }
  /// `patch 20`
  std::string of(std::string_view part, std::string_view key) const {
    const KeyOrigin origin = origins_.of("lab", part, key);
    return std::string(name_of(origin.by)) + " " + std::to_string(origin.since_ns);
  }
  void reload(const std::vector<std::string>& changed, std::int64_t now_ns) { origins_.reload("lab", changed, now_ns); }
  KeyOrigins origins_;
};

TEST_F(OriginsOfKeys, TheFileSetsAllAtTheStart) {
  EXPECT_EQ(of("source", "gain"), "file 10");
  EXPECT_EQ(of("publish.0", "topic"), "file 10");
  EXPECT_EQ(origins_.of("other", "source", "gain").since_ns, 0);
}

TEST_F(OriginsOfKeys, ARequestSetsItsKeysOnly) {
  origins_.set(request("source", "{gain: 30, args: {a: 1}}"), SetBy::patch, 20);
  origins_.set(request("fir", "{taps: [1, 2]}"), SetBy::apply, 30);
  EXPECT_EQ(of("source", "gain"), "patch 20");
  EXPECT_EQ(of("source", "args"), "patch 20") << "one of its entries was set";
  EXPECT_EQ(of("source", "gains"), "file 10") << "begins like `gain`";
  EXPECT_EQ(of("fir", "taps"), "apply 30");
  EXPECT_EQ(of("fir", "method"), "file 10");
  origins_.set(request("fir", "{taps: [3]}"), SetBy::patch, 40);
  EXPECT_EQ(of("fir", "taps"), "patch 40") << "the last one counts";
}

TEST_F(OriginsOfKeys, KeysOfGroups) {
  origins_.set(request("fir", "{design: {cutoff: 1}}"), SetBy::patch, 20);
  EXPECT_EQ(of("fir", "design.cutoff"), "patch 20");
  EXPECT_EQ(of("fir", "design.type"), "file 10");
}

TEST_F(OriginsOfKeys, AReloadGivesAllKeysBackToTheFile) {
  origins_.set(request("source", "{gain: 30, frequency: 1}"), SetBy::patch, 20);
  reload({"fir.taps", "publish"}, 30);
  EXPECT_EQ(of("source", "gain"), "file 30");
  EXPECT_EQ(of("fir", "taps"), "file 30");
  EXPECT_EQ(of("fir", "method"), "file 10") << "has not changed since";
  EXPECT_EQ(of("publish.1", "topic"), "file 30");
  EXPECT_EQ(of("sinks.0", "path"), "file 10");
  reload({}, 40);
  EXPECT_EQ(of("source", "gain"), "file 30");
}

TEST_F(OriginsOfKeys, WholePartsAndLists) {
  origins_.set(request("source", "{gain: 30}"), SetBy::patch, 20);
  reload({"source", "stages"}, 30);
  EXPECT_EQ(of("source", "gain"), "file 30");
  EXPECT_EQ(of("source", "rate"), "file 30");
  EXPECT_EQ(of("fir", "taps"), "file 30");
}

class UndoneByReload : public OriginsOfKeys {
 protected:
  UndoneByReload() { running_ = read("{rate: 1e6, gain: 40}"); }
  Spec read(const std::string& source) {
    Document document = parse_document("name: lab\nsource: {radio: " + source + "}\nstages:\n  - window: {past: 100}\n",
                                       "x.yaml", problems_);
    return read_spec(document, catalogue_, problems_);
  }
  std::vector<std::string> by(const std::string& source) {
    const Spec next = read(source);
    return undone_by(next.pipelines.front(), running_.pipelines.front(), catalogue_, origins_);
  }
  Catalogue catalogue_ = testing::test_catalogue();
  Problems problems_;
  Spec running_;
};

TEST_F(UndoneByReload, NamesBothValues) {
  origins_.set(request("source", "{gain: 40}"), SetBy::patch, 20);
  EXPECT_THAT(by("{rate: 1e6, gain: 30}"), ElementsAre("lab: source.gain: 30 (file) replaces 40 (patch)"));
  origins_.set(request("source", "{gain: 40}"), SetBy::apply, 30);
  EXPECT_THAT(by("{rate: 1e6, gain: 30}"), ElementsAre("lab: source.gain: 30 (file) replaces 40 (apply)"));
}

TEST_F(UndoneByReload, NothingWhereTheFileHadSetIt) {
  EXPECT_THAT(by("{rate: 1e6, gain: 30}"), IsEmpty());
}

TEST_F(UndoneByReload, NothingWhereTheFileSaysTheSame) {
  origins_.set(request("source", "{gain: 40}"), SetBy::patch, 20);
  EXPECT_THAT(by("{rate: 2e6, gain: 40}"), IsEmpty());
}

}  // namespace
}  // namespace iqd
