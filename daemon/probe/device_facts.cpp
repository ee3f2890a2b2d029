// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/device_facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "signal/filters/instructions.hpp"

namespace iqd {
namespace {

namespace fs = std::filesystem;

/// The first line; empty if the file cannot be read.
std::string line_of(const fs::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::optional<std::int64_t> number_in(const fs::path& path) {
  const std::string line = line_of(path);
  char* end = nullptr;
  const std::int64_t value = std::strtoll(line.c_str(), &end, 10);
  if (end == line.c_str()) return std::nullopt;
  return value;
}

/// The folder's entries named `prefix` plus a number, in order of the number.
std::vector<fs::path> numbered(const fs::path& folder, std::string_view prefix) {
  std::map<std::int64_t, fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix) || name.size() == prefix.size()) continue;
    const std::string digits = name.substr(prefix.size());
    if (digits.find_first_not_of("0123456789") == digits.npos) found[std::atoll(digits.c_str())] = entry.path();
  }
  std::vector<fs::path> paths;
  for (const auto& [number, path] : found) paths.push_back(path);
  return paths;
}

void add_caches(std::vector<DeviceFact>& facts, const fs::path& processor) {
  for (const fs::path& cache : numbered(processor / "cache", "index")) {
    const auto level = number_in(cache / "level"), size = number_in(cache / "size");  // `32K`
    if (!level || !size) continue;
    std::string kind = line_of(cache / "type");
    std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const std::string of = kind == "unified" ? "" : kind + "_";
    facts.push_back({fmt::format("l{}_{}cache_bytes", *level, of), *size * 1024});
    if (*level == 1 && kind == "data")
      if (const auto line = number_in(cache / "coherency_line_size")) facts.push_back({"cache_line_bytes", *line});
  }
}

struct Scale {
  double from;
  double unit;
  std::string_view name;
};
template <std::size_t N> std::string scaled(double value, const std::array<Scale, N>& scales) {
  for (const Scale& s : scales)
    if (value >= s.from) return fmt::format("{:.4g} {}", value / s.unit, s.name);
  return fmt::format("{:g} {}", value, scales.back().name);
}

constexpr std::array<Scale, 4> kBytes{
    {{0x1p30, 0x1p30, "GiB"}, {0x1p20, 0x1p20, "MiB"}, {0x1p13, 0x1p10, "KiB"}, {0, 1, "bytes"}}};
constexpr std::array<Scale, 3> kHertz{{{1e9, 1e9, "GHz"}, {1e6, 1e6, "MHz"}, {0, 1, "Hz"}}};
constexpr std::array<Scale, 3> kBytesPerSecond{{{1e12, 1e12, "TB/s"}, {1e9, 1e9, "GB/s"}, {0, 1, "bytes/s"}}};
constexpr std::array<std::string_view, 3> kUnits{"_bytes_per_s", "_bytes", "_hz"};

/// The PCI Express generation by its rate per lane and direction in GT/s; 0 if there is none.
std::int64_t generation_of(double rate) {
  constexpr std::array<double, 6> kRates{2.5, 5, 8, 16, 32, 64};
  const auto at = std::ranges::find(kRates, rate);
  return at == kRates.end() ? 0 : at - kRates.begin() + 1;
}

}  // namespace

std::vector<DeviceFact> processor_facts(const fs::path& root) {
  const fs::path system = root / "sys/devices/system";
  std::set<std::string> cores;
  const std::vector<fs::path> processors = numbered(system / "cpu", "cpu");
  for (const fs::path& p : processors)
    if (const auto core = line_of(p / "topology/core_id"); !core.empty())
      cores.insert(line_of(p / "topology/physical_package_id") + '/' + core);
  std::vector<DeviceFact> facts;
  const auto count = [](const auto& items) { return static_cast<std::int64_t>(items.size()); };
  if (!cores.empty()) facts.push_back({"cores", count(cores)});
  if (!processors.empty()) facts.push_back({"processors", count(processors)});
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0)
    facts.push_back({"processors_for_iqd", static_cast<std::int64_t>(CPU_COUNT(&usable))});
  if (!processors.empty()) {
    if (const auto khz = number_in(processors.front() / "cpufreq/cpuinfo_max_freq"))
      facts.push_back({"clock_hz", static_cast<double>(*khz) * 1e3});
    add_caches(facts, processors.front());
  }
  if (const auto nodes = numbered(system / "node", "node"); !nodes.empty())
    facts.push_back({"numa_nodes", count(nodes)});
  const std::vector<std::string> vectors = vector_instructions();
  facts.push_back({"vector_instructions", vectors.front()});
  facts.push_back({"vector_instructions_known", fmt::format("{}", fmt::join(vectors, " "))});
  return facts;
}

std::vector<DeviceFact> slot_facts(const std::string& pci, const fs::path& root) {
  const fs::path device = root / "sys/bus/pci/devices" / pci;
  std::vector<DeviceFact> facts;
  for (const auto& [file, key] : {std::pair("current_link", "pcie"), std::pair("max_link", "pcie_most")}) {
    // `32.0 GT/s PCIe`; `Unknown` in some virtual machines
    const double rate = std::strtod(line_of(device / fmt::format("{}_speed", file)).c_str(), nullptr);
    const auto width = number_in(device / fmt::format("{}_width", file));
    if (generation_of(rate) > 0) facts.push_back({fmt::format("{}_generation", key), generation_of(rate)});
    if (width && *width > 0 && *width <= 32) facts.push_back({fmt::format("{}_lanes", key), *width});
  }
  if (const auto node = number_in(device / "numa_node"); node && *node >= 0) facts.push_back({"numa_node", *node});
  return facts;
}

std::vector<DeviceFact> facts_of(Backend& backend, const fs::path& root) {
  if (backend.kind() == BackendKind::cpu) return processor_facts(root);
  const DeviceFactsTable* const table = backend.device_facts();
  if (!table) return {};
  backend.use();
  std::vector<DeviceFact> facts = table->facts();
  const auto pci = std::ranges::find(facts, "pci", &DeviceFact::key);
  if (pci == facts.end()) return facts;
  const std::vector<DeviceFact> slot = slot_facts(std::get<std::string>(pci->value), root);
  facts.insert(std::next(pci), slot.begin(), slot.end());
  return facts;
}

std::string value_text(const DeviceFact& fact) {
  if (const auto* text = std::get_if<std::string>(&fact.value)) return *text;
  if (const auto* yes = std::get_if<bool>(&fact.value)) return *yes ? "yes" : "no";
  const auto* whole = std::get_if<std::int64_t>(&fact.value);
  const double value = whole ? static_cast<double>(*whole) : std::get<double>(fact.value);
  const std::string_view key = fact.key;
  if (key.ends_with("_bytes_per_s")) return scaled(value, kBytesPerSecond);
  if (key.ends_with("_bytes")) return scaled(value, kBytes);
  if (key.ends_with("_hz")) return scaled(value, kHertz);
  return fmt::format("{}", value);
}

std::string title_of(const DeviceFact& fact) {
  std::string_view key = fact.key;
  for (const std::string_view unit : kUnits)
    if (key.ends_with(unit)) {
      key.remove_suffix(unit.size());
      break;
    }
  std::string title(key);
  std::ranges::replace(title, '_', ' ');
  return title;
}

}  // namespace iqd
