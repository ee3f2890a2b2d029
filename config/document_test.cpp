// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/document.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace iqd {
namespace {

using Kind = Node::Kind;

std::string complaints(const std::string& text) {
  Problems problems;
  parse_document(text, "a.yaml", problems);
  std::string all;
  for (const Problem& p : problems) all += (all.empty() ? "" : "\n") + p.text();
  return all;
}

Node root(const std::string& text) {
  Problems problems;
  const Document document = parse_document(text, "a.yaml", problems);
  EXPECT_TRUE(problems.empty()) << problems.front().text();
  return document.root;
}

TEST(Document, KnowsKindsPathsAndPlaces) {
  const Node node = root(
      "name: demo\n"
      "stages:\n"
      "  - fir: {taps: [1, 2]}\n"
      "  - fft:\n"
      "      size: 64\n"
      "      window:\n");
  EXPECT_EQ(node.kind(), Kind::map);
  EXPECT_EQ(node["name"].scalar(), "demo");
  EXPECT_EQ(node["stages"].kind(), Kind::sequence);
  const Node taps = node["stages"].items().at(0)["fir"]["taps"];
  EXPECT_EQ(taps.path(), "stages[0].fir.taps");
  EXPECT_EQ(taps.items().at(1).path(), "stages[0].fir.taps[1]");
  EXPECT_EQ(taps.items().at(1).place().column, 21);
  const Node fft = node["stages"].items().at(1)["fft"];
  EXPECT_EQ(fft["window"].kind(), Kind::null);
  EXPECT_EQ(fft["window"].place().line, 6);
  EXPECT_EQ(fft["window"].place().column, 7);
  EXPECT_EQ(fft.key_place("size").line, 5);
  EXPECT_EQ(fft.key_place("size").column, 7);
  EXPECT_EQ(fft["size"].place().column, 13);
  EXPECT_EQ(fft.key_place("shift").line, 0);
  ASSERT_EQ(node.entries().size(), 2u);
  ASSERT_EQ(node.key_places().size(), 2u);
  EXPECT_EQ(node.key_places()[1].line, 2);
  EXPECT_EQ(node.entries()[1].first, "stages");
}

TEST(Document, AMissingNodeStandsWhereItsMapStands) {
  const Node missing = root("a: 1\nb: {c: 2}\n")["b"]["d"];
  EXPECT_FALSE(missing);
  EXPECT_EQ(missing.path(), "b.d");
  EXPECT_EQ(missing.place().line, 2);
  EXPECT_EQ(missing.place().column, 4);
  EXPECT_FALSE(missing["e"]["f"]);
  EXPECT_EQ(missing["e"]["f"].path(), "b.d.e.f");
  EXPECT_TRUE(missing.items().empty());
  EXPECT_TRUE(missing.entries().empty());
  EXPECT_EQ(missing.scalar(), "");
  EXPECT_EQ(missing.found(), "nothing");
  EXPECT_FALSE(Node());
  EXPECT_FALSE(Node()["a"]);
}

TEST(Document, ANodeKeepsTheDocumentAlive) {
  Node inner;
  {
    Problems problems;
    inner = parse_document("a: {b: [x]}", "a.yaml", problems).root["a"]["b"];
  }
  EXPECT_EQ(inner.items().at(0).scalar(), "x");
}

TEST(Document, FilesOfNumbersNeedNoQuotes) {
  EXPECT_EQ(root("taps: @taps.npy  # a@b")["taps"].scalar(), "@taps.npy");
  EXPECT_EQ(root("taps: '@taps.npy'")["taps"].scalar(), "@taps.npy");
  EXPECT_EQ(root("taps: [@a, b@c]")["taps"].items().at(0).scalar(), "@a");
  EXPECT_EQ(root("{a@b: 1}")["a@b"].scalar(), "1");
}

TEST(Document, AliasesShareValuesButNotPlaces) {
  const Node node = root("a: &x {k: 1}\nb: *x\n");
  EXPECT_EQ(node["b"]["k"].scalar(), "1");
  EXPECT_EQ(node["b"].place().line, 2);
  EXPECT_EQ(node["b"]["k"].path(), "b.k");
}

TEST(Document, RefusesTheSameKeyTwice) {
  EXPECT_EQ(complaints("a: 1\nb: 2\na: 3\n"), "a.yaml:3:1 a: given twice; first in line 1");
  Problems problems;
  const Document document = parse_document("a: 1\na: {b: 2}\n", "a.yaml", problems);
  EXPECT_EQ(document.root["a"].scalar(), "1");
}

TEST(Document, RefusesKeysThatAreNoWords) {
  EXPECT_EQ(complaints("[1, 2]: x\nb: 2\n"), "a.yaml:1:1: a key must be a word");
  EXPECT_EQ(complaints("? {a: b}\n: x\n"), "a.yaml:1:3: a key must be a word");
  EXPECT_EQ(complaints("'': x\n"), "a.yaml:1:1: a key must be a word");
  EXPECT_EQ(complaints("~: x\n"), "a.yaml:1:1: a key must be a word");
}

TEST(Document, PlacesSyntaxErrors) {
  EXPECT_EQ(complaints("a: [1, 2\n"), "a.yaml:1:9: invalid YAML: a '[' is not closed");
  EXPECT_EQ(complaints("a: b: c\n"), "a.yaml:1:5: invalid YAML: illegal map value");
  EXPECT_EQ(complaints("a: 1\n\tb: 2\n"), "a.yaml:2:1: a tab in the indentation; YAML allows only spaces");
  EXPECT_EQ(complaints("a:\n  - b: {c: [1]\n  - d: {e: 1}\nf:\n  - g\n"),
            "a.yaml:3:3: invalid YAML: illegal block entry; is the '{' of line 2 closed?");
  EXPECT_EQ(complaints("a:\n- b: {c: 1\n- d: 2\n"), "a.yaml:3:4: invalid YAML: the '{' of line 2 is not closed");
  EXPECT_EQ(complaints("a: {b: '{', c: \"[\"}  # {\nb: c: d\n"), "a.yaml:2:5: invalid YAML: illegal map value");
  EXPECT_EQ(complaints("a: \"b\n"), "a.yaml:1:6: invalid YAML: a quote is not closed");
  EXPECT_EQ(complaints("a: 'b\nc: 1\n# end\n"), "a.yaml:3:6: invalid YAML: a quote is not closed");
  EXPECT_EQ(complaints("a: *nowhere\n"), "a.yaml:1:4: invalid YAML: the referenced anchor is not defined");
}

TEST(Document, RefusesASecondDocument) {
  EXPECT_EQ(complaints("a: 1\n---\nb: 2\n"), "a.yaml:2:1: a second document begins here; a file holds one");
  EXPECT_EQ(complaints("---\na: 1\n...\n"), "");
}

TEST(Document, RefusesWhatIsNoText) {
  EXPECT_EQ(complaints("a: \xff\n"), "a.yaml:1:4: this is not UTF-8");
  EXPECT_EQ(complaints("a: 1\nb: \xc0\xaf\n"), "a.yaml:2:4: this is not UTF-8");
  EXPECT_EQ(complaints("a: \xed\xa0\x80\n"), "a.yaml:1:4: this is not UTF-8");
  EXPECT_EQ(complaints(std::string("a: \0b\n", 6)), "a.yaml:1:4: a control character");
  EXPECT_EQ(complaints("a: \x01npy\n"), "a.yaml:1:4: a control character");
  EXPECT_EQ(complaints("a: 7 µs\n"), "");
  EXPECT_EQ(complaints(""), "a.yaml: is empty");
  EXPECT_EQ(complaints("# nothing\n"), "a.yaml: is empty");
}

TEST(Document, DoesNotLetAliasesMultiply) {
  std::string laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string n = std::to_string(i);
    laughs += "a" + n + ": &a" + n + " [";
    for (int j = 0; j < 10; ++j) laughs += (j > 0 ? ", *a" : "*a") + std::to_string(i - 1);
    laughs += "]\n";
  }
  EXPECT_EQ(complaints(laughs), "a.yaml:6:55: more than 1000000 values, aliases counted");
  EXPECT_EQ(complaints("a: &x [1, *x]\n"), "a.yaml:1:11: an alias within its own anchor");
  EXPECT_EQ(complaints("a: &x {b: {c: *x}}\n"), "a.yaml:1:15: an alias within its own anchor");
}

TEST(Document, LimitsDepth) {
  EXPECT_EQ(complaints("a: " + std::string(60, '[') + std::string(60, ']')), "");
  EXPECT_EQ(complaints("a: " + std::string(100, '[') + std::string(100, ']')), "a.yaml:1:67: nested more than 64 deep");
  std::string chain = "a0: &a0 [x]\n";
  for (int i = 1; i < 100; ++i)
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  EXPECT_EQ(complaints(chain), "a.yaml:63:12: nested more than 64 deep, aliases counted");
}

TEST(Document, SaysWhyAFileCannotBeRead) {
  const auto complaint = [](const std::string& path) {
    Problems problems;
    EXPECT_FALSE(load_document(path, problems).root);
    return problems.size() == 1 ? problems[0].text() : "";
  };
  EXPECT_EQ(complaint("/nowhere/a.yaml"), "/nowhere/a.yaml: cannot be read: No such file or directory");
  EXPECT_EQ(complaint("/"), "/: is a folder");
  EXPECT_EQ(complaint("/dev/null"), "/dev/null: is empty");
  EXPECT_EQ(complaint("/dev/zero"), "/dev/zero: is larger than 4 MiB");
}

TEST(Document, TooDeepHasAPlaceOfItsOwn) {
  const std::string head = "a: 1\nb: ";
  const auto maps = [&](std::size_t n) {
    std::string text = head;
    for (std::size_t i = 0; i < n; ++i) text += "{b: ";
    return text + "1" + std::string(n, '}');
  };
  EXPECT_EQ(complaints(maps(60)), "");
  EXPECT_EQ(complaints(maps(63)), "a.yaml:2:253: nested more than 64 deep") << "the key in the last map";
  EXPECT_EQ(complaints(maps(100)), "a.yaml:2:253: nested more than 64 deep");
  // The parser would buffer all unclosed brackets before its first event.
  for (const char* bracket : {"[", "{", "[\n", "{\n", "[{"}) {
    std::string text = head;
    for (int i = 0; i < 200'000; ++i) text += bracket;
    const std::string said = complaints(text);
    EXPECT_THAT(said, ::testing::EndsWith(": nested more than 64 deep")) << bracket;
    EXPECT_THAT(said, ::testing::Not(::testing::StartsWith("a.yaml:1:"))) << bracket;
  }
}

TEST(Document, MoreThanAConfigurationIsWorthIsRefusedWithItsPlace) {
  const auto repeated = [](const std::string& piece, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += piece;
    return text;
  };
  EXPECT_EQ(complaints("a: 1\n" + repeated("[x,", 1) + repeated("~,", 1 << 20) + "]"),
            "a.yaml:1:4: more than 1 MiB follows; break the lines of a long list, or keep it in a file");
  EXPECT_EQ(complaints("a: 1\nb: '" + repeated("x", 1 << 21) + "'"),
            "a.yaml:2:1: more than 1 MiB follows; break the lines of a long list, or keep it in a file");
  std::string keys;
  for (int i = 0; i < 10'001; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(complaints(keys), "a.yaml:10001:1: more than 10000 keys in a map");
  EXPECT_EQ(complaints("a: 1\n" + repeated("b: 1\n", 5000)),
            "a.yaml:1003:1: given twice; first in line 2, like 1000 others before");
  EXPECT_EQ(complaints("a: [" + repeated("1, ", 300'000) + "1]"), "") << "a long list in one line";
  EXPECT_EQ(complaints("a:\n" + repeated("- 1\n", 300'000)), "");
  EXPECT_EQ(complaints("a: |\n" + repeated("  [[[[[[[[{{{{{{{{\n", 50)), "") << "brackets in a text";
}

/// A file may contain any name.
TEST(Document, WhatIsNoFileIsNotWaitedFor) {
  const auto folder = std::filesystem::temp_directory_path() / ("document_test." + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string why;
  EXPECT_EQ(read_text(pipe, 10, why), std::nullopt);
  EXPECT_EQ(why, "is not a regular file");
  EXPECT_EQ(read_text("/dev/zero", 10, why), std::nullopt);
  EXPECT_EQ(why, "is not a regular file");
  EXPECT_EQ(read_text("/dev/zero", 10, why, Readable::stream), std::nullopt);
  EXPECT_EQ(why, "is larger than 10 bytes");
  EXPECT_EQ(read_text(pipe, 10, why, Readable::stream), "") << "there is no writer";
  const int writer = ::open(pipe.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::write(writer, "abc", 3), 3);
  std::thread ends([writer] { ::close(writer); });
  const auto text = read_text(pipe, 10, why, Readable::stream);
  ends.join();
  EXPECT_TRUE(text == "abc" || text == "") << "as much as was written";
  std::ofstream(folder / "large") << "x";
  std::filesystem::resize_file(folder / "large", std::uintmax_t{1} << 40);
  EXPECT_EQ(read_text((folder / "large").string(), 1 << 20, why), std::nullopt);
  EXPECT_EQ(why, "is larger than 1 MiB");
  std::filesystem::remove_all(folder);
}

TEST(Document, EntriesAreMergedMapByMap) {
  Problems problems;
  const Document map = parse_document("{a: 1, b: {x: 1, y: 2}, c: {z: 3}}", "map", problems);
  const Document more = parse_document("{b: {y: 5, v: 6}, c: 4, d: {w: 7}}", "more", problems);
  ASSERT_TRUE(problems.empty());
  const Node all = with_entries(map.root, more.root);
  EXPECT_EQ(all["a"].scalar(), "1");
  EXPECT_EQ(all["b"]["x"].scalar(), "1");
  EXPECT_EQ(all["b"]["y"].scalar(), "5");
  EXPECT_EQ(all["b"]["v"].scalar(), "6");
  EXPECT_EQ(all["c"].scalar(), "4");
  EXPECT_EQ(all["d"]["w"].scalar(), "7");
  EXPECT_EQ(map.root["b"]["y"].scalar(), "2");
}

TEST(Document, KeysWithADotAreOfAGroup) {
  Problems problems;
  const Node all =
      with_groups(parse_document("{params.k: 1, params: {q: 2}, params.q: 3, a: 4, b.c.d: 5}", "map", problems).root);
  ASSERT_TRUE(problems.empty());
  EXPECT_EQ(all["params"]["k"].scalar(), "1");
  EXPECT_EQ(all["params"]["q"].scalar(), "3");
  EXPECT_EQ(all["a"].scalar(), "4");
  EXPECT_EQ(all["b"]["c.d"].scalar(), "5");
  EXPECT_EQ(all.entries().size(), 3U);
}

/// The keys of a request come from outside.
TEST(Document, ManyKeysOfGroupsTakeLinearMemory) {
  std::string text = "{";
  for (int i = 0; i < 9'000; ++i) text += (i % 2 == 0 ? "a.k" : "k") + std::to_string(i) + ": 1, ";
  Problems problems;
  const Node all = with_groups(parse_document(text + "b: 2}", "map", problems).root);
  ASSERT_TRUE(problems.empty());
  EXPECT_EQ(all["a"].entries().size(), 4'500u);
  EXPECT_EQ(all.entries().size(), 4'502u);
}

TEST(Document, LoadsAFile) {
  const auto path = std::filesystem::temp_directory_path() / ("document_test." + std::to_string(::getpid()) + ".yaml");
  std::ofstream(path) << "name: demo\r\nlist: [1]\r\n";
  Problems problems;
  const Document document = load_document(path.string(), problems);
  std::filesystem::remove(path);
  ASSERT_TRUE(problems.empty());
  EXPECT_EQ(document.root["name"].scalar(), "demo");
  EXPECT_EQ(document.root["name"].place().file, path.string());
  EXPECT_EQ(document.file, path.string());
}

TEST(Document, FoundIsShort) {
  EXPECT_EQ(root("a: [1]")["a"].found(), "a list");
  EXPECT_EQ(root("a: {}")["a"].found(), "a map");
  EXPECT_EQ(root("a: word")["a"].found(), "'word'");
  EXPECT_EQ(root("a: " + std::string(39, 'x') + "µµ")["a"].found(), "'" + std::string(39, 'x') + "…'");
}

/// What is left of the list `pipelines`, and the complaints.
std::string left_of(const std::string& text) {
  Problems problems;
  const Document document = parse_document(text, "a.yaml", problems);
  EXPECT_EQ(document.is_damaged, document.root && !problems.empty());
  std::string all;
  for (const Node& n : document.root["pipelines"].items())
    if (n.kind() != Kind::null) all += n["name"].scalar() + "@" + std::to_string(n["name"].place().line) + " ";
  for (const Problem& p : problems) all += "\n" + p.text();
  return all;
}

TEST(Document, ASyntaxErrorCostsItsPipelineOnly) {
  const std::string good = "  - name: a\n    block: 1\n",
                    last = "  - name: c\n    list: [1, 2]\nmonitor: {listen: x}\n";
  EXPECT_EQ(left_of("pipelines:\n" + good + "  - {name: b, list: [1, 2}\n" + last),
            "a@2 c@5 \na.yaml:4:26: invalid YAML: illegal flow end");
  EXPECT_EQ(left_of("pipelines:\n" + good + "  - name: b\n    list: [1, 2\n" + last),
            "a@2 c@6 \na.yaml:5:16: invalid YAML: a '[' is not closed");
  EXPECT_EQ(left_of("pipelines:\n" + good + "  - name: \"b\n    block: 1\n" + last),
            "a@2 c@6 \na.yaml:5:13: invalid YAML: a quote is not closed");
  EXPECT_EQ(left_of("pipelines:\n" + good + "  - name: b\n\tblock: 1\n" + last),
            "a@2 c@6 \na.yaml:5:1: a tab in the indentation; YAML allows only spaces");
}

TEST(Document, EverySyntaxErrorOfAListIsReported) {
  EXPECT_EQ(left_of("pipelines:\n- {name: a, list: [}\n# a comment\n\n- {name: b}\n- {name: c, list: ]}\n"),
            "b@5 \na.yaml:2:20: invalid YAML: illegal flow end\na.yaml:6:19: invalid YAML: illegal flow end");
  EXPECT_EQ(left_of("monitor: {}\npipelines:\n- {name: a, list: [}\n- {name: b, list: [}\n"),
            "\na.yaml:3:20: invalid YAML: illegal flow end\na.yaml:4:20: invalid YAML: illegal flow end");
}

TEST(Document, AnAliasOfALostAnchorIsNoErrorOfItsOwn) {
  EXPECT_EQ(left_of("pipelines:\n- {name: &n a, list: [}\n- {name: *n}\n- {name: c}\n"),
            "c@4 \na.yaml:2:23: invalid YAML: illegal flow end");
}

TEST(Document, ASyntaxErrorElsewhereCostsTheFile) {
  EXPECT_EQ(left_of("monitor: [\npipelines:\n- {name: a}\n- {name: b}\n").substr(0, 2), "\na");
  EXPECT_EQ(left_of("pipelines:\n- {name: a}\nmonitor: ]\n").substr(0, 2), "\na");
}

}  // namespace
}  // namespace iqd
