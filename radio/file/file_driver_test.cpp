// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/file_driver.hpp"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "config/fields.hpp"
#include "radio/messages_for_test.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::radio {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Assigns values to the fields of an options object.
class Setter final : public FieldVisitor {
 public:
  explicit Setter(json values) : values_(std::move(values)) {}
  void visit(std::string_view key, FieldRef field, const FieldInfo& info) override {
    EXPECT_FALSE(info.help.empty()) << key;
    const auto found = values_.find(std::string(key));
    if (found == values_.end()) return;
    if (auto* text = std::get_if<std::string*>(&field)) **text = found->get<std::string>();
    if (auto* flag = std::get_if<bool*>(&field)) **flag = found->get<bool>();
  }

 private:
  json values_;
};

std::unique_ptr<SourceOptions> source_options(const json& values) {
  auto options = file_driver().make_source();
  Setter setter(values);
  options->fields(setter);
  return options;
}
std::unique_ptr<SinkOptions> sink_options(const json& values) {
  auto options = file_driver().make_sink();
  Setter setter(values);
  options->fields(setter);
  return options;
}

std::vector<std::string> texts(const Problems& problems) {
  std::vector<std::string> all;
  for (const Problem& p : problems) all.push_back(p.what);
  return all;
}

std::vector<std::string> describe(const std::string& path) {
  Problems problems;
  source_options({{"path", path}})->describe(Section("source.file", {}, problems));
  for (const Problem& p : problems) EXPECT_THAT(p.path, HasSubstr("source.file.path"));
  return texts(problems);
}

std::vector<std::string> check(const json& values, const PortFormat& format) {
  Problems problems;
  sink_options(values)->check(format, Section("sinks[0].file", {}, problems));
  return texts(problems);
}

json plain() {
  return {
      {"global",
       {{"core:datatype", "ci16_le"}, {"core:sample_rate", 2e6}, {"core:num_channels", 2}, {"core:version", "1.2.5"}}},
      {"captures", {{{"core:sample_start", 0}, {"core:frequency", 9e8}}}},
      {"annotations", json::array()}};
}

TEST(FileDriver, DescribesARecordingByAnyOfItsNames) {
  const ScratchFolder folder;
  folder.write("x.sigmf-meta", plain().dump());
  folder.write("x.sigmf-data", std::vector<sc16>(20));
  for (const char* name : {"x", "x.sigmf-meta", "x.sigmf-data"}) {
    Problems problems;
    const StreamInfo info = source_options({{"path", folder / name}})->describe(Section("source.file", {}, problems));
    EXPECT_THAT(texts(problems), IsEmpty());
    EXPECT_EQ(info.element, Element::sc16);
    EXPECT_EQ(info.channels, 2);
    EXPECT_EQ(info.rate_hz, 2e6);
    EXPECT_EQ(info.frequency_hz, 9e8);
    EXPECT_EQ(info.time, TimeSource::host);
    EXPECT_TRUE(info.can_wait);
  }
}

TEST(FileDriver, TheFolderOfAnOpenSinkNeedNotBeThere) {
  const auto options = sink_options({{"path", "/nowhere/x.npy"}});
  Problems before, open;
  options->check({}, Section("sinks[0].file", {}, before));
  EXPECT_THAT(texts(before), ElementsAre(HasSubstr("the folder does not exist")));
  options->note_open();
  options->check({}, Section("sinks[0].file", {}, open));
  EXPECT_THAT(texts(open), IsEmpty());
}

TEST(FileDriver, SaysWhatToDoAboutWhatIsNoRecording) {
  const ScratchFolder folder;
  EXPECT_THAT(describe(folder / "nothing"), ElementsAre(HasSubstr("there is no such file")));
  folder.write("raw.bin", "12345678");
  EXPECT_THAT(describe(folder / "raw.bin"), ElementsAre(HasSubstr("set `format` (and `rate`)")));
  folder.write("x.sigmf", "a tar");
  EXPECT_THAT(describe(folder / "x.sigmf"), ElementsAre(HasSubstr("tar -xf")));
  folder.write("x.sigmf-meta", "hello");
  folder.write("x.sigmf-data", std::vector<sc16>(20));
  EXPECT_THAT(describe(folder / "x"), ElementsAre(HasSubstr("is not JSON")));
  folder.write("x.sigmf-meta", "{}");
  EXPECT_THAT(describe(folder / "x"), ElementsAre(HasSubstr("is not SigMF")));
  json meta = plain();
  meta["global"]["core:datatype"] = "ri12_be";
  meta["global"]["core:sample_rate"] = 0;
  folder.write("x.sigmf-meta", meta.dump());
  EXPECT_THAT(describe(folder / "x"),
              ElementsAre(HasSubstr("core:sample_rate"), HasSubstr("ri12_be is not supported; iqd reads")));
}

TEST(FileDriver, SaysWhereDataAndMetadataDisagree) {
  const ScratchFolder folder;
  folder.write("x.sigmf-meta", plain().dump());
  EXPECT_THAT(describe(folder / "x"), ElementsAre(HasSubstr("x.sigmf-data: there is no such file")));
  folder.write("x.sigmf-data", "");
  EXPECT_THAT(describe(folder / "x"), ElementsAre(HasSubstr("holds no samples")));
  folder.write("x.sigmf-data", std::vector<sc16>(21));
  EXPECT_THAT(describe(folder / "x"), ElementsAre(HasSubstr("not a whole number")));
  json meta = plain();
  meta["captures"].push_back({{"core:sample_start", 1000}});
  folder.write("x.sigmf-meta", meta.dump());
  folder.write("x.sigmf-data", std::vector<sc16>(20));
  EXPECT_THAT(describe(folder / "x"), ElementsAre(HasSubstr("cut short")));
}

TEST(FileDriver, ChecksWhereItWouldRecord) {
  const ScratchFolder folder;
  const PortFormat format = stream_format(Element::cf32);
  EXPECT_THAT(check({{"path", folder / "x"}}, format), IsEmpty());
  EXPECT_THAT(check({{"path", folder / "no/x"}}, format), ElementsAre(HasSubstr("folder")));
  EXPECT_THAT(check({{"path", folder / "x"}}, stream_format(Element::f16)), ElementsAre(HasSubstr("SigMF")));
  folder.write("x.sigmf-meta", "old");
  EXPECT_THAT(check({{"path", folder / "x"}}, format), ElementsAre(HasSubstr("overwrite: true")));
  EXPECT_THAT(check({{"path", folder / "x"}, {"overwrite", true}}, format), IsEmpty());
  EXPECT_EQ(folder.text("x.sigmf-meta"), "old");
  const auto sink = sink_options({{"path", folder / "x"}, {"overwrite", true}})->open(format);
  EXPECT_THAT(check({{"path", folder / "x"}}, format), IsEmpty());  // being recorded: the configuration is read again
}

/// A recording plays back bit for bit, with its gaps and times.
template <class T> void round_trip(std::int64_t channels) {
  const ScratchFolder folder;
  std::mt19937 random(static_cast<unsigned>(channels));
  const PortFormat format = stream_format(element_of<T>, channels, 1 << 16);
  const auto rows = static_cast<std::size_t>(channels);
  std::vector<std::vector<T>> sent(rows);
  const std::vector<std::pair<std::int64_t, std::int64_t>> blocks{
      {1000, 0}, {50'000, 0}, {1, 99}, {777, 0}, {333, 12'345}};
  auto sink = sink_options({{"path", folder / "x"}})->open(format);
  std::int64_t sample = 500;
  for (const auto& [samples, gap] : blocks) {
    std::vector<T> payload(static_cast<std::size_t>(samples) * rows);
    for (T& x : payload) {
      const std::uint64_t bits = (static_cast<std::uint64_t>(random() & 0x3fffffff) << 32) | (random() & 0x3fffffff);
      std::memcpy(static_cast<void*>(&x), &bits, sizeof(T));
    }
    sample += gap;
    ASSERT_TRUE(sink->send(message_of<const T>(format, sample, payload, gap)));
    sample += samples;
    for (std::size_t c = 0; c < rows; ++c)
      sent[c].insert(sent[c].end(), payload.begin() + static_cast<std::ptrdiff_t>(c) * samples,
                     payload.begin() + static_cast<std::ptrdiff_t>(c + 1) * samples);
  }
  sink->finish();
  ASSERT_THAT(describe(folder / "x.sigmf-data"), IsEmpty());
  auto source = source_options({{"path", folder / "x"}})->open();
  std::vector<std::vector<T>> got(rows, std::vector<T>(sent[0].size() + 1));
  std::int64_t at = 0;
  std::int64_t index = 500;
  for (;;) {
    std::vector<std::byte*> into;
    for (auto& row : got) into.push_back(reinterpret_cast<std::byte*>(row.data() + at));
    const Received r = source->receive(into, 4099);
    if (r.event == Received::Event::end) break;
    ASSERT_EQ(r.event, Received::Event::samples);
    index += r.lost;
    ASSERT_TRUE(r.has_time);
    ASSERT_EQ(r.time_ns, message_of<const T>(format, index, {}).time_ns);
    index += r.samples;
    at += r.samples;
  }
  EXPECT_EQ(at, static_cast<std::int64_t>(sent[0].size()));
  EXPECT_EQ(index, sample);
  for (std::size_t c = 0; c < rows; ++c)
    EXPECT_EQ(std::memcmp(got[c].data(), sent[c].data(), sent[c].size() * sizeof(T)), 0) << c;
}

TEST(FileDriver, WritesSoundWhereThePathSaysSo) {
  const ScratchFolder folder;
  const auto check = [&](const json& values, const PortFormat& format, std::initializer_list<const char*> given = {}) {
    Problems problems;
    Section section("sinks[0].file", {}, problems);
    for (const char* key : given) section.note(key, {});
    sink_options(values)->check(format, section);
    return texts(problems);
  };
  const json here = {{"path", folder / "x.wav"}};
  const PortFormat audio = stream_format(Element::f32);
  EXPECT_THAT(check(here, audio), IsEmpty());
  EXPECT_THAT(check(here, stream_format(Element::u8)), ElementsAre(HasSubstr("a WAV file takes f32 or i16")));
  EXPECT_THAT(check(here, audio, {"path", "author"}), ElementsAre(HasSubstr("a WAV file cannot hold it")));
  EXPECT_THAT(check({{"path", folder / "no/x.wav"}}, audio), ElementsAre(HasSubstr("the folder does not exist")));

  EXPECT_EQ(sink_options(here)->path(), folder / "x.wav");
  const auto sink = sink_options(here)->open(audio);
  EXPECT_TRUE(sink->send(message_of<const float>(audio, 0, std::vector<float>{1, 2})));
  sink->finish();
  EXPECT_EQ(folder.text("x.wav").substr(0, 4), "RIFF");
  EXPECT_FALSE(std::filesystem::exists(folder / "x.wav.sigmf-meta"));
}

TEST(FileDriver, PlaysWhatItRecorded) {
  for (const std::int64_t channels : {1, 2, 3}) {
    round_trip<cf32>(channels);
    round_trip<sc16>(channels);
  }
}

}  // namespace
}  // namespace iqd::radio
