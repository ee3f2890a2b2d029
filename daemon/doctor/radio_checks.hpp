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

// What of this machine stands between a radio and its samples. All of it reads /proc, /sys, /dev and /usr below `root`;
// what is not shown there is no fault.

/// How large socket buffers have to be for these radios; nothing where none of them is on the network.
std::optional<SocketBuffers> wanted_buffers(const std::vector<RadioUse>& radios);
/// The way to each radio on the network, and the interfaces that it leads over: up, quick enough, with large packets, a
/// large ring, nothing lost so far, and near the processors that the pipeline runs on.
Findings check_network(const std::vector<RadioUse>& radios, const std::filesystem::path& root);
/// The same of every interface that is up and could have a radio behind it, where no pipeline says which.
Findings check_interfaces(const std::filesystem::path& root);
/// Radios that are plugged into USB: speed, permission, memory for transfers, drivers that take them away.
Findings check_usb(const std::vector<RadioUse>& radios, const std::filesystem::path& root);
/// The images that UHD loads into radios without a memory of their own. `folder`: what UHD_IMAGES_DIR says, or null.
Finding check_images(const std::vector<RadioUse>& radios, const std::filesystem::path& root, const char* folder);
/// Nodes of memory, and who moves pages between them; huge pages that are set aside.
Findings check_memory_layout(const std::vector<RadioUse>& radios, const std::filesystem::path& root);

/// Room for what a file's sinks record, on this machine's disks.
Findings check_disks(const Spec& spec);

// The rules one by one, for given values.

/// `bytes_per_s`: 0 is not known.
Finding judge_disk(const std::string& folder, double free_bytes, double bytes_per_s);

/// A network interface as /sys/class/net shows it; -1 is not known.
struct Interface {
  std::string name;
  bool is_up = true;
  std::int64_t mtu = -1;
  std::int64_t megabits = -1;
  std::string duplex{};
  std::int64_t missed = 0;   // packets that the card had no room for
  std::int64_t damaged = 0;  // packets with a wrong checksum
  int node = -1;             // of memory, that the card is at
};
Interface interface_at(const std::filesystem::path& root, const std::string& name);
/// `packet`: the largest that is asked for, with all its headers.
Finding judge_mtu(const Interface& link, std::int64_t packet);
Finding judge_speed(const Interface& link, double bits_per_s);
Finding judge_losses(const Interface& link);
/// Entries of the card's receive ring, now and at most.
Finding judge_ring(std::string_view name, std::int64_t now, std::int64_t most);

/// The way to an IPv4 address by a table as /proc/net/route has it.
struct NetworkWay {
  std::string interface;
  std::string gateway;  // empty: the address is in a network of this machine
};
std::optional<NetworkWay> way_to(std::string_view table, const std::string& address);
/// The way to a host, by name or address; `interface` becomes that which it leads over, where there is one.
Finding check_way(const std::string& host, const std::filesystem::path& root, std::string& interface);

/// A device on USB, as /sys/bus/usb/devices shows it.
struct UsbRadio {
  std::string_view name;
  std::string_view vendor;     // as /sys writes it
  std::int64_t megabits = -1;  // as it is plugged in
  std::int64_t wanted = 0;     // as it could be
  std::filesystem::path file;  // that whoever uses it has to open
};
Finding judge_usb_speed(const UsbRadio& radio);
Finding judge_usb_access(const UsbRadio& radio, bool is_open, mode_t mode, std::string_view group);

}  // namespace iqd
