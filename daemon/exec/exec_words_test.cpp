// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/exec/exec_input.hpp"
#include "daemon/exec/exec_request.hpp"
#include "pipeline/stage/stage.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ExecWords sorted(std::vector<std::string> words, std::vector<std::string> config = {}) {
  ExecRequest request;
  request.words = std::move(words);
  request.config = std::move(config);
  Problems problems;
  ExecWords result = sort_words(request, problems);
  for (const Problem& p : problems) ADD_FAILURE() << p.text();
  return result;
}

std::string refusal(std::vector<std::string> words) {
  ExecRequest request;
  request.words = std::move(words);
  Problems problems;
  std::string text;
  try {
    sort_words(request, problems);
  } catch (const UsageError& e) {
    text = e.what();
  }
  for (const Problem& p : problems) text += p.text() + "\n";
  return text;
}

TEST(ExecWords, StagesComeBeforeFiles) {
  const ExecWords words = sorted({"fir: {taps: [1, 2]}", "conjugate", "{fir: {taps: [3], name: last}}",
                                  "fir:\n  taps: 4", "x.npy", "/tmp/conjugate"});
  ASSERT_EQ(words.stages.size(), 4U);
  EXPECT_EQ(words.stages[0].keys, R"({"taps":["1","2"]})");
  EXPECT_EQ(words.stages[1].keys, "{}");
  EXPECT_EQ(words.stages[2].keys, R"({"taps":["3"]})");
  EXPECT_EQ(words.stages[3].keys, R"({"taps":"4"})");
  EXPECT_EQ(words.stages[0].name, "fir");
  EXPECT_EQ(words.stages[2].name, "last");
  EXPECT_EQ(words.stages[3].name, "fir_2");
  EXPECT_EQ(words.stages[3].label, "stage 4 `fir`");
  EXPECT_THAT(words.files, ElementsAre("x.npy", "/tmp/conjugate"));
}

TEST(ExecWords, AConfigurationCompletesTheOnlyStage) {
  EXPECT_EQ(sorted({"fir: {taps: [1]}"}, {"decimation=2"}).stages[0].keys, R"({"taps":["1"],"decimation":"2"})");
  EXPECT_EQ(sorted({"fir"}, {"design.type=low_pass"}).stages[0].keys, R"({"design":{"type":"low_pass"}})");
  EXPECT_THROW(sorted({"fir", "conjugate"}, {"decimation=2"}), UsageError);
}

TEST(ExecWords, ABareNameMayBeARecording) {
  const ScratchFolder folder;
  folder.write("capture.sigmf-meta", "{}");
  EXPECT_THAT(sorted({"conjugate", folder / "capture"}).files, ElementsAre(folder / "capture"));
  EXPECT_THAT(refusal({"conjugate", "captur"}), HasSubstr("stage 2 `captur`: there is no such stage"));
}

TEST(ExecWords, ItSaysWhatIsWrong) {
  EXPECT_THAT(refusal({"fir: {taps: [1]}", "x.npy", "y.npy", "conjugate"}), HasSubstr("'conjugate' is neither"));
  EXPECT_THAT(refusal({"conjugate", "fir: 3"}), HasSubstr("stage 2 `fir`: expected its keys as a map"));
  EXPECT_THAT(refusal({"{fir: {taps: 1}, conjugate: {}}"}), HasSubstr("expected one stage"));
  const std::string both = refusal({"fri: {taps: [1]}", "fir: {taps: [1"});
  EXPECT_THAT(both, HasSubstr("stage 1 `fri`: there is no such stage; `iqd stages` lists them\n"));
  EXPECT_THAT(both, HasSubstr("stage 2 `fir`: "));
}

TEST(ExecWords, PortsHaveWholeNames) {
  const StageEntry& framer = *find_stage("framer");
  const std::vector<std::string> stages{"complex_to_mag", "framer"};
  EXPECT_EQ(whole_name("metric", stages, framer), "framer.metric");
  EXPECT_EQ(whole_name("out", stages, framer), "framer.out");
  EXPECT_EQ(whole_name("out", stages, *find_stage("fir")), "framer.out") << "its only output";
  EXPECT_EQ(whole_name("complex_to_mag", stages, framer), "complex_to_mag");
  EXPECT_EQ(whole_name("source", stages, framer), "source");
  EXPECT_EQ(whole_name("a.b", stages, framer), "a.b");
}

TEST(ExecWords, OutputsAreFilesWithPorts) {
  ExecRequest request;
  request.out = {"bits=b.npy"};
  request.ports = {"framer.out", "metric=m.npy"};
  const std::vector<PortFile> out = outputs_of(request, {{}, {"x.npy", "y.npy"}});
  ASSERT_EQ(out.size(), 3U);
  EXPECT_EQ(out[0].port + ' ' + out[0].file, "framer.out y.npy");
  EXPECT_EQ(out[1].port + ' ' + out[1].file, "bits b.npy");
  EXPECT_EQ(out[2].port + ' ' + out[2].file, "metric m.npy");
  EXPECT_EQ(out[2].label, "--port metric=m.npy");
  request.ports = {"framer.out", "framer.bits"};
  EXPECT_THROW(outputs_of(request, {{}, {"x.npy", "y.npy"}}), UsageError);
  EXPECT_THROW(refuse_twice({{"a", "y.npy"}, {"b", "y.npy"}}), UsageError);
}

TEST(ExecWords, ProblemsGetThePlacesOfTheCommandLine) {
  Problems problems;
  problems.push_back({{"composed", 1, 70}, "stages[1].fir.design.cutoff", "is too high"});
  problems.push_back({{"composed", 1, 70}, "stages[0]", "is odd"});
  problems.push_back({{"composed", 0, 0}, "block", "is too large"});
  problems.push_back({{"p.yaml", 3, 5}, "stages[0].fir.taps", "is required"});
  problems.push_back({{"--port a.b=c.npy", 0, 0}, "port", "there is none"});
  problems.push_back({{"x.sigmf-meta", 0, 0}, "path", "x.sigmf-meta: is empty"});
  name_places(problems, "composed",
              {{"conjugate", "conjugate", "{}", "stage 1 `conjugate`"}, {"fir", "a", "{}", "stage 2 `fir`"}});
  std::vector<std::string> texts;
  for (const Problem& p : problems) texts.push_back(p.text());
  EXPECT_THAT(texts, ElementsAre("stage 2 `fir`: design.cutoff: is too high", "stage 1 `conjugate`: is odd",
                                 "--block: is too large", "p.yaml:3:5 stages[0].fir.taps: is required",
                                 "--port a.b=c.npy: there is none", "x.sigmf-meta: is empty"));
}

TEST(ExecInput, SamplesAreStreamsOfSingleNumbers) {
  EXPECT_TRUE(takes_samples(find_stage("fir")->inputs.front()));
  EXPECT_TRUE(takes_samples(find_stage("framer")->inputs.front()));
  EXPECT_FALSE(takes_samples(find_stage("ldpc_decoder")->inputs.front()));
  EXPECT_FALSE(takes_samples(find_stage("mtt_detector")->inputs.front()));
}

}  // namespace
}  // namespace iqd
