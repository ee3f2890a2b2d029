// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/doctor/checks.hpp"
#include "daemon/probe/radio_use.hpp"

namespace iqd {

// Checks of this machine for the sake of its radios. They read /proc, /sys, /dev and /usr below `root`; missing files
// are no fault.

/// Socket buffer sizes that these radios need; nothing if none of them is on the network.
std::optional<SocketBuffers> wanted_buffers(const std::vector<RadioUse>& radios);
/// The route to each radio on the network, and its interface: up, fast enough, with large packets, a large ring, no
/// losses so far, and on the NUMA node of the CPUs that the pipeline runs on.
Findings check_network(const std::vector<RadioUse>& radios, const std::filesystem::path& root);
/// The same for every interface that is up and could have a radio behind it, if no pipeline names one.
Findings check_interfaces(const std::filesystem::path& root);
/// Radios on USB: speed, permission, memory for transfers, kernel drivers that claim them.
Findings check_usb(const std::vector<RadioUse>& radios, const std::filesystem::path& root);
/// The images that UHD loads into radios without flash memory. `folder`: the value of UHD_IMAGES_DIR, or null.
Finding check_images(const std::vector<RadioUse>& radios, const std::filesystem::path& root, const char* folder);
/// NUMA nodes, NUMA balancing and reserved huge pages.
Findings check_memory_layout(const std::vector<RadioUse>& radios, const std::filesystem::path& root);

/// Disk space for what a file's sinks record.
Findings check_disks(const Spec& spec);

// The rules one by one, for given values.

/// `bytes_per_s`: 0 if unknown.
Finding judge_disk(const std::string& folder, double free_bytes, double bytes_per_s);

/// A network interface as /sys/class/net shows it; -1 if unknown.
struct Interface {
  std::string name;
  bool is_up = true;
  std::int64_t mtu = -1;
  std::int64_t megabits = -1;
  std::string duplex{};
  std::int64_t missed = 0;   // packets that the card had no room for
  std::int64_t damaged = 0;  // packets with a wrong checksum
  int node = -1;             // NUMA node of the card
};
Interface interface_at(const std::filesystem::path& root, const std::string& name);
/// `packet`: bytes of the largest packet needed, with all its headers.
Finding judge_mtu(const Interface& link, std::int64_t packet);
Finding judge_speed(const Interface& link, double bits_per_s);
Finding judge_losses(const Interface& link);
/// Entries of the card's receive ring: configured and maximum.
Finding judge_ring(std::string_view name, std::int64_t now, std::int64_t most);

/// The route to an IPv4 address by a table in the format of /proc/net/route.
struct NetworkWay {
  std::string interface;
  std::string gateway;  // empty: the address is in a network of this machine
};
std::optional<NetworkWay> way_to(std::string_view table, const std::string& address);
/// The route to a host, by name or address; sets `interface` to its interface, if there is one.
Finding check_way(const std::string& host, const std::filesystem::path& root, std::string& interface);

/// A device on USB, as /sys/bus/usb/devices shows it.
struct UsbRadio {
  std::string_view name;
  std::string_view vendor;     // as /sys writes it
  std::int64_t megabits = -1;  // as it is plugged in
  std::int64_t wanted = 0;     // as it could be
  std::filesystem::path file;  // that a program has to open to use it
};
Finding judge_usb_speed(const UsbRadio& radio);
Finding judge_usb_access(const UsbRadio& radio, bool is_open, mode_t mode, std::string_view group);

}  // namespace iqd
