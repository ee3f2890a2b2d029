// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/sigmf.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "radio/file/sigmf_recording.hpp"

namespace iqd::radio {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json plain_metadata() {
  return {{"global", {{"core:datatype", "ci16_le"}, {"core:sample_rate", 1e6}, {"core:version", "1.2.5"}}},
          {"captures", {{{"core:sample_start", 0}}}},
          {"annotations", json::array()}};
}

std::vector<std::string> problems_of(const json& meta) {
  std::vector<std::string> problems;
  parse_sigmf(meta.dump(), problems);
  return problems;
}

/// The result of lay_out for metadata and `bytes` bytes of data.
Recording laid_out(const json& meta, std::int64_t bytes, std::vector<std::string>& problems) {
  const SigmfMeta parsed = parse_sigmf(meta.dump(), problems);
  if (!problems.empty() || !find_disk_format(parsed.datatype)) return {};
  return lay_out(parsed, {"x.sigmf-meta", "x.sigmf-data"}, {"x.sigmf-data", 0, bytes}, problems);
}

TEST(IsoTime, ReadsWhatItWrites) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const auto ns = static_cast<std::int64_t>(random() % 4'000'000'000'000'000'000u);
    const auto read = parse_iso_time(format_iso_time(ns));
    ASSERT_TRUE(read) << ns;
    EXPECT_EQ(read->ns, ns);
    EXPECT_EQ(read->resolution_ns, 1);
  }
}

TEST(IsoTime, KnowsTheForms) {
  EXPECT_EQ(format_iso_time(0), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(format_iso_time(-1), "1969-12-31T23:59:59.999999999Z");
  EXPECT_EQ(parse_iso_time("2000-03-01T00:00:00Z")->ns, 951'868'800'000'000'000);
  EXPECT_EQ(parse_iso_time("2000-03-01T00:00:00Z")->resolution_ns, 1'000'000'000);
  EXPECT_EQ(parse_iso_time("2000-03-01T00:00:00.25Z")->ns, 951'868'800'250'000'000);
  EXPECT_EQ(parse_iso_time("2000-03-01T00:00:00.25Z")->resolution_ns, 10'000'000);
  EXPECT_EQ(parse_iso_time("2000-03-01T01:30:00+01:30")->ns, 951'868'800'000'000'000);
  EXPECT_EQ(parse_iso_time("1970-01-01T00:00:00.1234567899Z")->ns, 123'456'789);
  EXPECT_EQ(parse_iso_time("1955-11-05T14:00:00.000Z")->ns, -446'724'000'000'000'000);
}

TEST(IsoTime, RefusesTheRest) {
  for (const char* text :
       {"", "now", "2000-13-01T00:00:00Z", "2001-02-29T00:00:00Z", "2000-01-01", "2000-01-01T24:00:00Z",
        "2000-01-01T00:60:00Z", "2000-01-01T00:00:00", "2000-01-01T00:00:00.Z", "9999-01-01T00:00:00Z",
        "2000-01-01T00:00:00Zx", "2000-01-01T00:00:00+1:00", "-200-01-01T00:00:00Z",
        // In years that could not be read again.
        "1900-01-01T00:00:00+00:01", "2150-12-31T23:59:60Z", "2150-12-31T23:59:59-00:01"})
    EXPECT_FALSE(parse_iso_time(text)) << text;
}

TEST(Sigmf, ReadsWhatItWrites) {
  SigmfMeta meta;
  meta.datatype = "cf32_le";
  meta.rate_hz = 20.625e6;
  meta.channels = 3;
  meta.author = "somebody";
  meta.description = "a \"quoted\" text, \xc3\xa4";
  meta.hardware = "antenna on the roof";
  meta.captures = {{0, 7, 1.4515e9, IsoTime{1'700'000'000'123'456'789, 1}, 0}, {500, 1007, {}, {}, 0}};
  meta.annotations = {{20, 5, "gap > 0", "trigger 1"}, {510, 30, "gap > 0", "trigger 2"}};
  std::vector<std::string> problems;
  const SigmfMeta read = parse_sigmf(sigmf_text(meta), problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(read.datatype, meta.datatype);
  EXPECT_EQ(read.rate_hz, meta.rate_hz);
  EXPECT_EQ(read.channels, 3);
  EXPECT_EQ(read.author, meta.author);
  EXPECT_EQ(read.description, meta.description);
  EXPECT_EQ(read.hardware, meta.hardware);
  ASSERT_EQ(read.captures.size(), 2u);
  EXPECT_EQ(read.captures[0].time->ns, 1'700'000'000'123'456'789);
  EXPECT_EQ(read.captures[0].frequency_hz, 1.4515e9);
  EXPECT_EQ(read.annotated_end, 540);
  EXPECT_EQ(read.captures[1].sample_start, 500);
  EXPECT_EQ(read.captures[1].global_index, 1007);
  EXPECT_FALSE(read.captures[1].time);
}

TEST(Sigmf, NamesBothFiles) {
  for (const char* path : {"a/b.sigmf-meta", "a/b.sigmf-data", "a/b"}) {
    EXPECT_EQ(sigmf_paths(path).meta, "a/b.sigmf-meta");
    EXPECT_EQ(sigmf_paths(path).data, "a/b.sigmf-data");
  }
}

TEST(Sigmf, SaysWhatIsWrong) {
  const auto with = [](const char* key, json value) {
    json meta = plain_metadata();
    meta["global"][key] = std::move(value);
    return problems_of(meta);
  };
  const auto capture = [](json value) {
    json meta = plain_metadata();
    meta["captures"].push_back(std::move(value));
    return problems_of(meta);
  };
  EXPECT_THAT(problems_of(plain_metadata()), IsEmpty());
  EXPECT_THAT(problems_of(json(3)), ElementsAre(HasSubstr("is not SigMF")));
  EXPECT_THAT(problems_of({{"global", 1}}), ElementsAre(HasSubstr("is not SigMF")));
  EXPECT_THAT(problems_of({{"global", json::object()}}),
              ElementsAre(HasSubstr("core:datatype is missing"), HasSubstr("core:sample_rate is missing")));
  EXPECT_THAT(with("core:datatype", 7), ElementsAre(HasSubstr("core:datatype must be a string")));
  EXPECT_THAT(with("core:sample_rate", 0), ElementsAre(HasSubstr("must be more than 0")));
  EXPECT_THAT(with("core:sample_rate", -1e6), ElementsAre(HasSubstr("must be more than 0")));
  EXPECT_THAT(with("core:sample_rate", "fast"), ElementsAre(HasSubstr("must be a number")));
  EXPECT_THAT(with("core:num_channels", 0), ElementsAre(HasSubstr("must be 1 to 1000")));
  EXPECT_THAT(with("core:num_channels", 100000), ElementsAre(HasSubstr("must be 1 to 1000")));
  EXPECT_THAT(with("core:num_channels", 1.5), ElementsAre(HasSubstr("whole number")));
  EXPECT_THAT(with("core:num_channels", 2.0), IsEmpty());
  EXPECT_THAT(with("core:offset", -1), ElementsAre(HasSubstr("whole number")));
  EXPECT_THAT(with("core:dataset", "../../etc/passwd"), ElementsAre(HasSubstr("without folders")));
  EXPECT_THAT(with("core:extensions", {{{"name", "zip"}, {"version", "1.0.0"}, {"optional", false}}}),
              ElementsAre(HasSubstr("zip")));
  EXPECT_THAT(capture(5), ElementsAre("captures[1] must be an object"));
  EXPECT_THAT(capture(json::object()), ElementsAre(HasSubstr("core:sample_start is missing")));
  EXPECT_THAT(capture({{"core:sample_start", 9}, {"core:datetime", "noon"}}), ElementsAre(HasSubstr("core:datetime")));
  EXPECT_THAT(capture({{"core:sample_start", 9}, {"core:datetime", "2025-01-01T00:00:00.5"}}), IsEmpty());
  for (const char* name : {"antenna", "ntia-core"})
    EXPECT_THAT(with("core:extensions", {{{"name", name}, {"version", "1.0.0"}, {"optional", false}}}), IsEmpty());
  std::vector<std::string> problems;
  parse_sigmf("{\"global\": ", problems);
  EXPECT_THAT(problems, ElementsAre(HasSubstr("is not JSON")));
}

TEST(Sigmf, CapturesMustBeSorted) {
  json meta = plain_metadata();
  meta["captures"] = {{{"core:sample_start", 10}}, {{"core:sample_start", 5}}};
  EXPECT_THAT(problems_of(meta), ElementsAre(HasSubstr("captures[1]")));
}

TEST(Layout, OffsetsAndForeignBytesAreLeftOut) {
  json meta = plain_metadata();
  meta["global"]["core:offset"] = 1000;
  meta["global"]["core:trailing_bytes"] = 6;
  meta["captures"] = {{{"core:sample_start", 1000}, {"core:header_bytes", 16}},
                      {{"core:sample_start", 1010}, {"core:header_bytes", 8}}};
  std::vector<std::string> problems;
  const Recording r = laid_out(meta, 16 + 40 + 8 + 20 + 6, problems);
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_EQ(r.segments.size(), 2u);
  EXPECT_EQ(r.segments[0].byte, 16);
  EXPECT_EQ(r.segments[0].samples, 10);
  EXPECT_EQ(r.segments[1].byte, 16 + 40 + 8);
  EXPECT_EQ(r.segments[1].samples, 5);
}

TEST(Layout, SamplesBeforeTheFirstCaptureCount) {
  json meta = plain_metadata();
  meta["captures"] = {{{"core:sample_start", 4}}};
  std::vector<std::string> problems;
  const Recording r = laid_out(meta, 40, problems);
  ASSERT_EQ(r.segments.size(), 2u);
  EXPECT_EQ(r.segments[0].samples, 4);
  EXPECT_EQ(r.segments[1].samples, 6);
  EXPECT_EQ(r.segments[1].byte, 16);
}

TEST(Layout, GapsByIndexAndByTime) {
  json meta = plain_metadata();
  meta["captures"] = {
      {{"core:sample_start", 0}, {"core:global_index", 100}, {"core:datetime", "2025-01-01T00:00:00.000000Z"}},
      {{"core:sample_start", 10}, {"core:global_index", 160}},
      {{"core:sample_start", 20}, {"core:datetime", "2025-01-01T00:00:00.001000Z"}},
      {{"core:sample_start", 30}, {"core:datetime", "2025-01-01T00:00:00.001010Z"}},
      {{"core:sample_start", 40}, {"core:datetime", "2025-01-01T00:00:00.002020Z"}}};
  std::vector<std::string> problems;
  const Recording r = laid_out(meta, 200, problems);
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_EQ(r.segments.size(), 5u);
  std::vector<std::int64_t> lost;
  for (const Segment& s : r.segments) lost.push_back(s.lost);
  EXPECT_THAT(lost, ElementsAre(0, 50, 930, 0, 1000)) << "1 ms less 20 samples and the 50 that are known to be missing";
  EXPECT_TRUE(r.has_time);
  EXPECT_EQ(r.segments[1].time_ns - r.segments[0].time_ns, 60'000);
  EXPECT_EQ(r.segments[2].time_ns - r.segments[0].time_ns, 1'000'000);
  EXPECT_EQ(r.segments[4].time_ns - r.segments[0].time_ns, 2'020'000);
}

TEST(Layout, CapturesThatSayNothingHideNoGap) {
  json meta = plain_metadata();
  meta["captures"] = {{{"core:sample_start", 0}, {"core:global_index", 1000}},
                      {{"core:sample_start", 10}, {"core:frequency", 1e9}},
                      {{"core:sample_start", 20}, {"core:global_index", 1520}},
                      {{"core:sample_start", 30}, {"core:frequency", 2e9}},
                      {{"core:sample_start", 40}, {"core:global_index", 1540}}};
  const auto lost_of = [&] {
    std::vector<std::string> problems;
    const Recording r = laid_out(meta, 200, problems);
    EXPECT_THAT(problems, IsEmpty());
    std::vector<std::int64_t> lost;
    for (const Segment& s : r.segments) lost.push_back(s.lost);
    return lost;
  };
  EXPECT_THAT(lost_of(), ElementsAre(0, 0, 500, 0, 0));
  for (auto& capture : meta["captures"]) capture.erase("core:global_index");
  meta["captures"][0]["core:datetime"] = "2025-01-01T00:00:00.000000Z";
  meta["captures"][2]["core:datetime"] = "2025-01-01T00:00:00.000520Z";
  meta["captures"][4]["core:datetime"] = "2025-01-01T00:00:00.000540Z";
  EXPECT_THAT(lost_of(), ElementsAre(0, 0, 500, 0, 0));
}

TEST(Layout, DigitsThatWereNotWrittenAreNoGap) {
  json meta = plain_metadata();
  meta["captures"] = {{{"core:sample_start", 0}, {"core:datetime", "2025-01-01T00:00:00.000Z"}},
                      {{"core:sample_start", 10500}, {"core:datetime", "2025-01-01T00:00:00.011Z"}},
                      {{"core:sample_start", 11000}, {"core:datetime", "2025-01-01T00:00:00.111Z"}}};
  std::vector<std::string> problems;
  const Recording r = laid_out(meta, 80000, problems);
  EXPECT_EQ(r.segments[1].lost, 0);
  EXPECT_EQ(r.segments[1].time_ns - r.segments[0].time_ns, 10'500'000);  // the clock runs on
  EXPECT_EQ(r.segments[2].lost, 99500);
}

TEST(Layout, TimesRunBackToTheStart) {
  json meta = plain_metadata();
  meta["captures"] = {{{"core:sample_start", 0}},
                      {{"core:sample_start", 250}, {"core:datetime", "2025-01-01T00:00:00.000250Z"}}};
  std::vector<std::string> problems;
  const Recording r = laid_out(meta, 4000, problems);
  EXPECT_TRUE(r.has_time);
  EXPECT_EQ(r.segments[0].time_ns, parse_iso_time("2025-01-01T00:00:00Z")->ns);
}

TEST(Layout, DisagreementIsAProblem) {
  const auto problems_with = [](const json& meta, std::int64_t bytes) {
    std::vector<std::string> problems;
    laid_out(meta, bytes, problems);
    return problems;
  };
  EXPECT_THAT(problems_with(plain_metadata(), 41), ElementsAre(HasSubstr("not a whole number")));
  json beyond = plain_metadata();
  beyond["captures"].push_back({{"core:sample_start", 11}});
  EXPECT_THAT(problems_with(beyond, 40), ElementsAre(HasSubstr("cut short")));
  EXPECT_THAT(problems_with(beyond, 44), IsEmpty());  // a recording that ended at a gap
  json annotated = plain_metadata();
  annotated["annotations"].push_back({{"core:sample_start", 5}, {"core:sample_count", 6}});
  EXPECT_THAT(problems_with(annotated, 40), ElementsAre(HasSubstr("cut short")));
  json trailing = plain_metadata();
  trailing["global"]["core:trailing_bytes"] = 41;
  EXPECT_THAT(problems_with(trailing, 40), ElementsAre(HasSubstr("fewer than")));
  json backwards = plain_metadata();
  backwards["captures"] = {{{"core:sample_start", 0}, {"core:global_index", 0}},
                           {{"core:sample_start", 5}, {"core:global_index", 4}}};
  EXPECT_THAT(problems_with(backwards, 40), ElementsAre(HasSubstr("global_index")));
}

TEST(Layout, WhatIqdAnnouncedAndDidNotWriteIsLeftOut) {
  json killed = plain_metadata();
  killed["global"]["core:recorder"] = "iqd";
  killed["captures"] = json::array();
  for (int i = 0; i < 5; ++i)
    killed["captures"].push_back({{"core:sample_start", 4 * i}, {"core:global_index", 10 * i}});
  killed["annotations"] = {{{"core:sample_start", 6}, {"core:sample_count", 12}}};
  std::vector<std::string> problems;
  const Recording r = laid_out(killed, 40, problems);
  EXPECT_THAT(problems, IsEmpty());
  ASSERT_EQ(r.segments.size(), 3u);
  EXPECT_EQ(r.segments[2].samples, 2) << "not written to its end";
  EXPECT_EQ(r.segments[2].lost, 6);
  EXPECT_EQ(r.announced, 2u);
  killed["global"]["core:recorder"] = "another program";
  laid_out(killed, 40, problems);
  EXPECT_THAT(problems, ElementsAre(HasSubstr("cut short")));
}

/// Changes, removes, inserts and copies bytes, and makes numbers extreme.
std::string mutated(std::string text, std::mt19937& random) {
  static const std::vector<std::string> kWords{"-1",
                                               "1e999",
                                               "9223372036854775807",
                                               "18446744073709551616",
                                               "null",
                                               "{}",
                                               "[[[[",
                                               "\"\"",
                                               "1e-300",
                                               "true",
                                               "0",
                                               "\\u0000",
                                               "\xff",
                                               "1.5"};
  const auto pick = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n ? n - 1 : 0)(random); };
  for (std::size_t i = 0, n = 1 + pick(4); i < n && !text.empty(); ++i) {
    const std::size_t at = pick(text.size());
    switch (pick(5)) {
      case 0: text[at] = static_cast<char>(pick(256)); break;
      case 1: text.erase(at, 1 + pick(20)); break;
      case 2: text.insert(at, kWords[pick(kWords.size())]); break;
      case 3: text.insert(at, text.substr(pick(text.size()), pick(60))); break;
      default: {
        const std::size_t digit = text.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        const std::size_t end = text.find_first_not_of("0123456789.e+", digit);
        text.replace(digit, end - digit, kWords[pick(kWords.size())]);
      }
    }
  }
  return text;
}

TEST(Sigmf, SurvivesAnything) {
  json meta = plain_metadata();
  meta["global"]["core:num_channels"] = 2;
  meta["global"]["core:offset"] = 10;
  meta["global"]["core:trailing_bytes"] = 8;
  meta["captures"] = {
      {{"core:sample_start", 10}, {"core:header_bytes", 8}, {"core:datetime", "2025-01-01T00:00:00.5Z"}},
      {{"core:sample_start", 20}, {"core:global_index", 60}, {"core:frequency", 1e9}},
      {{"core:sample_start", 30}, {"core:global_index", 70}, {"core:datetime", "2025-01-01T00:00:01Z"}}};
  meta["annotations"] = {{{"core:sample_start", 12}, {"core:sample_count", 5}}};
  const std::string text = meta.dump();
  std::mt19937 random(7);
  int sound = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::string> problems;
    const SigmfMeta parsed = parse_sigmf(mutated(text, random), problems);
    if (!problems.empty() || !find_disk_format(parsed.datatype)) continue;
    const Recording r = lay_out(parsed, {}, {"", 0, 8 + 8 * 100 + 8}, problems);
    if (!problems.empty()) continue;
    ++sound;
    for (const Segment& s : r.segments) {
      ASSERT_GE(s.byte, 0);
      ASSERT_GE(s.samples, 0);
      ASSERT_GE(s.lost, 0);
      ASSERT_LE(s.byte + s.samples * r.step_bytes(), 8 + 8 * 100 + 8);
    }
  }
  EXPECT_GT(sound, 100);
  EXPECT_LT(sound, 15000);
}

}  // namespace
}  // namespace iqd::radio
