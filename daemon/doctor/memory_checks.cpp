// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "daemon/doctor/radio_checks.hpp"
#include "daemon/doctor/sys_files.hpp"

namespace iqd {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kDpdkBytes = std::int64_t{1} << 30;

/// `HugePages_Total:  512` of /proc/meminfo; 0 if missing.
std::int64_t entry_of(const std::string& meminfo, std::string_view key) {
  std::istringstream lines(meminfo);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') continue;
    std::istringstream words(line.substr(key.size() + 1));
    std::int64_t value = 0;
    return words >> value ? value : 0;
  }
  return 0;
}

/// iqd uses pages of the usual size; UHD's DPDK transport needs huge pages.
Finding check_reserved_pages(const std::vector<RadioUse>& radios, const std::string& meminfo) {
  const std::int64_t pages = entry_of(meminfo, "HugePages_Total");
  const std::int64_t size = entry_of(meminfo, "Hugepagesize") * 1024;
  const std::int64_t bytes = pages * size;
  Finding f{"reserved huge pages", pages == 0 ? "none" : fmt::format("{} of {} kB", pages, size / 1024), Verdict::ok,
            ""};
  const bool dpdk = std::ranges::any_of(radios, [](const RadioUse& r) { return r.arg("use_dpdk") == "1"; });
  if (dpdk && bytes < kDpdkBytes) {
    f.found += ", use_dpdk=1 needs 1 GiB";
    f.verdict = Verdict::bad;
    f.mend = fmt::format(
        "echo vm.nr_hugepages={0} | sudo tee -a /etc/sysctl.d/90-iqd.conf && sudo sysctl -w "
        "vm.nr_hugepages={0}",
        kDpdkBytes / std::max<std::int64_t>(size, 1 << 21));
  } else if (!dpdk && pages > 0) {
    f.found += fmt::format(": {:.2f} GB that iqd does not use", static_cast<double>(bytes) / 1e9);
    f.mend = "sudo sysctl -w vm.nr_hugepages=0  # if no other program needs them";
  }
  return f;
}

Finding check_balancing(const fs::path& root) {
  Finding f{"NUMA balancing", "off", Verdict::ok, ""};
  if (number_of(root / "proc/sys/kernel/numa_balancing").value_or(0) == 0) return f;
  f.found = "on: the kernel stalls threads to move pages between nodes";
  f.verdict = Verdict::warn;
  f.mend =
      "echo kernel.numa_balancing=0 | sudo tee -a /etc/sysctl.d/90-iqd.conf && sudo sysctl -w "
      "kernel.numa_balancing=0";
  return f;
}

}  // namespace

Findings check_memory_layout(const std::vector<RadioUse>& radios, const fs::path& root) {
  const std::vector<int> nodes = list_in(text_of(root / "sys/devices/system/node/online"));
  Findings all{check_reserved_pages(radios, text_of(root / "proc/meminfo"))};
  if (nodes.size() < 2) return all;
  Finding f{
      "NUMA nodes", fmt::format("{}", nodes.size()), Verdict::ok,
      "numactl --hardware  # keep radio, network card and GPU on one node: numactl --cpunodebind=N --membind=N iqd run "
      "FILE; in a service: NUMAPolicy=bind, NUMAMask=N, AllowedCPUs="};
  all.push_back(std::move(f));
  all.push_back(check_balancing(root));
  return all;
}

}  // namespace iqd
