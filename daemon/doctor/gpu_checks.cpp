// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "daemon/doctor/checks.hpp"
#include "pipeline/backend/tuning.hpp"

namespace iqd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVisible = "CUDA_VISIBLE_DEVICES";

/// The first line; empty if the file cannot be read.
std::string line_of(const fs::path& path) {
  std::string line;
  std::ifstream file(path);
  std::getline(file, line);
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

/// The remedy for a message of the CUDA module.
std::string remedy_for(std::string_view why) {
  static constexpr std::pair<std::string_view, std::string_view> kKnown[] = {
      {"cannot be loaded",
       "echo /usr/local/cuda/lib64 | sudo tee /etc/ld.so.conf.d/cuda.conf && sudo ldconfig  # the folder of the "
       "libraries that it names; install them if missing"},
      {"another version", "tools/build  # use iqd and libiqd_cuda.so of the same build"},
      {"too old", "nvidia-smi  # install a newer driver (R580 or later for CUDA 13) and reboot"},
      {"no NVIDIA driver is loaded",
       "sudo modprobe nvidia  # after a kernel update: sudo dkms autoinstall; in a container: pass it the GPU"},
      {"sees no device", "nvidia-smi -L  # lists GPUs; check CUDA_VISIBLE_DEVICES and the permissions of /dev/nvidia*"},
      {"has exclusive use",
       "sudo nvidia-smi -c DEFAULT  # allows sharing; or end the process that `fuser -v /dev/nvidia*` shows"},
      {"prohibited", "sudo nvidia-smi -c DEFAULT"}};
  for (const auto& [sign, mend] : kKnown)
    if (why.find(sign) != why.npos) return std::string(mend);
  return "nvcc --version && tools/build  # or install iqd's CUDA package: libiqd_cuda.so belongs in iqd's folder";
}

/// PCI addresses of NVIDIA GPUs, from the bus and from the driver.
std::set<std::string> gpus(const fs::path& root) {
  std::set<std::string> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root / "proc/driver/nvidia/gpus", ignored))
    found.insert(entry.path().filename().string());
  for (const auto& entry : fs::directory_iterator(root / "sys/bus/pci/devices", ignored))
    if (line_of(entry.path() / "vendor") == "0x10de" && line_of(entry.path() / "class").starts_with("0x03"))
      found.insert(entry.path().filename().string());
  return found;
}

/// Only NVML reports persistence mode, so this looks for the process of the daemon that keeps it. A container does not
/// show the host's processes.
Finding check_persistence(const fs::path& root) {
  Finding f{"GPU persistence", "nvidia-persistenced runs", Verdict::ok, ""};
  std::error_code ignored;
  if (fs::exists(root / "run/nvidia-persistenced/socket", ignored)) return f;
  for (const auto& entry : fs::directory_iterator(root / "proc", ignored))
    if (line_of(entry.path() / "comm") == "nvidia-persiste") return f;
  const std::string first = line_of(root / "proc/1/comm");
  if (first != "systemd" && first != "init") {
    f.found = "not visible";
    return f;
  }
  f.found = "nvidia-persistenced is not running: start-up may wait seconds for the GPU, and locked clocks are lost";
  f.verdict = Verdict::warn;
  f.mend = "sudo systemctl enable --now nvidia-persistenced  # or until the next boot: sudo nvidia-smi -pm 1";
  return f;
}

PcieLink link_of(const fs::path& device) {
  return {line_of(device / "current_link_width"), line_of(device / "max_link_width"),
          line_of(device / "current_link_speed"), line_of(device / "max_link_speed")};
}

/// 0 if the text is not a number: `Unknown`.
double number(const std::string& text) {
  return std::strtod(text.c_str(), nullptr);
}

/// Lanes; 0 if it is not a possible width.
double lanes(const std::string& width) {
  const double n = number(width);
  return n <= 32 ? n : 0;
}

}  // namespace

bool has_device(const std::vector<FoundBackend>& backends) noexcept {
  return std::any_of(backends.begin(), backends.end(),
                     [](const FoundBackend& b) { return b.name.starts_with("cuda") && b.missing.empty(); });
}

Finding judge_missing_backend(const FoundBackend& backend, bool has_driver, bool is_expected) {
  Finding f{"backend " + backend.name,
            fmt::format("{} (NVIDIA driver: {})", backend.missing, has_driver ? "loaded" : "none"), Verdict::ok, ""};
  if (!is_expected) return f;
  f.verdict = Verdict::warn;
  f.mend = remedy_for(backend.missing);
  return f;
}

Finding judge_link(std::string_view gpu, const PcieLink& link) {
  Finding f{fmt::format("PCIe {}", gpu), "not visible", Verdict::ok, ""};
  const double width = lanes(link.width), most_width = lanes(link.most_width);
  const double speed = number(link.speed), most_speed = number(link.most_speed);
  if (width <= 0 || speed <= 0) return f;
  f.found = fmt::format("x{} at {}", width, link.speed);
  if (width < most_width) {
    f.verdict = Verdict::warn;
    f.found += fmt::format(", x{} is possible", most_width);
    f.mend = fmt::format("sudo lspci -vvs {}  # reseat the card, and check which slots share lanes", gpu);
  }
  if (speed < most_speed) {
    f.verdict = Verdict::warn;
    f.found += fmt::format(", {} is possible (an idle GPU slows its link)", link.most_speed);
    if (f.mend.empty())
      f.mend = fmt::format(
          "sudo lspci -vvs {}  # look again while iqd runs; if still slow: check slot, firmware setting and riser",
          gpu);
  }
  return f;
}

Finding judge_visible_devices(const char* variable) {
  const std::string_view devices = variable ? variable : "";
  if (!variable) return {kVisible, "not set", Verdict::ok, ""};
  if (devices.empty() || devices.starts_with("-1"))
    return {kVisible, fmt::format("'{}': every GPU is hidden", devices), Verdict::warn,
            fmt::format("unset {}", kVisible)};
  return {kVisible, fmt::format("{}: cuda:0 is the first of these; all others are hidden", devices), Verdict::ok, ""};
}

Finding judge_tuning(const FoundBackend& backend, std::optional<std::size_t> mapped_bytes) {
  Finding f{"tuning of " + backend.name, "none: built-in limits apply", Verdict::ok,
            fmt::format("iqd tune --device {}", backend.name.substr(backend.name.find(':') + 1))};
  if (!mapped_bytes) return f;
  f.found = fmt::format("blocks up to {} KiB in place ({})", *mapped_bytes >> 10, tuning_file(backend.device).string());
  f.mend.clear();
  return f;
}

Finding judge_stage_times(const FoundBackend& backend, const TunedTimes& times) {
  Finding f{"stage times of " + backend.name, "none: `backend: auto` places stages by built-in estimates", Verdict::ok,
            fmt::format("iqd tune FILE --device {}  # for each file that runs here",
                        backend.name.substr(backend.name.find(':') + 1))};
  if (times.is_stale)
    f.found = "measured with another driver or build: `backend: auto` places stages by built-in estimates";
  if (times.us.empty()) return f;
  f.found = fmt::format("{} measured ({})", times.us.size(), tuning_file(backend.device).string());
  f.mend.clear();
  return f;
}

Findings check_backends(const std::vector<FoundBackend>& backends, const fs::path& root) {
  std::error_code ignored;
  const bool has_driver = fs::exists(root / "proc/driver/nvidia/version", ignored);
  const std::set<std::string> found_gpus = gpus(root);
  const bool is_expected = has_driver || !found_gpus.empty();
  Findings findings;
  for (const FoundBackend& b : backends)
    findings.push_back(b.missing.empty() ? Finding{"backend " + b.name, b.device, Verdict::ok, ""}
                                         : judge_missing_backend(b, has_driver, is_expected));
  if (has_driver) findings.push_back({"NVIDIA driver", nvidia_driver(root), Verdict::ok, ""});
  if (is_expected || has_device(backends)) findings.push_back(judge_visible_devices(std::getenv(kVisible)));
  for (const FoundBackend& b : backends)
    if (b.name.starts_with("cuda") && b.missing.empty()) {
      findings.push_back(judge_tuning(b, tuned_mapped_bytes(b.device)));
      findings.push_back(judge_stage_times(b, tuned_times(b.device, measured_with(b.details, root))));
    }
  for (const std::string& gpu : found_gpus)
    findings.push_back(judge_link(gpu, link_of(root / "sys/bus/pci/devices" / gpu)));
  if (has_driver) findings.push_back(check_persistence(root));
  return findings;
}

}  // namespace iqd
