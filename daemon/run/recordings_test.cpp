// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/recordings.hpp"

#include <gtest/gtest.h>

#include "tests/support/scratch_folder.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kNoon = 1'774'958'400'000'000'000;  // 2026-03-31T12:00:00Z

Plan lab() {
  Plan plan;
  plan.pipeline = "la/b";
  plan.ports.resize(3);
  plan.ports[0].name = "source";
  plan.ports[1].name = "spectrum.out";
  plan.ports[1].shape.element = Element::f32;
  plan.ports[1].shape.item = {{"bin", 1024}};
  plan.ports[2].name = "ber_meter.rate";
  plan.ports[2].shape.axis = Axis::counted;
  return plan;
}

TEST(Recordings, SamplesBecomeAnArchiveAndOthersAnArray) {
  const ScratchFolder folder;
  const auto made = [&](const char* port) {
    return Recordings().make({"", port, 2.5, folder.path().string()}, lab(), kNoon);
  };
  const Recordings::Recording samples = made("source");
  EXPECT_EQ(samples.name, "la_b-source-20260331T120000Z.sigmf");
  EXPECT_EQ(samples.pipeline, "la/b");
  EXPECT_EQ(samples.sink.pipeline, "la/b");
  EXPECT_EQ(samples.sink.entry["port"].scalar(), "source");
  const Node file = samples.sink.entry["file"];
  EXPECT_EQ(file["path"].scalar(), folder / samples.name);
  EXPECT_EQ(file["trigger"]["post"].scalar(), "2.5");
  EXPECT_EQ(made("spectrum").name, "la_b-spectrum-20260331T120000Z.npy") << "the stage's first port";
  EXPECT_EQ(made("spectrum.out").name, "la_b-spectrum.out-20260331T120000Z.npy");
  EXPECT_FALSE(made("spectrum.out").sink.entry["file"]["trigger"]);
  EXPECT_EQ(made("ber_meter.rate").name, "la_b-ber_meter.rate-20260331T120000Z.npy");
  EXPECT_EQ(made("../x").name.find('/'), std::string::npos);
  EXPECT_NO_THROW(made(std::string(300, 'x').c_str())) << "a name that no file can have";
}

TEST(Recordings, ReplaceNoFile) {
  const ScratchFolder folder;
  const RecordingRequest request{"", "source", 1, folder.path().string()};
  Recordings all;
  const auto name = [&] { return all.make(request, lab(), kNoon).name; };
  folder.write(name(), "x");
  EXPECT_EQ(name(), "la_b-source-20260331T120000Z-2.sigmf");
  folder.write("la_b-source-20260331T120000Z-2.part.sigmf-meta", "x");
  EXPECT_EQ(name(), "la_b-source-20260331T120000Z-3.sigmf");
  all.add(all.make(request, lab(), kNoon));
  EXPECT_EQ(name(), "la_b-source-20260331T120000Z-4.sigmf") << "it has no file yet";
}

TEST(Recordings, AreOverInTheirOrder) {
  const ScratchFolder folder;
  Recordings all;
  for (const std::int64_t ends_ns : {10, 20}) {
    Recordings::Recording one = all.make({"", "source", 1, folder.path().string()}, lab(), kNoon + ends_ns);
    one.name = std::to_string(ends_ns);
    one.ends_ns = ends_ns;
    all.add(std::move(one));
  }
  const auto names = [&all] {
    std::vector<std::string> list;
    for (const RunningRecording& r : all.running()) list.push_back(r.name + (r.is_closing ? " closing" : ""));
    return list;
  };
  EXPECT_EQ(names(), (std::vector<std::string>{"10", "20"}));
  EXPECT_EQ(all.over(9), nullptr);
  for (const AddedSink& sink : all.sinks()) EXPECT_TRUE(sink.is_open);
  ASSERT_NE(all.over(15), nullptr);
  EXPECT_EQ(all.over(15)->name, "10");
  EXPECT_EQ(all.sinks().size(), 2u);
  EXPECT_EQ(all.sinks("10").size(), 1u);
  all.postpone("10", 30);
  EXPECT_EQ(all.over(15), nullptr);
  EXPECT_EQ(all.over(25)->name, "20");
  EXPECT_TRUE(all.closing().empty());
  all.close("20");
  EXPECT_EQ(names(), (std::vector<std::string>{"10", "20 closing"})) << "until its file is complete";
  EXPECT_EQ(all.over(25), nullptr);
  EXPECT_EQ(all.sinks().size(), 1u);
  ASSERT_EQ(all.closing().size(), 1u);
  EXPECT_EQ(all.closing()[0].name, "20");
  all.remove("20");
  EXPECT_EQ(names(), std::vector<std::string>{"10"});
}

}  // namespace
}  // namespace iqd
