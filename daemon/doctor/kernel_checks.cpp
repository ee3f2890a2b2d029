// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>

#include "daemon/doctor/checks.hpp"
#include "daemon/doctor/sys_files.hpp"

namespace iqd {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLittleMemory = 1'000'000'000;
constexpr std::int64_t kNoMemory = 200'000'000;
constexpr double kMuchStolen = 0.01;

double gigabytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}

/// cpu0, cpu1 … in order of their numbers.
std::vector<fs::path> processors(const fs::path& root) {
  std::map<std::int64_t, fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root / "sys/devices/system/cpu", ignored)) {
    const std::string name = entry.path().filename().string();
    const auto number = name.starts_with("cpu") ? number_in(std::string_view(name).substr(3)) : std::nullopt;
    if (number && name == fmt::format("cpu{}", *number)) found[*number] = entry.path();
  }
  std::vector<fs::path> paths;
  for (auto& [number, path] : found) paths.push_back(std::move(path));
  return paths;
}

Finding check_processors(const fs::path& root) {
  const std::size_t count = processors(root).size();
  if (count == 0) return {"CPUs", "not visible", Verdict::ok, ""};
  Finding f{"CPUs", fmt::format("{}", count), Verdict::ok, ""};
  if (count == 1) {
    f.verdict = Verdict::warn;
    f.found += ": radio, lanes and publisher share one";
    f.mend = "nproc  # iqd needs at least two CPUs";
  }
  return f;
}

Finding check_governors(const fs::path& root) {
  std::vector<std::string> governors;
  for (const fs::path& cpu : processors(root)) {
    std::string governor = text_of(cpu / "cpufreq/scaling_governor");
    if (!governor.empty()) governors.push_back(std::move(governor));
  }
  return judge_governors(governors);
}

Finding check_isolation(const fs::path& root) {
  const fs::path cpu = root / "sys/devices/system/cpu";
  const std::string isolated = text_of(cpu / "isolated");
  std::string nohz = text_of(cpu / "nohz_full");
  if (nohz == "(null)") nohz.clear();
  return {"isolated CPUs",
          fmt::format("isolcpus {}, nohz_full {}{}", isolated.empty() ? "none" : isolated, nohz.empty() ? "none" : nohz,
                      isolated.empty() ? "" : "; only `realtime: cpus` places threads there"),
          Verdict::ok, ""};
}

std::string kind_of_machine(const fs::path& root) {
  const std::string dmi =
      text_of(root / "sys/class/dmi/id/sys_vendor") + " " + text_of(root / "sys/class/dmi/id/product_name");
  static constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"Microsoft Corporation Virtual", "Hyper-V"},
      {"QEMU", "QEMU/KVM"},
      {"KVM", "KVM"},
      {"VMware", "VMware"},
      {"VirtualBox", "VirtualBox"},
      {"Xen", "Xen"},
      {"Amazon EC2", "Amazon EC2"},
      {"Google", "Google Compute Engine"}};
  for (const auto& [word, name] : kKnown)
    if (dmi.find(word) != std::string::npos) return std::string(name);
  return text_of(root / "sys/hypervisor/type");
}

/// The share of time that the host gave to others since boot.
double stolen_share(const std::string& stat) {
  std::istringstream line(stat.substr(0, stat.find('\n')));
  std::string cpu;
  line >> cpu;
  double all = 0, stolen = 0, ticks = 0;
  // user nice system idle iowait irq softirq steal
  for (int column = 0; column < 8 && line >> ticks; ++column) {
    all += ticks;
    if (column == 7) stolen = ticks;
  }
  return all > 0 ? stolen / all : 0;
}

Finding check_virtual(const fs::path& root) {
  const std::string info = text_of(root / "proc/cpuinfo");
  const bool is_virtual = info.find(" hypervisor") != std::string::npos;
  const std::string kind = kind_of_machine(root);
  if (!is_virtual && kind.empty()) return {"virtual machine", "no", Verdict::ok, ""};
  const double stolen = stolen_share(text_of(root / "proc/stat"));
  Finding f{"virtual machine",
            fmt::format("yes{}, {:.2f} % of the time stolen by the host", kind.empty() ? "" : " (" + kind + ")",
                        100 * stolen),
            Verdict::ok, ""};
  if (stolen > kMuchStolen) {
    f.verdict = Verdict::warn;
    f.mend = "vmstat 1 5  # `st` is stolen time: dedicate host CPUs to this machine";
  }
  return f;
}

Finding check_memory(const fs::path& root) {
  return judge_memory(text_of(root / "proc/meminfo"), number_in(text_of(root / "sys/fs/cgroup/memory.max")));
}

Finding check_throttling(const fs::path& root) {
  const auto runtime = number_in(text_of(root / "proc/sys/kernel/sched_rt_runtime_us"));
  const auto period = number_in(text_of(root / "proc/sys/kernel/sched_rt_period_us"));
  if (!runtime || !period || *period <= 0) return {"real-time share", "not visible", Verdict::ok, ""};
  if (*runtime < 0) return {"real-time share", "unlimited", Verdict::ok, ""};
  Finding f{"real-time share",
            fmt::format("{:.3g} % of each CPU", 100.0 * static_cast<double>(*runtime) / static_cast<double>(*period)),
            Verdict::ok, ""};
  if (*runtime == 0) {
    f.verdict = Verdict::bad;
    f.mend = "sudo sysctl -w kernel.sched_rt_runtime_us=950000";
  }
  return f;
}

}  // namespace

std::string_view name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::ok: return "ok";
    case Verdict::warn: return "warn";
    case Verdict::bad: break;
  }
  return "bad";
}

Finding judge_buffer(std::string_view name, std::optional<std::int64_t> bytes, std::int64_t wanted) {
  Finding f{std::string(name), "not visible", Verdict::ok, ""};
  if (!bytes) return f;
  f.found = fmt::format("{} bytes", *bytes);
  if (*bytes >= wanted) return f;
  f.found += fmt::format(", network radios need {}", wanted);
  f.verdict = Verdict::warn;
  f.mend = fmt::format("echo {0}={1} | sudo tee -a /etc/sysctl.d/90-iqd.conf && sudo sysctl -w {0}={1}", name, wanted);
  return f;
}

Finding judge_governors(const std::vector<std::string>& governors) {
  if (governors.empty())
    return {"CPU governor", "not visible: a virtual machine, or the firmware decides", Verdict::ok, ""};
  std::map<std::string, int> counted;
  for (const std::string& g : governors) ++counted[g];
  std::vector<std::string> texts;
  for (const auto& [governor, count] : counted) texts.push_back(fmt::format("{} on {}", governor, count));
  Finding f{"CPU governor", fmt::format("{}", fmt::join(texts, ", ")), Verdict::ok, ""};
  if (counted.size() == 1 && counted.begin()->first == "performance") return f;
  f.verdict = Verdict::warn;
  f.mend = "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
  return f;
}

Finding judge_memory(std::string_view meminfo, std::optional<std::int64_t> group_limit) {
  std::istringstream lines{std::string(meminfo)};
  std::int64_t total = 0, available = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string key;
    std::int64_t value = 0;
    if (!(words >> key >> value)) continue;
    if (key == "MemTotal:") total = value * 1024;
    if (key == "MemAvailable:") available = value * 1024;
  }
  if (total == 0) return {"memory", "not visible", Verdict::ok, ""};
  Finding f{"memory", fmt::format("{:.2f} of {:.2f} GB free", gigabytes(available), gigabytes(total)), Verdict::ok, ""};
  if (group_limit && *group_limit < total) {
    f.found += fmt::format(", {:.2f} GB allowed in this control group", gigabytes(*group_limit));
    available = std::min(available, *group_limit);
  }
  if (available >= kLittleMemory) return f;
  f.verdict = available < kNoMemory ? Verdict::bad : Verdict::warn;
  f.mend = "ps aux --sort=-rss | head  # end what is not needed, or use smaller blocks and fewer lanes";
  return f;
}

Finding judge_swaps(std::string_view swaps) {
  std::istringstream lines{std::string(swaps)};
  std::string line, name, type;
  std::getline(lines, line);  // the headings
  std::int64_t size = 0, used = 0, all = 0, all_used = 0;
  while (lines >> name >> type >> size >> used && std::getline(lines, line)) all += size, all_used += used;
  if (all == 0) return {"swap", "none", Verdict::ok, ""};
  Finding f{"swap", fmt::format("{:.2f} GB, {:.2f} in use", gigabytes(all * 1024), gigabytes(all_used * 1024)),
            Verdict::ok, ""};
  if (all_used == 0) return f;
  f.verdict = Verdict::warn;
  f.mend = "sudo swapoff -a  # or set `realtime: {lock_memory: true}` in the pipeline";
  return f;
}

Finding judge_huge_pages(std::string_view enabled) {
  const auto open = enabled.find('['), close = enabled.find(']');
  if (open == enabled.npos || close == enabled.npos || close < open)
    return {"transparent huge pages", "not visible", Verdict::ok, ""};
  const std::string chosen(enabled.substr(open + 1, close - open - 1));
  Finding f{"transparent huge pages", chosen, Verdict::ok, ""};
  if (chosen != "always") return f;
  f.found += ": the kernel may stall a thread to merge pages";
  f.verdict = Verdict::warn;
  f.mend = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
  return f;
}

Finding judge_clock_source(std::string_view current, std::string_view available) {
  if (current.empty()) return {"clock source", "not visible", Verdict::ok, ""};
  Finding f{"clock source", std::string(current), Verdict::ok, ""};
  static constexpr std::string_view kFast[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"};
  if (std::find(std::begin(kFast), std::end(kFast), current) != std::end(kFast)) return f;
  f.found += ": reading the time needs a system call or more";
  f.verdict = Verdict::warn;
  const bool has_tsc = (" " + std::string(available) + " ").find(" tsc ") != std::string::npos;
  f.mend = has_tsc
               ? "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
               : "sudo dmesg | grep -i tsc  # why the kernel rejects the TSC; kernel option `tsc=reliable` may help";
  return f;
}

Findings check_kernel(const fs::path& root) {
  const auto text = [&](const char* path) { return text_of(root / path); };
  const std::string clock = "sys/devices/system/clocksource/clocksource0/";
  return {
      check_processors(root),
      check_governors(root),
      check_isolation(root),
      check_virtual(root),
      check_memory(root),
      judge_swaps(text("proc/swaps")),
      judge_huge_pages(text("sys/kernel/mm/transparent_hugepage/enabled")),
      judge_clock_source(text((clock + "current_clocksource").c_str()),
                         text((clock + "available_clocksource").c_str())),
      check_throttling(root),
  };
}

Findings check_buffers(const fs::path& root, const SocketBuffers& wanted) {
  return {judge_buffer("net.core.rmem_max", number_of(root / "proc/sys/net/core/rmem_max"), wanted.receive),
          judge_buffer("net.core.wmem_max", number_of(root / "proc/sys/net/core/wmem_max"), wanted.send)};
}

}  // namespace iqd
