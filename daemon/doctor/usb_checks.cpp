// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "daemon/doctor/radio_checks.hpp"
#include "daemon/doctor/sys_files.hpp"

namespace iqd {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kHighSpeed = 480;
constexpr std::int64_t kSuperSpeed = 5000;
constexpr std::int64_t kTransferMegabytes = 256;  // as lib/tmpfiles.d/iqd.conf sets it
constexpr const char* kTransfers = "sys/module/usbcore/parameters/usbfs_memory_mb";

/// The radios of systemd/iqd.udev, with the speed that each supports.
struct KnownRadio {
  std::string_view vendor, product, name;  // empty product: any
  std::int64_t megabits;
};
constexpr KnownRadio kKnown[] = {
    {"fffe", "0002", "USRP1", kHighSpeed},
    {"2500", "0002", "USRP B100", kHighSpeed},
    {"2500", "0020", "USRP B200/B210", kSuperSpeed},
    {"2500", "0021", "USRP B200mini", kSuperSpeed},
    {"2500", "0022", "USRP B205mini", kSuperSpeed},
    {"3923", "7813", "USRP B200 (NI)", kSuperSpeed},
    {"3923", "7814", "USRP B210 (NI)", kSuperSpeed},
    {"0bda", "2832", "RTL-SDR", kHighSpeed},
    {"0bda", "2838", "RTL-SDR", kHighSpeed},
    {"1d50", "6089", "HackRF One", kHighSpeed},
    {"1d50", "604b", "HackRF Jawbreaker", kHighSpeed},
    {"1d50", "cc15", "rad1o", kHighSpeed},
    {"1d50", "60a1", "Airspy", kHighSpeed},
    {"1d50", "6066", "bladeRF", kSuperSpeed},
    {"1d50", "6108", "LimeSDR", kSuperSpeed},
    {"0403", "601f", "LimeSDR-USB", kSuperSpeed},
    {"2cf0", "5246", "bladeRF", kSuperSpeed},
    {"2cf0", "5250", "bladeRF 2.0", kSuperSpeed},
    {"03eb", "800c", "Airspy HF+", kHighSpeed},
    {"0456", "b673", "ADALM-PLUTO", kHighSpeed},
    {"1df7", "", "SDRplay", kHighSpeed},
};

std::vector<UsbRadio> plugged_in(const fs::path& root) {
  std::map<std::string, UsbRadio> found;  // in a fixed order
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root / "sys/bus/usb/devices", ignored)) {
    const fs::path& device = entry.path();
    const std::string vendor = text_of(device / "idVendor"), product = text_of(device / "idProduct");
    const auto* known = std::ranges::find_if(
        kKnown, [&](const KnownRadio& k) { return k.vendor == vendor && (k.product.empty() || k.product == product); });
    if (known == std::end(kKnown)) continue;
    UsbRadio radio{known->name, known->vendor, number_of(device / "speed").value_or(-1), known->megabits, {}};
    const auto bus = number_of(device / "busnum"), number = number_of(device / "devnum");
    if (bus && number) radio.file = fmt::format("dev/bus/usb/{:03}/{:03}", *bus, *number);
    found[device.filename().string()] = std::move(radio);
  }
  std::vector<UsbRadio> all;
  for (auto& [name, radio] : found) all.push_back(std::move(radio));
  return all;
}

Finding check_access(const UsbRadio& radio, const fs::path& root) {
  struct stat status {};
  const fs::path file = root / radio.file;
  if (radio.file.empty() || ::stat(file.c_str(), &status) != 0)
    return {fmt::format("access to {}", radio.name), "not visible", Verdict::ok, ""};
  const group* owner = ::getgrgid(status.st_gid);
  return judge_usb_access(radio, ::access(file.c_str(), R_OK | W_OK) == 0, status.st_mode, owner ? owner->gr_name : "");
}

Finding check_transfers(const fs::path& root) {
  Finding f{"USB transfers", "not visible", Verdict::ok, ""};
  const auto megabytes = number_of(root / kTransfers);
  if (!megabytes) return f;
  f.found = *megabytes == 0 ? "unlimited" : fmt::format("{} MB for all devices", *megabytes);
  if (*megabytes == 0 || *megabytes >= kTransferMegabytes) return f;
  f.verdict = Verdict::warn;
  f.mend = fmt::format("echo {} | sudo tee /{}", kTransferMegabytes, kTransfers);
  return f;
}

Finding check_television(const fs::path& root) {
  std::error_code ignored;
  constexpr const char* kModule = "dvb_usb_rtl28xxu";
  if (!fs::exists(root / "sys/module" / kModule, ignored))
    return {"RTL-SDR's kernel driver", "not loaded", Verdict::ok, ""};
  return {"RTL-SDR's kernel driver", "loaded: it claims the stick as a TV receiver", Verdict::warn,
          fmt::format("echo blacklist {0} | sudo tee /etc/modprobe.d/iqd.conf; sudo rmmod {0}", kModule)};
}

bool has_files(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with("usrp_")) return true;
  return false;
}

/// The first of libuhd's folders that has images; empty if none has.
fs::path images_folder(const fs::path& root, const char* named) {
  if (named && *named) return has_files(named) ? fs::path(named) : fs::path();
  std::error_code ignored;
  for (const char* base : {"usr/local/share/uhd", "usr/share/uhd", "opt/uhd/share/uhd"}) {
    std::vector<fs::path> folders{root / base / "images"};
    for (const auto& entry : fs::directory_iterator(root / base, ignored)) folders.push_back(entry.path() / "images");
    for (const fs::path& folder : folders)
      if (has_files(folder)) return folder;
  }
  return {};
}

/// The host loads firmware and FPGA of B2x0 and USRP1 each time they are plugged in.
bool is_loaded_by_host(const RadioUse& radio) {
  const std::string_view type = radio.arg("type");
  return radio.is_uhd() && (type == "b200" || type == "usrp1" || type == "b100");
}

}  // namespace

Finding judge_usb_speed(const UsbRadio& radio) {
  Finding f{fmt::format("USB of {}", radio.name),
            radio.megabits > 0 ? fmt::format("{} Mbit/s", radio.megabits) : "not visible", Verdict::ok, ""};
  if (radio.megabits <= 0 || radio.megabits >= radio.wanted) return f;
  f.found += fmt::format(", it supports {}", radio.wanted);
  f.verdict = Verdict::warn;
  f.mend = radio.wanted > kHighSpeed ? "lsusb -t  # plug it directly into a USB 3 port, with a USB 3 cable"
                                     : "lsusb -t  # plug it directly into the machine, not into a hub";
  return f;
}

Finding judge_usb_access(const UsbRadio& radio, bool is_open, mode_t mode, std::string_view group) {
  const std::string file = "/" + radio.file.string();
  Finding f{fmt::format("access to {}", radio.name),
            is_open ? "granted" : fmt::format("no permission to open {}", file), Verdict::ok, ""};
  if (is_open) return f;
  f.verdict = Verdict::bad;
  const bool group_may = (mode & (S_IRGRP | S_IWGRP)) == (S_IRGRP | S_IWGRP) && !group.empty() && group != "root";
  f.mend = group_may ? fmt::format("sudo usermod -aG {} $USER  # then log in again", group)
                     : fmt::format(
                           "echo 'SUBSYSTEM==\"usb\", ATTR{{idVendor}}==\"{0}\", GROUP=\"plugdev\", MODE=\"0660\"' | "
                           "sudo tee /etc/udev/rules.d/59-radio-{0}.rules && sudo udevadm control --reload && "
                           "sudo udevadm trigger --subsystem-match=usb && sudo usermod -aG plugdev $USER  # then "
                           "log in again",
                           radio.vendor);
  return f;
}

Findings check_usb(const std::vector<RadioUse>& radios, const fs::path& root) {
  Findings all;
  const std::vector<UsbRadio> plugged = plugged_in(root);
  for (const UsbRadio& p : plugged) {
    all.push_back(judge_usb_speed(p));
    all.push_back(check_access(p, root));
  }
  const bool may_be_usb = std::ranges::any_of(radios, [](const RadioUse& r) { return r.hosts.empty(); });
  if (!plugged.empty() || may_be_usb) all.push_back(check_transfers(root));
  const bool is_rtl = std::ranges::any_of(plugged, [](const UsbRadio& p) { return p.vendor == "0bda"; }) ||
                      std::ranges::any_of(radios, [](const RadioUse& r) { return r.arg("driver") == "rtlsdr"; });
  if (is_rtl) all.push_back(check_television(root));
  return all;
}

Finding check_images(const std::vector<RadioUse>& radios, const fs::path& root, const char* folder) {
  const fs::path found = images_folder(root, folder);
  if (!found.empty()) return {"UHD images", found.string(), Verdict::ok, ""};
  Finding f{"UHD images", "none: USRP B2x0 and USRP1 load theirs from this machine", Verdict::ok,
            "sudo uhd_images_downloader"};
  const auto plugged = plugged_in(root);
  const bool needed = std::ranges::any_of(radios, is_loaded_by_host) ||
                      std::ranges::any_of(plugged, [](const UsbRadio& p) { return p.name.starts_with("USRP"); });
  if (needed) f.verdict = Verdict::bad;
  if (folder && *folder) f.found = fmt::format("none in UHD_IMAGES_DIR={}", folder);
  return f;
}

}  // namespace iqd
