// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/device_facts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "pipeline/backend/cpu_backend.hpp"
#include "signal/filters/instructions.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text << "\n";
}

std::optional<std::string> text_of(const std::vector<DeviceFact>& facts, std::string_view key) {
  const auto at = std::ranges::find(facts, key, &DeviceFact::key);
  if (at == facts.end()) return std::nullopt;
  return value_text(*at);
}

TEST(DeviceFacts, ThreadsOfOneCoreAreCountedOnceAndCachesHaveTheirKind) {
  const ScratchFolder root;
  const fs::path cpu = root.path() / "sys/devices/system/cpu";
  for (int p = 0; p < 12; ++p) {
    const fs::path topology = cpu / ("cpu" + std::to_string(p)) / "topology";
    write(topology / "core_id", std::to_string(p / 2 % 3));  // the same three numbers in each of two packages
    write(topology / "physical_package_id", std::to_string(p / 6));
  }
  write(cpu / "cpufreq/boost", "1");
  write(cpu / "cpu0/cpufreq/cpuinfo_max_freq", "3500000");
  const char* kinds[] = {"Data", "Instruction", "Unified"};
  for (int i = 0; i < 3; ++i) {
    const fs::path cache = cpu / "cpu0/cache" / ("index" + std::to_string(i));
    write(cache / "level", i < 2 ? "1" : "2");
    write(cache / "type", kinds[i]);
    write(cache / "size", i < 2 ? "48K" : "2048K");
    write(cache / "coherency_line_size", "64");
  }
  write(root.path() / "sys/devices/system/node/node0/meminfo", "");
  const auto facts = processor_facts(root.path());
  EXPECT_EQ(text_of(facts, "cores"), "6");
  EXPECT_EQ(text_of(facts, "processors"), "12");
  EXPECT_EQ(text_of(facts, "clock_hz"), "3.5 GHz");
  EXPECT_EQ(text_of(facts, "l1_data_cache_bytes"), "48 KiB");
  EXPECT_EQ(text_of(facts, "l1_instruction_cache_bytes"), "48 KiB");
  EXPECT_EQ(text_of(facts, "l2_cache_bytes"), "2 MiB");
  EXPECT_EQ(text_of(facts, "cache_line_bytes"), "64 bytes");
  EXPECT_EQ(text_of(facts, "numa_nodes"), "1");
  EXPECT_EQ(text_of(facts, "vector_instructions"), vector_instructions().front());
}

TEST(DeviceFacts, WhatTheSystemDoesNotTellIsLeftOut) {
  const ScratchFolder root;
  const auto facts = processor_facts(root.path());
  for (const char* key : {"cores", "processors", "clock_hz", "l2_cache_bytes", "numa_nodes"})
    EXPECT_EQ(text_of(facts, key), std::nullopt) << key;
  EXPECT_TRUE(slot_facts("0000:17:00.0", root.path()).empty());
}

TEST(DeviceFacts, ASlotHasGenerationLanesAndNode) {
  const ScratchFolder root;
  const fs::path device = root.path() / "sys/bus/pci/devices/0000:17:00.0";
  write(device / "current_link_speed", "2.5 GT/s PCIe");
  write(device / "current_link_width", "8");
  write(device / "max_link_speed", "32.0 GT/s PCIe");
  write(device / "max_link_width", "16");
  write(device / "numa_node", "1");
  const auto facts = slot_facts("0000:17:00.0", root.path());
  EXPECT_EQ(text_of(facts, "pcie_generation"), "1");
  EXPECT_EQ(text_of(facts, "pcie_lanes"), "8");
  EXPECT_EQ(text_of(facts, "pcie_most_generation"), "5");
  EXPECT_EQ(text_of(facts, "pcie_most_lanes"), "16");
  EXPECT_EQ(text_of(facts, "numa_node"), "1");
}

TEST(DeviceFacts, WhatIsNotKnownOfASlotIsNotMadeUp) {
  const ScratchFolder root;
  const fs::path device = root.path() / "sys/bus/pci/devices/0000:17:00.0";
  write(device / "current_link_speed", "Unknown");
  write(device / "current_link_width", "63");  // so the kernel says it does not know
  write(device / "numa_node", "-1");           // of no node
  EXPECT_TRUE(slot_facts("0000:17:00.0", root.path()).empty());
}

TEST(DeviceFacts, ValuesHaveTheUnitOfTheirKey) {
  EXPECT_EQ(value_text({"l2_cache_bytes", std::int64_t{60} << 20}), "60 MiB");
  EXPECT_EQ(value_text({"shared_memory_per_block_bytes", std::int64_t{232'448}}), "227 KiB");
  EXPECT_EQ(value_text({"cache_line_bytes", std::int64_t{128}}), "128 bytes");
  EXPECT_EQ(value_text({"clock_hz", 1.98e9}), "1.98 GHz");
  EXPECT_EQ(value_text({"memory_bandwidth_bytes_per_s", 4.8e12}), "4.8 TB/s");
  EXPECT_EQ(value_text({"maps_host_memory", true}), "yes");
  EXPECT_EQ(value_text({"warp_size", std::int64_t{32}}), "32");
  EXPECT_EQ(title_of({"memory_bandwidth_bytes_per_s", 1.0}), "memory bandwidth");
  EXPECT_EQ(title_of({"warp_size", std::int64_t{32}}), "warp size");
}

TEST(DeviceFacts, TheProcessorHasSome) {
  const auto cpu = make_cpu_backend();
  const auto facts = facts_of(*cpu);
  EXPECT_TRUE(text_of(facts, "vector_instructions"));
  EXPECT_TRUE(text_of(facts, "processors_for_iqd"));
}

}  // namespace
}  // namespace iqd
