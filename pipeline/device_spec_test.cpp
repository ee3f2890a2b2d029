// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Files that name devices: the keys, the devices that are opened, and what a pipeline needs of each.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"
#include "pipeline/sizing.hpp"
#include "pipeline/spec/spec_backends.hpp"
#include "pipeline/spec_plan.hpp"
#include "tests/support/engine_rig.hpp"
#include "tests/support/test_catalogue.hpp"

namespace iqd::testing {
namespace {

std::string with(const std::string& lines) {
  return "source: {tape: {}}\nblock: 64\n" + lines;
}

constexpr std::size_t kBlockBytes = 64 * sizeof(Word);

struct File {
  explicit File(const std::string& text, const Catalogue& stages = test_catalogue()) : catalogue(stages) {
    const Document document = parse_document(text, "x.yaml", problems);
    spec = read_spec(document, catalogue, problems);
    for (const Problem& p : problems) ADD_FAILURE() << p.text();
  }
  PipelineSpec& first() { return spec.pipelines.at(0); }
  Plan plan(const PlanTarget& target) {
    std::vector<OutputIndex> outputs;
    return make_plan(first(), {.element = Element::i32, .rate_hz = 1e6}, catalogue, target, outputs, problems);
  }
  Catalogue catalogue;
  Problems problems;
  Spec spec;
};

EngineBackends two_devices() {
  EngineBackends backends{make_cpu_backend()};
  for (int d = 0; d < 2; ++d) {
    auto device = std::make_shared<FakeDevice>(d);
    device->limits = {.in = 1000, .out = 2000};
    backends.devices.push_back(std::move(device));
  }
  return backends;
}

TEST(DeviceSpec, BackendsThatDoNotGoTogether) {
  EXPECT_EQ(problems_of(with("backend: [cuda:0, cuda:1]\n")), "");
  EXPECT_EQ(problems_of(with("backend: [cuda:0, cpu]\n")),
            "x.yaml:3:1 backend: 'cpu' cannot share blocks: several backends must all be devices\n");
  EXPECT_EQ(problems_of(with("backend: [auto, cuda:1]\n")),
            "x.yaml:3:1 backend: 'auto' cannot share blocks: several backends must all be devices\n");
  EXPECT_EQ(problems_of(with("backend: [cuda, cuda:0]\n")), "x.yaml:3:1 backend: 'cuda:0' is named twice\n");
  EXPECT_EQ(problems_of(with("backend: [cuda:1, cuda:1]\n")), "x.yaml:3:1 backend: 'cuda:1' is named twice\n");
  EXPECT_EQ(problems_of(with("backend: [cuda:0, gpu]\n")),
            "x.yaml:3:1 backend: 'gpu' is not one of auto, cpu, cuda, cuda:N\n"
            "x.yaml:3:1 backend: 'gpu' cannot share blocks: several backends must all be devices\n");
  EXPECT_EQ(problems_of(with("backend: []\n")), "x.yaml:3:1 backend: is empty; leave it out, or use auto\n");
}

TEST(DeviceSpec, StagesOfOtherDevices) {
  const auto stages = [](const std::string& backend, const std::string& a, const std::string& b) {
    return problems_of(with("backend: " + backend + "\nstages:\n  - window: {name: a, backend: " + a +
                            "}\n  - window: {name: b, backend: " + b + "}\n"));
  };
  for (const char* backend : {"cuda:0", "cuda", "cpu", "auto", "[cuda:0, cuda:2]"}) {
    EXPECT_EQ(stages(backend, "cpu", "cuda"), "");
    EXPECT_EQ(stages(backend, "cuda:1", "cuda:2"), "");
    EXPECT_EQ(stages(backend, "[cuda:1, cuda]", "auto"), "");
  }
  EXPECT_EQ(stages("cuda", "[cuda:1, cpu]", "gpu"),
            "x.yaml:5:23 stages[0].window.backend: 'cpu' cannot share blocks: several backends must all be devices\n"
            "x.yaml:6:23 stages[1].window.backend: 'gpu' is not one of auto, cpu, cuda, cuda:N\n");
  EXPECT_EQ(stages("cuda", "[]", "cpu"), "x.yaml:5:23 stages[0].window.backend: is empty; leave it out\n");
  EXPECT_EQ(stages("cuda", "[cuda:1, cuda:1]", "cpu"),
            "x.yaml:5:23 stages[0].window.backend: 'cuda:1' is named twice\n");
  EXPECT_EQ(stages("cuda", "{device: 1}", "cpu"),
            "x.yaml:5:23 stages[0].window.backend: expected a list of strings, found a map\n");
}

TEST(DeviceSpec, TooManyCombinationsOfDevices) {
  const auto combinations = [](int count) {
    std::string lines = "stages:\n";
    for (int i = 1; i <= count; ++i)
      lines += fmt::format("  - window: {{name: s{}, backend: [cuda:0, cuda:{}]}}\n", i, i);
    return problems_of(with(lines));
  };
  EXPECT_EQ(combinations(7), "");
  EXPECT_EQ(combinations(9),
            "x.yaml:11:24 stages[7].window.backend: the stages name too many combinations of devices: at most 7\n");
}

/// The devices in the order in which they are opened, and the groups of a file's stages.
TEST(DeviceSpec, GroupsOfDevices) {
  const auto use = [](const std::string& backend, const std::string& a, const std::string& b) {
    File file(with("backend: " + backend + "\nstages:\n  - window: {name: a, backend: " + a +
                   "}\n  - window: {name: b, backend: " + b + "}\n"));
    const BackendUse found = backends_of(file.first());
    std::string text = fmt::format("{}:", fmt::join(found.names, ","));
    for (const DeviceGroup& g : found.groups) text += fmt::format(" {}={}", g.name, fmt::join(g.devices, ","));
    return text;
  };
  EXPECT_EQ(use("cuda", "cuda:0", "cuda"), "cuda: cuda:0=0");
  EXPECT_EQ(use("cuda:0", "cuda:1", "cuda"), "cuda:0,cuda:1: cuda:0=0 cuda:1=1");
  EXPECT_EQ(use("auto", "cuda", "cuda:1"), "cuda:1: cuda:1=0");
  EXPECT_EQ(use("cpu", "cuda:1", "cuda:0"), "cuda:1,cuda:0: cuda:1=0 cuda:0=1");
  EXPECT_EQ(use("[cuda:1, cuda:0]", "cuda:0", "cpu"), "cuda:1,cuda:0: cuda:1+cuda:0=0,1 cuda:0=1");
  EXPECT_EQ(use("cuda:0", "[cuda:0, cuda:3]", "cuda:3"), "cuda:0,cuda:3: cuda:0=0 cuda:0+cuda:3=0,1 cuda:3=1");
  EXPECT_EQ(use("auto", "cpu", "auto"), "auto: auto=0");
}

/// If only stages name a device, exactly that one is opened.
TEST(DeviceSpec, DevicesOfStagesAreOpened) {
  for (const char* backend : {"auto", "cpu"}) {
    File file(with(std::string("backend: ") + backend +
                   "\nstages:\n  - window: {name: a, backend: cuda}\n  - window: {name: b, backend: cuda:99}\n"));
    try {
      choose_backends(file.first());
      ADD_FAILURE() << "no machine has a hundred";
    } catch (const SetupError& e) {
      EXPECT_NE(std::string(e.what()).find("cuda:99"), std::string::npos) << e.what();
    }
  }
}

TEST(DeviceSpec, SequentialStagesStayOnOneDevice) {
  const auto own = [](const std::string& backend, const std::string& of_stage) {
    return problems_of(with("backend: " + backend + "\nstages:\n  - running: {backend: " + of_stage +
                            "}\npublish:\n  - {port: running, topic: a, bind: x}\n"));
  };
  EXPECT_EQ(own("[cuda:0, cuda:1]", "cuda:1"), "");
  EXPECT_EQ(own("[cuda:0, cuda:1]", "cpu"), "");
  EXPECT_EQ(own("cuda:0", "[cuda:0, cuda:1]"),
            "x.yaml:5:15 stages[0].running.backend: the stage takes blocks in sequence, so several devices cannot "
            "share them\n");
  const std::string stages = "stages:\n  - running: {}\npublish:\n  - {port: running, topic: a, bind: x}\n";
  EXPECT_EQ(problems_of(with("backend: [cuda:0, cuda:1]\n" + stages)),
            "x.yaml:3:1 backend: a stage takes blocks in sequence, so several devices cannot share them\n");
  EXPECT_EQ(problems_of(with("backend: cuda:1\n" + stages)), "");
}

TEST(DeviceSpec, TransferSaysWhatIsCopied) {
  const EngineBackends backends = two_devices();
  const auto target = [&](const std::string& lines) { return target_of(File(with(lines)).first(), backends); };
  EXPECT_EQ(target("backend: cuda\n").side, Side::device);
  EXPECT_EQ(target("backend: auto\n").side, Side::device) << "a device is available";
  EXPECT_EQ(target("backend: cpu\n").side, Side::host) << "of stages without a `backend`";
  EXPECT_EQ(target("transfer: auto\n").mapped.in, 1000u);
  EXPECT_EQ(target("transfer: auto\n").mapped.out, 2000u);
  EXPECT_EQ(target("transfer: mapped\n").mapped.in, std::numeric_limits<std::size_t>::max());
  EXPECT_EQ(target("transfer: copy\n").mapped.out, 0u);
  EXPECT_EQ(target_of(File(with("backend: auto\n")).first(), {make_cpu_backend()}).side, Side::host);
  EXPECT_EQ(problems_of(with("transfer: dma\n")), "x.yaml:3:1 transfer: 'dma' is not one of auto, mapped, copy\n");
}

TEST(DeviceSpec, FuseSaysWhetherStagesBecomeOne) {
  const std::string lines =
      "backend: cuda\nstages:\n  - scale: {name: a}\n  - scale: {name: b}\n"
      "publish:\n  - {port: b, topic: a, bind: x}\n";
  const auto steps = [&](const std::string& fuse) {
    File file(with(lines + fuse));
    return names_of(file.plan(target_of(file.first(), two_devices())));
  };
  EXPECT_EQ(steps(""), std::vector<std::string>{"a+b"});
  EXPECT_EQ(steps("fuse: on\n"), std::vector<std::string>{"a+b"});
  EXPECT_EQ(steps("fuse: off\n"), (std::vector<std::string>{"a", "b"}));
}

TEST(DeviceSpec, TransfersOfAFile) {
  const std::string lines =
      "backend: cuda\nstages:\n  - window: {name: a}\n  - window: {name: b, backend: cpu}\n  - gate:\n"
      "publish:\n  - {port: gate, topic: a, bind: x}\n";
  const auto steps = [&](const std::string& transfer) {
    File file(with(lines + transfer));
    return names_of(file.plan(target_of(file.first(), two_devices())));
  };
  EXPECT_EQ(steps(""), (std::vector<std::string>{"a", "~a.out.host", "b", "gate"}));
  EXPECT_EQ(steps("transfer: mapped\n"), (std::vector<std::string>{"a", "~a.out.host", "b", "gate"}));
  EXPECT_EQ(steps("transfer: copy\n"),
            (std::vector<std::string>{"~source.device", "a", "~a.out.host", "b", "~b.out.device", "gate"}));
}

TEST(DeviceSpec, WhatIsReadMoreThanOnceIsCopied) {
  Catalogue catalogue = test_catalogue();
  std::vector<StageEntry> stages(catalogue.stages.begin(), catalogue.stages.end());
  for (StageEntry& e : stages)
    if (e.name == "window") e.inputs.front().reread = true;
  catalogue.stages = stages;
  const auto steps = [&](const std::string& transfer) {
    File file(with("backend: cuda\nstages:\n  - window: {name: a}\n  - gate:\npublish:\n  - {port: gate, topic: a, "
                   "bind: x}\n" +
                   transfer),
              catalogue);
    return names_of(file.plan(target_of(file.first(), two_devices())));
  };
  EXPECT_EQ(steps(""), (std::vector<std::string>{"~source.device", "a", "gate"}));
  EXPECT_EQ(steps("transfer: mapped\n"), (std::vector<std::string>{"a", "gate"}));
}

// --- parts -----------------------------------------------------------------------------------------------------------

TEST(DeviceSpec, PartsOfDevices) {
  const auto chosen = [](const std::string& lines, ChosenBackends backends) {
    File file(with(lines));
    take_parts(backends, file.first());
    return backends;
  };
  const std::string both = "backend: [cuda:0, cuda:1]\n";
  const ChosenBackends divided = chosen(both + "gpu: {share: 12 %}\n", {two_devices()});
  EXPECT_EQ(divided.share,
            "cuda:0: 16 of 132 multiprocessors (asked for 12 %), cuda:1: 16 of 132 multiprocessors (asked for 12 %)");
  EXPECT_EQ(divided.backends.parts.size(), 2u);
  EXPECT_EQ(divided.processors(), 16);
  EXPECT_EQ(divided.no_share, "");
  const ChosenBackends whole = chosen(both, {two_devices()});
  EXPECT_EQ(whole.share, "");
  EXPECT_EQ(whole.processors(), 0);
  ChosenBackends cpu{{make_cpu_backend()}};
  cpu.reason = "no NVIDIA driver is loaded";
  EXPECT_EQ(chosen("gpu: {share: 16 SM}\n", cpu).no_share, "there is no GPU to share: no NVIDIA driver is loaded");
  EXPECT_EQ(chosen("", cpu).no_share, "");
}

TEST(DeviceSpec, APipelineWithoutAShareGetsWhatIsLeft) {
  Problems problems;
  const std::string text =
      "pipelines:\n  - {name: a, source: {tape: {}}, gpu: {share: 8 SM}}\n  - {name: b, source: {tape: {}}}\n";
  const Spec spec = read_spec(parse_document(text, "x.yaml", problems), test_catalogue(), problems);
  const auto device = std::make_shared<FakeDevice>();
  ChosenBackends chosen{{make_cpu_backend(), {device}}};
  take_parts(chosen, spec.pipelines[1]);
  EXPECT_EQ(chosen.share, "cuda:0: 16 of 132 multiprocessors (what is left)");
  device->processors = 0;
  take_parts(chosen, spec.pipelines[1]);
  EXPECT_EQ(chosen.no_share, "cuda:0 cannot be divided");
  EXPECT_EQ(chosen.share, "");
}

// --- memory ----------------------------------------------------------------------------------------------------------

TEST(DeviceSpec, MemoryOfADevice) {
  File file(with("backend: [cuda:0, cuda:1]\n"));
  PipelineSpec& spec = file.first();
  Sizing sizing;
  sizing.engine.lanes = 3;
  FakeDevice device(1);
  const auto problem = [&](std::size_t needed) {
    Problems problems;
    spec.section = Section("", {"x.yaml", 3, 1}, problems);
    device.budget.free = 24'000'000;
    check_device_memory(spec, sizing, device, needed);
    return problems.empty() ? "" : problems.front().what;
  };
  EXPECT_EQ(problem(24'000'000), "") << "fits exactly";
  EXPECT_EQ(problem(25'000'000),
            "blocks of 64 samples and 3 lanes need 25 MB of cuda:1 (a test device), but 24 MB are free; use a "
            "smaller block or fewer lanes");
}

/// Lanes use the devices of each group in turn.
TEST(DeviceSpec, MemoryOfEachDevice) {
  const auto sizes = [](const std::string& lines) {
    File file(with(lines));
    const EngineBackends backends = two_devices();
    Plan plan = file.plan(target_of(file.first(), backends));
    plan.prepare(*backends.host, backends.devices);
    const std::vector<OutputIndex> outputs(file.first().publish.size());
    Sizing sizing = size_up(file.first(), plan, {.element = Element::i32, .rate_hz = 1e6, .can_wait = true}, outputs);
    return std::pair(std::move(sizing), plan.arena_bytes);
  };
  const std::string stages = "\ntransfer: copy\nlanes: 3\nstages:\n  - window: {name: a}\n  - window: {name: b";
  const auto [shared, of_shared] = sizes("backend: [cuda:0, cuda:1]" + stages + "}\n");
  EXPECT_EQ(shared.on_devices, (std::vector<std::size_t>{2 * of_shared[1], of_shared[1]}));
  const auto [apart, of_apart] = sizes("backend: cuda:0" + stages + ", backend: cuda:1}\n");
  EXPECT_EQ(apart.on_devices, (std::vector<std::size_t>{3 * of_apart[1], 3 * of_apart[2]}));
  EXPECT_EQ(apart.device_bytes, 3 * (of_apart[1] + of_apart[2]));
  EXPECT_GT(of_apart[2], 0u);
}

TEST(DeviceSpec, SizesOfTwoSides) {
  File file(with("backend: cuda\nlanes: 3\nstages:\n  - window: {name: a}\n  - window: {name: b, backend: cpu}\n"));
  Plan plan = file.plan({Side::device, {}});
  plan.prepare(*make_cpu_backend(), two_devices().devices);
  const std::vector<OutputIndex> outputs(file.first().publish.size());
  const Sizing sizing =
      size_up(file.first(), plan, {.element = Element::i32, .rate_hz = 1e6, .can_wait = true}, outputs);
  EXPECT_EQ(sizing.arena_bytes, 3 * plan.arena_bytes[index_of(Side::host)]);
  EXPECT_EQ(sizing.device_bytes, 3 * plan.arena_bytes[index_of(Side::device)]);
  EXPECT_EQ(sizing.device_ring_bytes, 0u);
  EXPECT_GE(sizing.arena_bytes, 3 * kBlockBytes);
  EXPECT_GE(sizing.device_bytes, 3 * kBlockBytes);
}

}  // namespace
}  // namespace iqd::testing
