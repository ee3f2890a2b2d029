// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "config/reader.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/files/npy.hpp"
#include "config/test_options.hpp"

namespace iqd {
namespace {

using Complex = std::complex<double>;
using ::testing::ElementsAre;

struct Outcome {
  TestOptions options;
  std::vector<std::string> complaints;
};

constexpr std::array<std::string_view, 2> kReserved{"from", "backend"};

Outcome read_file_named(const std::string& name, const std::string& text) {
  Outcome o;
  Problems problems;
  const Document document = parse_document(text, name, problems);
  read_fields(
      document.root, [&](FieldVisitor& v) { o.options.fields(v); }, problems, kReserved);
  for (const Problem& p : problems) o.complaints.push_back(p.text());
  return o;
}
Outcome read(const std::string& text) {
  return read_file_named("a.yaml", text);
}

/// The problem of a file whose second line is `line`.
std::string complaint(const std::string& line) {
  const Outcome o = read("rate: 1 MS/s\n" + line + "\n");
  return o.complaints.size() == 1 ? o.complaints[0] : std::to_string(o.complaints.size()) + " complaints";
}

TEST(Reader, TakesEveryKindOfField) {
  const Outcome o = read(
      "refine: off\nsize: 0x400\nlimit_bytes: 64 MiB\nrate: 20.625 MS/s\nwait: 3 ms\nscale: -1e-3\n"
      "name: my fir\nweight: [0.5, -2]\nclip: 0.9\nchannels: [0, 1, 15]\ngains: [30 dB, -3]\n"
      "taps: [1, 0.3-0.1j, [0, 1], 1e-3j]\nkinds: [cma]\nargs: {driver: iqdsim, count: 3}\nmethod: fft\n"
      "cma: {step: 0.1}\nbackend: cpu\n");
  EXPECT_THAT(o.complaints, ElementsAre());
  const TestOptions& x = o.options;
  EXPECT_FALSE(x.refine);
  EXPECT_EQ(x.size, 1024);
  EXPECT_EQ(x.limit_bytes, 67108864);
  EXPECT_EQ(x.rate, 20625000.0);
  EXPECT_EQ(x.wait, 3e-3);
  EXPECT_EQ(x.scale, -1e-3);
  EXPECT_EQ(x.name, "my fir");
  EXPECT_EQ(x.weight, Complex(0.5, -2));
  EXPECT_EQ(x.clip, 0.9);
  EXPECT_THAT(x.channels, ElementsAre(0, 1, 15));
  EXPECT_THAT(x.gains, ElementsAre(30.0, -3.0));
  EXPECT_THAT(x.taps, ElementsAre(Complex(1, 0), Complex(0.3, -0.1), Complex(0, 1), Complex(0, 1e-3)));
  EXPECT_THAT(x.kinds, ElementsAre("cma"));
  EXPECT_EQ(x.args, (StringMap{{"driver", "iqdsim"}, {"count", "3"}}));
  EXPECT_EQ(x.method, Method::fft);
  EXPECT_TRUE(x.has_cma);
  EXPECT_EQ(x.step, 0.1);
  EXPECT_EQ(x.iterations, 12);
}

TEST(Reader, KeepsDefaults) {
  const Outcome o = read("rate: 1e6");
  EXPECT_THAT(o.complaints, ElementsAre());
  EXPECT_EQ(o.options.size, 64);
  EXPECT_EQ(o.options.clip, std::nullopt);
  EXPECT_FALSE(o.options.has_cma);
  EXPECT_EQ(read("rate: 1e6\nclip: none\n").options.clip, std::nullopt);
}

TEST(Reader, AScalarIsAListOfOne) {
  const Outcome o = read("rate: 1e6\nchannels: 3\ngains: 12 dB\ntaps: 1-1j\nkinds: mmse\n");
  EXPECT_THAT(o.complaints, ElementsAre());
  EXPECT_THAT(o.options.channels, ElementsAre(3));
  EXPECT_THAT(o.options.gains, ElementsAre(12.0));
  EXPECT_THAT(o.options.taps, ElementsAre(Complex(1, -1)));
  EXPECT_THAT(o.options.kinds, ElementsAre("mmse"));
}

TEST(Reader, TwoNumbersAreTwoTapsButOneWeight) {
  const Outcome o = read("rate: 1e6\ntaps: [0.5, 0.25]\nweight: [0.5, 0.25]\n");
  EXPECT_THAT(o.options.taps, ElementsAre(Complex(0.5, 0), Complex(0.25, 0)));
  EXPECT_EQ(o.options.weight, Complex(0.5, 0.25));
}

TEST(Reader, DeviceArgumentsMayBeOneText) {
  EXPECT_EQ(read("rate: 1\nargs: \"driver=iqdsim, scenario = tone,,\"").options.args,
            (StringMap{{"driver", "iqdsim"}, {"scenario", "tone"}}));
  EXPECT_EQ(complaint("args: iqdsim"), "a.yaml:2:1 args: expected a map, or key=value,key=value, found 'iqdsim'");
  EXPECT_EQ(complaint("args: [1]"), "a.yaml:2:1 args: expected a map of strings, found a list");
  EXPECT_EQ(complaint("args: {a: [1]}"), "a.yaml:2:8 args.a: expected a string, found a list");
}

TEST(Reader, TextsMayBeComplexNumbers) {
  const Outcome o = read("rate: 1\nargs: {w: [0.5, -0.25], k: 2}");
  EXPECT_EQ(o.options.args, (StringMap{{"w", "[0.5, -0.25]"}, {"k", "2"}}));
  EXPECT_EQ(complaint("args: {a: [1, x]}"), "a.yaml:2:8 args.a: expected a string, found a list");
}

TEST(Reader, TextsMayBeListsWhereThatIsSaid) {
  StringMap map;
  Problems problems;
  const Document document = parse_document("m: {a: [0.5, -1, [x, 'a, b', ~]], b: [], c: 1}", "a.yaml", problems);
  read_fields(
      document.root, [&](FieldVisitor& v) { v.field("m", map, {.help = "", .lists = true}); }, problems);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(map, (StringMap{{"a", "[0.5, -1, [x, \"a, b\", \"\"]]"}, {"b", "[]"}, {"c", "1"}}));
}

TEST(Reader, NamesUnknownKeys) {
  EXPECT_EQ(complaint("tabs: [1]"), "a.yaml:2:1 tabs: unknown key (did you mean 'taps'?)");
  EXPECT_EQ(complaint("colour: red"), "a.yaml:2:1 colour: unknown key");
  EXPECT_EQ(complaint("bakend: cpu"), "a.yaml:2:1 bakend: unknown key (did you mean 'backend'?)");
  EXPECT_EQ(complaint("cma: {stop: 1}"), "a.yaml:2:7 cma.stop: unknown key (did you mean 'step'?)");
}

TEST(Reader, SaysWhatWasExpectedAndFound) {
  EXPECT_EQ(complaint("refine: maybe"), "a.yaml:2:1 refine: expected true or false, found 'maybe'");
  EXPECT_EQ(complaint("size: [1]"), "a.yaml:2:1 size: expected a whole number, found a list");
  EXPECT_EQ(complaint("scale: {a: 1}"), "a.yaml:2:1 scale: expected a number, found a map");
  EXPECT_EQ(complaint("name: [a]"), "a.yaml:2:1 name: expected a string, found a list");
  EXPECT_EQ(complaint("weight: [1, 2, 3]"),
            "a.yaml:2:1 weight: expected a complex number ([re, im], 0.3-0.1j or 2), found a list");
  EXPECT_EQ(complaint("gains: {a: 1}"), "a.yaml:2:1 gains: expected a list of numbers, found a map");
  EXPECT_EQ(complaint("cma: 3"), "a.yaml:2:1 cma: expected a map of keys, found '3'");
  EXPECT_EQ(complaint("method: fftt"),
            "a.yaml:2:1 method: 'fftt' is not one of auto, direct, fft (did you mean 'fft'?)");
  EXPECT_EQ(complaint("method: [fft]"), "a.yaml:2:1 method: a list is not one of auto, direct, fft");
  EXPECT_EQ(complaint("scale: big"), "a.yaml:2:1 scale: 'big' is not a number");
  EXPECT_EQ(complaint("size: 2.5"), "a.yaml:2:1 size: 2.5 is not a whole number");
  EXPECT_EQ(complaint("wait: 5 Hz"), "a.yaml:2:1 wait: unit 'Hz' does not fit; use s, ms, us or ns");
  EXPECT_EQ(complaint("scale: .inf"), "a.yaml:2:1 scale: '.inf' is not a finite number");
}

TEST(Reader, NamesTheRange) {
  EXPECT_EQ(complaint("size: 0"), "a.yaml:2:1 size: must be between 1 and 65536, is 0");
  EXPECT_EQ(complaint("limit_bytes: 512"), "a.yaml:2:1 limit_bytes: must be at least 1 KiB, is 512 B");
  EXPECT_EQ(complaint("wait: -1 us"), "a.yaml:2:1 wait: must be at least 0, is -1 us");
  EXPECT_EQ(complaint("scale: 3"), "a.yaml:2:1 scale: must be at most 2, is 3");
  EXPECT_EQ(read("rate: 100").complaints.at(0), "a.yaml:1:1 rate: must be between 1 kS/s and 1 GS/s, is 100 S/s");
  EXPECT_EQ(complaint("gains: [0, 61 dB]"), "a.yaml:2:12 gains[1]: must be between -10 dB and 60 dB, is 61 dB");
}

TEST(Reader, PlacesComplaintsAboutItems) {
  EXPECT_EQ(complaint("taps: [1, x, 3]"),
            "a.yaml:2:11 taps[1]: expected a complex number ([re, im], 0.3-0.1j or 2), found 'x'");
  EXPECT_EQ(complaint("taps: [1, [2, y]]"), "a.yaml:2:11 taps[1]: 'y' is not a number");
  EXPECT_EQ(complaint("channels:\n  - 0\n  - 1.5\n"), "a.yaml:4:5 channels[1]: 1.5 is not a whole number");
  EXPECT_EQ(complaint("kinds: [a, [b]]"), "a.yaml:2:12 kinds[1]: expected a string, found a list");
}

TEST(Reader, StopsWhereProblemsAreEnough) {
  std::string taps = "taps: [", keys;
  for (int i = 0; i < 20'000; ++i) taps += "x, ";
  for (int i = 0; i < 9'000; ++i) keys += "unknown" + std::to_string(i) + ": 1\n";
  for (const std::string& text : {taps + "1]\n", keys}) {
    const std::vector<std::string> complaints = read(text).complaints;
    ASSERT_EQ(complaints.size(), 1001u);
    EXPECT_THAT(complaints.back(), ::testing::HasSubstr("more than 1000 problems; iqd stops here"));
  }
}

TEST(Reader, WantsAValue) {
  EXPECT_EQ(complaint("size:"), "a.yaml:2:1 size: has no value");
  EXPECT_EQ(complaint("cma:"), "a.yaml:2:1 cma: has no value");
  EXPECT_EQ(complaint("taps: [1, ~]"),
            "a.yaml:2:11 taps[1]: expected a complex number ([re, im], 0.3-0.1j or 2), found nothing");
  EXPECT_THAT(read("size: 3").complaints, ElementsAre("a.yaml:1:1 rate: is required"));
}

TEST(Reader, ReportsEverythingInTheOrderOfTheFile) {
  const Outcome o = read(
      "method: x\n"
      "tabs: 1\n"
      "cma: {iterations: 0, stop: 1, step: 2}\n"
      "gains: [1, z, 99]\n"
      "size: 2.5\n");
  EXPECT_THAT(o.complaints, ElementsAre("a.yaml:1:1 rate: is required",  //
                                        "a.yaml:1:1 method: 'x' is not one of auto, direct, fft",
                                        "a.yaml:2:1 tabs: unknown key (did you mean 'taps'?)",
                                        "a.yaml:3:7 cma.iterations: must be between 1 and 100, is 0",
                                        "a.yaml:3:22 cma.stop: unknown key (did you mean 'step'?)",
                                        "a.yaml:3:31 cma.step: must be between 0 and 1, is 2",
                                        "a.yaml:4:12 gains[1]: 'z' is not a number",
                                        "a.yaml:4:15 gains[2]: must be between -10 dB and 60 dB, is 99 dB",
                                        "a.yaml:5:1 size: 2.5 is not a whole number"));
  EXPECT_EQ(o.options.size, 64);
  EXPECT_THAT(o.options.gains, ElementsAre());
}

TEST(Reader, WantsAMap) {
  EXPECT_THAT(read("[1, 2]").complaints, ElementsAre("a.yaml:1:1: expected a map of keys, found a list"));
  EXPECT_THAT(read("word").complaints, ElementsAre("a.yaml:1:1: expected a map of keys, found 'word'"));
  Problems problems;
  const Node fir = parse_document("stages:\n  - fir:\n", "a.yaml", problems).root["stages"].items()[0]["fir"];
  read_fields(
      fir, [](FieldVisitor&) {}, problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].text(), "a.yaml:2:5 stages[0].fir: has no value (write {} for the defaults)");
}

TEST(Reader, TheSectionKnowsWhereKeysStand) {
  Problems problems;
  TestOptions options;
  const Document document = parse_document("rate: 1e6\ncma: {step: 0.1}\nfrom: x\n", "a.yaml", problems);
  const Section section = read_fields(
      document.root, [&](FieldVisitor& v) { options.fields(v); }, problems, kReserved);
  EXPECT_TRUE(section.has("from"));
  EXPECT_FALSE(section.has("taps"));
  section.problem("cma.step", "does not fit the taps");
  section.problem("taps", "is needed here");
  EXPECT_EQ(problems.at(0).text(), "a.yaml:2:7 cma.step: does not fit the taps");
  EXPECT_EQ(problems.at(1).text(), "a.yaml:1:1 taps: is needed here");
}

TEST(Reader, AMissingMapHasItsDefaults) {
  Problems problems;
  TestOptions options;
  const Document document = parse_document("a: {b: 1}\n", "a.yaml", problems);
  read_fields(
      document.root["a"]["c"], [&](FieldVisitor& v) { options.fields(v); }, problems);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].text(), "a.yaml:1:4 a.c.rate: is required");
}

/// Arrays next to a YAML file.
class ReaderArrays : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  template <class T> void write(const std::string& name, std::string_view dtype, std::vector<T> values,
                                std::vector<std::int64_t> shape = {}) {
    if (shape.empty()) shape = {static_cast<std::int64_t>(values.size())};
    write_npy((folder_ / name).string(), dtype, shape, std::as_bytes(std::span(values)));
  }
  Outcome read_here(const std::string& line) const {
    return read_file_named((folder_ / "a.yaml").string(), "rate: 1e6\n" + line + "\n");
  }
  std::string complaint_here(const std::string& line) const {
    const Outcome o = read_here(line);
    const std::string place = (folder_ / "a.yaml").string() + ":2:1 ";
    return o.complaints.size() == 1 && o.complaints[0].starts_with(place) ? o.complaints[0].substr(place.size()) : "";
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("reader_test." + std::to_string(::getpid()));
};

TEST_F(ReaderArrays, AreFoundBesideTheFile) {
  write<std::complex<float>>("taps.npy", "<c8", {{1, 2}, {0, -0.5f}});
  write<float>("real.npy", "<f4", {1, 0.25f});
  write<double>("gains.npy", "<f8", {10, 20});
  write<std::int16_t>("channels.npy", "<i2", {3, 0});
  write<std::uint16_t>("half.npy", "<f2", {0x3C00, 0xC000});
  EXPECT_THAT(read_here("taps: @taps.npy").options.taps, ElementsAre(Complex(1, 2), Complex(0, -0.5)));
  EXPECT_THAT(read_here("taps: '@real.npy'").options.taps, ElementsAre(Complex(1, 0), Complex(0.25, 0)));
  EXPECT_THAT(read_here("taps: @" + path("half.npy")).options.taps, ElementsAre(Complex(1, 0), Complex(-2, 0)));
  EXPECT_THAT(read_here("gains: @gains.npy").options.gains, ElementsAre(10.0, 20.0));
  EXPECT_THAT(read_here("channels: @channels.npy").options.channels, ElementsAre(3, 0));
}

TEST_F(ReaderArrays, OfMoreThanAListIsWorthAreRefused) {
  write<std::uint8_t>("many.npy", "<u1", std::vector<std::uint8_t>(std::size_t{1} << 23));
  EXPECT_THAT(complaint_here("taps: @many.npy"),
              ::testing::HasSubstr("it has 8388608 elements; at most 4194304 are allowed here"));
  EXPECT_EQ(read_here("channels: @many.npy").options.channels.size(), std::size_t{1} << 23);
}

TEST_F(ReaderArrays, AreRefusedWhereTheyDoNotFit) {
  write<std::complex<float>>("complex.npy", "<c8", {{1, 2}});
  write<double>("square.npy", "<f8", {1, 2, 3, 4}, {2, 2});
  write<double>("nan.npy", "<f8", {1, std::nan("")});
  write<double>("loud.npy", "<f8", {1, 61});
  EXPECT_EQ(complaint_here("gains: @complex.npy"),
            "gains: " + path("complex.npy") + " holds complex numbers (<c8); real ones are needed");
  EXPECT_EQ(complaint_here("channels: @loud.npy"),
            "channels: " + path("loud.npy") + " holds <f8; whole numbers are needed (<i1 to <i8 or <u1)");
  EXPECT_EQ(complaint_here("taps: @square.npy"), "taps: " + path("square.npy") + " has 2 dimensions; a list has one");
  EXPECT_EQ(complaint_here("taps: @nan.npy"), "taps: " + path("nan.npy") + ": element 1 is not a finite number");
  EXPECT_EQ(complaint_here("gains: @loud.npy"), "gains: element 1 must be between -10 dB and 60 dB, is 61 dB");
  EXPECT_THAT(complaint_here("taps: @none.npy"), ::testing::HasSubstr(path("none.npy")));
  EXPECT_EQ(complaint_here("kinds: @none.npy"), "");  // an ordinary string
}

/// Keys whose base unit is hardly ever meant.
std::vector<std::string> warnings(const std::string& text) {
  double frequency = 0;
  std::int64_t bytes = 0;
  std::vector<double> bands;
  std::optional<double> tau;
  Problems problems;
  const Document document = parse_document(text, "a.yaml", problems);
  read_fields(
      document.root,
      [&](FieldVisitor& v) {
        v.field("frequency", frequency, {.help = "", .unit = Unit::hertz, .bare_low = 9e3});
        v.field("bytes", bytes, {.help = "", .unit = Unit::bytes, .bare_low = 1024});
        v.field("bands", bands, {.help = "", .unit = Unit::hertz, .bare_low = 9e3});
        v.field("tau", tau, {.help = "", .unit = Unit::seconds, .bare_high = 0.01});
      },
      problems);
  EXPECT_TRUE(problems.empty());
  std::vector<std::string> lines;
  for (const Problem& p : problems.warnings()) lines.push_back(p.text());
  return lines;
}

TEST(Reader, WarnsOfABareNumberThatIsProbablyMeantInAnotherUnit) {
  EXPECT_THAT(warnings("frequency: 98.5\n"),
              ElementsAre("a.yaml:1:1: warning: frequency: 98.5 has no unit, so it is 98.5 Hz; write the unit that you "
                          "mean: Hz, kHz, MHz or GHz"));
  EXPECT_THAT(warnings("bytes: 64\ntau: 50\n"),
              ElementsAre("a.yaml:1:1: warning: bytes: 64 has no unit, so it is 64 B; write the unit that you mean: B, "
                          "KiB, MiB, GiB, kB, MB or GB",
                          "a.yaml:2:1: warning: tau: 50 has no unit, so it is 50 s; write the unit that you mean: s, "
                          "ms, us or ns"));
  EXPECT_THAT(warnings("bands: [88 MHz, 108]\n"),
              ElementsAre("a.yaml:1:17: warning: bands[1]: 108 has no unit, so it is 108 Hz; write the unit that you "
                          "mean: Hz, kHz, MHz or GHz"));
  EXPECT_THAT(warnings("frequency: -98.5\n"), ::testing::SizeIs(1));
}

TEST(Reader, DoesNotWarnOfWhatIsWrittenWithItsUnitOrIsPlausible) {
  for (const char* text : {"frequency: 98.5 MHz", "frequency: 98.5 Hz", "frequency: 98.5e6", "frequency: 0",
                           "bytes: 64 MiB", "bytes: 1 B", "bytes: 65536", "tau: 50 us", "tau: 50e-6", "tau: none"})
    EXPECT_THAT(warnings(std::string(text) + "\n"), ElementsAre()) << text;
}

/// Two folders, and the working directory in one of them.
TEST(FindFile, BesideTheFileThenInTheWorkingDirectory) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("iqd-find-{}", ::getpid());
  fs::create_directories(folder / "lab");
  fs::create_directories(folder / "here");
  const fs::path before = fs::current_path();
  fs::current_path(folder / "here");
  const Place place{"../lab/p.yaml", 1, 1};
  const FoundFile none = find_file(place, "x.npy");
  EXPECT_FALSE(none.found);
  EXPECT_EQ(none.path, "../lab/x.npy");
  EXPECT_EQ(none.looked, fmt::format(" (looked beside the pipeline file, in {}, and in the working directory, {})",
                                     (folder / "lab").string(), (folder / "here").string()));
  EXPECT_EQ(find_file({"/dev/stdin", 1, 1}, "x.npy").looked,
            fmt::format(" (looked in {})", (folder / "here").string()));
  EXPECT_EQ(find_file(place, "/no/x.npy").looked, "");
  std::ofstream(folder / "here" / "x.npy") << "x";
  EXPECT_EQ(find_file(place, "x.npy").path, "x.npy");
  std::ofstream(folder / "lab" / "x.npy") << "x";
  EXPECT_EQ(find_file(place, "x.npy").path, "../lab/x.npy");
  std::ofstream(folder / "lab" / "r.sigmf-meta") << "x";
  EXPECT_FALSE(find_file(place, "r").found);
  EXPECT_EQ(find_file(place, "r", ".sigmf-meta").path, "../lab/r");
  fs::current_path(before);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace iqd
