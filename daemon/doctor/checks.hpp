// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/probe/backends.hpp"

namespace iqd {

enum class Verdict : std::uint8_t { ok, warn, bad };
std::string_view name_of(Verdict verdict) noexcept;

/// One line of what `iqd doctor` says.
struct Finding {
  std::string name;
  std::string found;
  Verdict verdict = Verdict::ok;
  std::string mend;  // a line for the shell, what is to be said besides behind a `#`; empty: nothing is to be done
};
using Findings = std::vector<Finding>;

/// What the kernel says in /proc and /sys below `root`. Files that are not there are no fault: a container or a virtual
/// machine does not show them all.
Findings check_kernel(const std::filesystem::path& root);
/// What programs may ask for, in bytes.
struct SocketBuffers {
  std::int64_t receive = 50'000'000;  // what UHD asks for, and warns about
  std::int64_t send = 1'048'576;
};
Findings check_buffers(const std::filesystem::path& root, const SocketBuffers& wanted);
/// Limits of this process, what `realtime:` would be granted, the clock's discipline.
Findings check_process(bool has_device = false);
/// SoapySDR with its modules, ZeroMQ, FFTW. Loads the modules; `soapy` false: leaves SoapySDR out.
Findings check_libraries(bool soapy = true);
/// Whether a module that was loaded knows the radios of `driver=NAME`.
Finding check_module(const std::string& driver);
/// The backends as found, and what /proc, /sys and the environment say of NVIDIA GPUs and their driver.
Findings check_backends(const std::vector<FoundBackend>& backends, const std::filesystem::path& root);
bool has_device(const std::vector<FoundBackend>& backends) noexcept;

// The rules one by one, for given values.
Finding judge_buffer(std::string_view name, std::optional<std::int64_t> bytes, std::int64_t wanted);
Finding judge_governors(const std::vector<std::string>& governors);
Finding judge_memory(std::string_view meminfo, std::optional<std::int64_t> group_limit);
Finding judge_swaps(std::string_view swaps);
Finding judge_huge_pages(std::string_view enabled);
Finding judge_clock_source(std::string_view current, std::string_view available);
/// `highest`: the priority that a thread really gets, 0 for none.
Finding judge_priority(int highest, rlimit limit);
/// `is_granted`: as much as a pipeline with large blocks wants can be locked, whatever the limit says.
Finding judge_lock(rlimit limit, bool is_granted, bool has_device = false);
Finding judge_allowed(const std::vector<int>& cpus, int processors);
Finding judge_files_limit(rlimit limit);
Finding judge_plugin_path(std::string_view search_path);
/// `is_expected`: there is an NVIDIA driver, or a GPU that wants one.
Finding judge_missing_backend(const FoundBackend& backend, bool has_driver, bool is_expected);
/// Width and speed as the kernel writes them, `16` and `32.0 GT/s PCIe`; empty where it does not.
struct PcieLink {
  std::string width, most_width, speed, most_speed;
};
Finding judge_link(std::string_view gpu, const PcieLink& link);
Finding judge_visible_devices(const char* variable);
Finding judge_tuning(const FoundBackend& backend, std::optional<std::size_t> mapped_bytes);

}  // namespace iqd
