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
#include "pipeline/backend/tuning.hpp"

namespace iqd {

namespace hosts {
struct LinkConfig;
struct PoolReport;
}  // namespace hosts

enum class Verdict : std::uint8_t { ok, warn, bad };
std::string_view name_of(Verdict verdict) noexcept;

/// One line of `iqd doctor`'s output.
struct Finding {
  std::string name;
  std::string found;
  Verdict verdict = Verdict::ok;
  std::string mend;  // a shell command, with any advice after a `#`; empty: nothing to do
};
using Findings = std::vector<Finding>;

/// Checks /proc and /sys below `root`. Missing files are no fault: containers and virtual machines do not show all.
Findings check_kernel(const std::filesystem::path& root);
/// Socket buffer sizes that programs request, in bytes.
struct SocketBuffers {
  std::int64_t receive = 50'000'000;  // UHD requests this, and warns if it gets less
  std::int64_t send = 1'048'576;
};
Findings check_buffers(const std::filesystem::path& root, const SocketBuffers& wanted);
/// Limits of this process, what `realtime:` would be granted, and clock synchronisation.
Findings check_process(bool has_device = false);
/// SoapySDR with its modules, ZeroMQ, FFTW. Loads the modules; `soapy` = false leaves SoapySDR out.
Findings check_libraries(bool soapy = true);
/// Whether a loaded module provides `driver=NAME`.
Finding check_module(const std::string& driver);
/// The backends, and what /proc, /sys and the environment show about NVIDIA GPUs and their driver.
Findings check_backends(const std::vector<FoundBackend>& backends, const std::filesystem::path& root);
bool has_device(const std::vector<FoundBackend>& backends) noexcept;

/// Connects to the server of a pool, and listens for its workers.
Findings check_pool(const hosts::LinkConfig& link, const std::string& pool);

// The rules one by one, for given values.
Findings judge_pool(const std::string& pool, const hosts::PoolReport& report);
Finding judge_buffer(std::string_view name, std::optional<std::int64_t> bytes, std::int64_t wanted);
Finding judge_governors(const std::vector<std::string>& governors);
Finding judge_memory(std::string_view meminfo, std::optional<std::int64_t> group_limit);
Finding judge_swaps(std::string_view swaps);
Finding judge_huge_pages(std::string_view enabled);
Finding judge_clock_source(std::string_view current, std::string_view available);
/// `highest`: the priority that a thread actually gets; 0 for none.
Finding judge_priority(int highest, rlimit limit);
/// `is_granted`: enough for a pipeline with large blocks can be locked, whatever the limit says.
Finding judge_lock(rlimit limit, bool is_granted, bool has_device = false);
Finding judge_allowed(const std::vector<int>& cpus, int processors);
Finding judge_files_limit(rlimit limit);
Finding judge_plugin_path(std::string_view search_path);
/// `is_expected`: there is an NVIDIA driver, or a GPU that needs one.
Finding judge_missing_backend(const FoundBackend& backend, bool has_driver, bool is_expected);
/// Width and speed as the kernel writes them, `16` and `32.0 GT/s PCIe`; empty if unknown.
struct PcieLink {
  std::string width, most_width, speed, most_speed;
};
Finding judge_link(std::string_view gpu, const PcieLink& link);
Finding judge_visible_devices(const char* variable);
Finding judge_tuning(const FoundBackend& backend, std::optional<std::size_t> mapped_bytes);
/// What `iqd tune FILE` has measured on it.
Finding judge_stage_times(const FoundBackend& backend, const TunedTimes& times);

}  // namespace iqd
