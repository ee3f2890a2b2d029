// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>

#include "daemon/doctor/radio_checks.hpp"
#include "daemon/doctor/sys_files.hpp"
#include "pipeline/real_time.hpp"

namespace iqd {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kPlainPacket = 1500;
constexpr std::int64_t kJumboPacket = 9000;
constexpr std::int64_t kQuickLink = 10'000;  // Mbit/s from which UHD's radios need large packets
constexpr std::int64_t kLargeSend = 33'554'432;
constexpr double kOverhead = 1.05;  // headers, at 1500 bytes a packet

std::int64_t wanted_packet(const RadioUse& radio, const Interface& link) {
  return radio.is_uhd() && link.megabits >= kQuickLink ? kJumboPacket : kPlainPacket;
}

/// Not an interface of a container or a tunnel.
bool is_card(const fs::path& root, const std::string& name) {
  std::error_code ignored;
  return fs::exists(root / "sys/class/net" / name / "device", ignored);
}

/// The card's receive ring, from the driver: /sys does not show it.
std::optional<ethtool_ringparam> ring_of(const std::string& name) {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0 || name.size() >= IFNAMSIZ) return std::nullopt;
  ethtool_ringparam ring{};
  ring.cmd = ETHTOOL_GRINGPARAM;
  ifreq request{};
  std::memcpy(request.ifr_name, name.c_str(), name.size() + 1);
  request.ifr_data = reinterpret_cast<char*>(&ring);
  const bool told = ::ioctl(socket, SIOCETHTOOL, &request) == 0;
  ::close(socket);
  return told && ring.rx_max_pending > 0 ? std::optional(ring) : std::nullopt;
}

/// CPUs that a card's interrupts may run on.
std::vector<int> interrupts_of(const fs::path& root, const std::string& name) {
  std::vector<int> cpus;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root / "sys/class/net" / name / "device/msi_irqs", ignored))
    for (const int cpu : list_in(text_of(root / "proc/irq" / entry.path().filename() / "smp_affinity_list")))
      if (std::ranges::find(cpus, cpu) == cpus.end()) cpus.push_back(cpu);
  std::ranges::sort(cpus);
  return cpus;
}

Finding judge_interrupts(const std::string& name, const std::vector<int>& interrupts, const RealTime& realtime) {
  Finding f{"interrupts of " + name, fmt::format("on CPUs {}", cpu_list(interrupts)), Verdict::ok, ""};
  std::vector<int> shared, others;
  for (const int cpu : interrupts)
    (std::ranges::find(realtime.cpus, cpu) != realtime.cpus.end() ? shared : others).push_back(cpu);
  // Unless somebody chose, the kernel lists all CPUs.
  if (shared.empty() || others.empty()) return f;
  f.verdict = Verdict::warn;
  f.found += fmt::format("; `realtime: cpus` also gives {} to the radio", cpu_list(shared));
  f.mend = fmt::format(
      "sudo systemctl stop irqbalance; for i in $(ls /sys/class/net/{}/device/msi_irqs); do echo {} | sudo tee "
      "/proc/irq/$i/smp_affinity_list; done",
      name, cpu_list(others));
  return f;
}

/// Threads on another node fetch every packet from the card's node.
Finding judge_node(const Interface& link, const RealTime& realtime, const std::vector<int>& near) {
  Finding f{"NUMA node of " + link.name, fmt::format("{}, CPUs {}", link.node, cpu_list(near)), Verdict::ok, ""};
  if (realtime.cpus.empty()) {
    f.mend = fmt::format(
        "numactl --cpunodebind={0} --membind={0} iqd run FILE  # keeps iqd there; or realtime: {{cpus: [{1}]}}",
        link.node, near.empty() ? 0 : near.back());
    return f;
  }
  std::vector<std::int64_t> far;
  for (const std::int64_t cpu : realtime.cpus)
    if (std::ranges::find(near, static_cast<int>(cpu)) == near.end()) far.push_back(cpu);
  if (far.empty()) return f;
  f.verdict = Verdict::warn;
  f.found += fmt::format("; `realtime: cpus` has {}, on another node", fmt::join(far, ", "));
  f.mend = fmt::format("# in the pipeline: realtime: {{cpus: […]}} with CPUs out of {}", cpu_list(near));
  return f;
}

/// What all radios behind one interface need from it.
struct Load {
  double bits_per_s = 0;
  std::int64_t packet = 0;  // bytes of the largest packet needed
  RealTime realtime;
};

Findings check_interface(const Interface& link, const Load& load, const fs::path& root) {
  if (!link.is_up)
    return {{"link of " + link.name, "down", Verdict::bad,
             fmt::format("sudo ip link set dev {} up  # and check the cable", link.name)}};
  Findings all{judge_mtu(link, load.packet), judge_speed(link, load.bits_per_s), judge_losses(link)};
  if (root == "/")
    if (const auto ring = ring_of(link.name))
      all.push_back(judge_ring(link.name, ring->rx_pending, ring->rx_max_pending));
  if (const auto irqs = interrupts_of(root, link.name); !irqs.empty() && !load.realtime.cpus.empty())
    all.push_back(judge_interrupts(link.name, irqs, load.realtime));
  const std::size_t nodes = list_in(text_of(root / "sys/devices/system/node/online")).size();
  if (link.node >= 0 && nodes > 1)
    all.push_back(
        judge_node(link, load.realtime,
                   list_in(text_of(root / "sys/devices/system/node" / fmt::format("node{}", link.node) / "cpulist"))));
  return all;
}

}  // namespace

Interface interface_at(const fs::path& root, const std::string& name) {
  const fs::path folder = root / "sys/class/net" / name;
  Interface link;
  link.name = name;
  link.is_up = text_of(folder / "operstate") != "down";
  link.mtu = number_of(folder / "mtu").value_or(-1);
  link.megabits = number_of(folder / "speed").value_or(-1);
  link.duplex = text_of(folder / "duplex");
  link.missed = number_of(folder / "statistics/rx_missed_errors").value_or(0) +
                number_of(folder / "statistics/rx_fifo_errors").value_or(0);
  link.damaged = number_of(folder / "statistics/rx_crc_errors").value_or(0);
  link.node = static_cast<int>(number_of(folder / "device/numa_node").value_or(-1));
  return link;
}

Finding judge_mtu(const Interface& link, std::int64_t packet) {
  Finding f{"MTU of " + link.name, link.mtu < 0 ? "not visible" : fmt::format("{}", link.mtu), Verdict::ok, ""};
  if (link.mtu < 0 || link.mtu >= packet) return f;
  f.found += fmt::format(", the radio needs {}", packet);
  f.verdict = Verdict::warn;
  f.mend = fmt::format("sudo ip link set dev {} mtu {}  # also at the other end and on the switch", link.name, packet);
  return f;
}

Finding judge_speed(const Interface& link, double bits_per_s) {
  Finding f{"speed of " + link.name, link.megabits <= 0 ? "not visible" : fmt::format("{} Mbit/s", link.megabits),
            Verdict::ok, ""};
  if (link.duplex == "half") {
    f.found += ", half duplex";
    f.verdict = Verdict::bad;
    f.mend = fmt::format("sudo ethtool -s {} autoneg on  # and check the cable", link.name);
  }
  const double wanted = bits_per_s * kOverhead / 1e6;
  if (link.megabits <= 0 || wanted <= static_cast<double>(link.megabits)) return f;
  f.found += fmt::format(", the samples need {:.0f} Mbit/s", wanted);
  f.verdict = Verdict::bad;
  f.mend = fmt::format("sudo ethtool {}  # possible speeds; or a lower `rate`, fewer `channels`, `wire_format: sc8`",
                       link.name);
  return f;
}

Finding judge_losses(const Interface& link) {
  Finding f{"losses of " + link.name, "none", Verdict::ok, ""};
  if (link.missed > 0) {
    f.found = fmt::format("{} packets dropped by the full card since boot", link.missed);
    f.verdict = Verdict::warn;
    f.mend = fmt::format(
        "sudo ethtool -G {0} rx $(ethtool -g {0} | awk '/^RX:/{{print $2; exit}}')  # if it continues: "
        "sudo ethtool -C {0} adaptive-rx on",
        link.name);
  }
  if (link.damaged > 0) {
    f.found = fmt::format("{} packets damaged since boot", link.damaged);
    f.verdict = Verdict::warn;
    f.mend = fmt::format("sudo ethtool -S {} | grep -i err  # try another cable or switch port", link.name);
  }
  return f;
}

Finding judge_ring(std::string_view name, std::int64_t now, std::int64_t most) {
  Finding f{fmt::format("receive ring of {}", name), fmt::format("{} of {} packets", now, most), Verdict::ok, ""};
  if (now >= most) return f;
  f.verdict = Verdict::warn;
  f.mend = fmt::format("sudo ethtool -G {} rx {}", name, most);
  return f;
}

std::optional<SocketBuffers> wanted_buffers(const std::vector<RadioUse>& radios) {
  std::optional<SocketBuffers> wanted;
  for (const RadioUse& radio : radios) {
    if (radio.hosts.empty()) continue;
    if (!wanted) wanted.emplace();
    if (radio.arg("type") == "x300") wanted->send = kLargeSend;
  }
  return wanted;
}

Findings check_network(const std::vector<RadioUse>& radios, const fs::path& root) {
  Findings all;
  std::map<std::string, Load> loads;
  std::vector<std::string> seen;
  for (const RadioUse& radio : radios)
    for (const std::string& host : radio.hosts) {
      std::string interface;
      Finding way = check_way(host, root, interface);
      if (std::ranges::find(seen, host) == seen.end()) all.push_back(std::move(way));
      seen.push_back(host);
      if (interface.empty()) continue;
      Load& load = loads[interface];
      load.bits_per_s += radio.bits_per_s / static_cast<double>(radio.hosts.size());
      load.packet = std::max(load.packet, wanted_packet(radio, interface_at(root, interface)));
      load.realtime = radio.realtime;
    }
  for (const auto& [name, load] : loads) {
    Findings found = check_interface(interface_at(root, name), load, root);
    std::ranges::move(found, std::back_inserter(all));
  }
  return all;
}

Findings check_interfaces(const fs::path& root) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root / "sys/class/net", ignored))
    if (const std::string name = entry.path().filename().string(); is_card(root, name)) names.push_back(name);
  std::ranges::sort(names);
  Findings all;
  for (const std::string& name : names) {
    const Interface link = interface_at(root, name);
    if (!link.is_up) continue;
    Findings found = check_interface(link, {}, root);
    // Whether a radio is behind it is not known, so large packets are only a hint.
    if (link.megabits >= kQuickLink && link.mtu < kJumboPacket)
      found.front().mend = fmt::format("sudo ip link set dev {} mtu {}  # for a radio behind it", name, kJumboPacket);
    std::ranges::move(found, std::back_inserter(all));
  }
  return all;
}

}  // namespace iqd
