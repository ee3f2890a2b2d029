// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/checks.hpp"

#include <fftw3.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/sysinfo.h>
#include <sys/timex.h>
#include <zmq.h>

#include <SoapySDR/Modules.hpp>
#include <SoapySDR/Registry.hpp>
#include <SoapySDR/Version.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <utility>

#include "pipeline/real_time.hpp"

namespace iqd {
namespace {

constexpr int kPriority = 50;
constexpr rlim_t kLockedBytes = rlim_t{1} << 30;
constexpr rlim_t kFiles = 1024;
constexpr const char* kPluginPath = "SOAPY_SDR_PLUGIN_PATH";

std::string limit_text(rlim_t value) {
  return value == RLIM_INFINITY ? "unlimited" : fmt::format("{}", value);
}

std::string limit_command(std::string_view what, std::string_view value, std::string_view unit_key) {
  return fmt::format(
      "echo \"$USER - {} {}\" | sudo tee -a /etc/security/limits.d/iqd.conf  # then log in again; in a service: {}={}",
      what, value, unit_key, value);
}

rlimit limit_of(int resource) {
  rlimit limit{};
  ::getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  return limit;
}

/// Tries it, since capabilities, limits and the control group all decide.
int highest_priority(rlimit limit) {
  for (const rlim_t priority : {rlim_t{99}, std::min(limit.rlim_cur, rlim_t{99}), rlim_t{1}})
    if (const int granted = try_thread(static_cast<int>(priority), {}).priority) return granted;
  return 0;
}

Finding check_time_sync() {
  timex t{};
  const int state = ::adjtimex(&t);
  if (state < 0) return {"time synchronisation", "not visible", Verdict::ok, ""};
  const bool synchronised = state != TIME_ERROR && !(t.status & STA_UNSYNC);
  if (synchronised) {
    return {"time synchronisation", fmt::format("yes, to {:.3g} ms at most", static_cast<double>(t.maxerror) / 1e3),
            Verdict::ok, ""};
  }
  return {"time synchronisation", "no: this host's time stamps drift from those of other hosts", Verdict::warn,
          "sudo apt install chrony"};
}

void add_modules(Findings& findings) {
  const std::vector<std::string> modules = SoapySDR::listModules();
  std::vector<std::string> loaded;
  Findings broken;
  for (const std::string& path : modules) {
    SoapySDR::loadModule(path);  // empty text if already loaded, too
    const std::string name = std::filesystem::path(path).filename().string();
    std::string errors;
    for (const auto& [driver, error] : SoapySDR::getLoaderResult(path))
      if (!error.empty()) errors += fmt::format("{}{}: {}", errors.empty() ? "" : "; ", driver, error);
    const bool has_loaded = !SoapySDR::getLoaderResult(path).empty();
    if (has_loaded && errors.empty())
      loaded.push_back(name);
    else
      broken.push_back({"SoapySDR module", fmt::format("{}: {}", path, errors.empty() ? "does not load" : errors),
                        Verdict::warn,
                        fmt::format("ldd {}  # install the missing library, or remove the module", path)});
  }
  Finding f{"SoapySDR modules", fmt::format("{}", fmt::join(loaded, ", ")), Verdict::ok, ""};
  if (loaded.empty()) {
    f.found = "none: no radio can be opened through SoapySDR";
    f.verdict = Verdict::bad;
    f.mend = "sudo apt install soapysdr-module-all  # or set SOAPY_SDR_PLUGIN_PATH";
  }
  findings.push_back(std::move(f));
  std::move(broken.begin(), broken.end(), std::back_inserter(findings));
}

Finding check_soapy_version() {
  Finding f{"SoapySDR", fmt::format("{}, module interface {}", SoapySDR::getLibVersion(), SoapySDR::getABIVersion()),
            Verdict::ok, ""};
  if (SoapySDR::getABIVersion() == SOAPY_SDR_ABI_VERSION) return f;
  f.found += ", but iqd was built for " SOAPY_SDR_ABI_VERSION;
  f.verdict = Verdict::bad;
  f.mend = "dpkg -l 'libsoapysdr*'  # rebuild iqd with this SoapySDR: tools/build";
  return f;
}

Finding check_zeromq() {
  int major = 0, minor = 0, patch = 0;
  ::zmq_version(&major, &minor, &patch);
  return {"ZeroMQ", fmt::format("{}.{}.{}, CURVE {}", major, minor, patch, ::zmq_has("curve") ? "yes" : "no"),
          Verdict::ok, ""};
}

}  // namespace

Finding judge_priority(int highest, rlimit limit) {
  Finding f{"real-time priority",
            highest > 0 ? fmt::format("SCHED_FIFO granted up to {}", highest)
                        : fmt::format("SCHED_FIFO refused, limit {}", limit_text(limit.rlim_cur)),
            Verdict::ok, ""};
  if (highest >= kPriority) return f;
  f.verdict = Verdict::warn;
  f.mend = limit_command("rtprio", "80", "LimitRTPRIO");
  return f;
}

Finding judge_lock(rlimit limit, bool is_granted, bool has_device) {
  Finding f{"locked memory", fmt::format("limit {} bytes", limit_text(limit.rlim_cur)), Verdict::ok, ""};
  if (is_granted) {
    if (limit.rlim_cur < kLockedBytes) f.found += ", but this user may exceed it";
    return f;
  }
  if (has_device) f.found += ": pinning the ring for a GPU may be refused";
  f.verdict = Verdict::warn;
  f.mend = limit_command("memlock", "unlimited", "LimitMEMLOCK");
  return f;
}

Finding judge_allowed(const std::vector<int>& cpus, int processors) {
  if (std::cmp_greater_equal(cpus.size(), processors)) return {"CPUs for iqd", "all", Verdict::ok, ""};
  return {"CPUs for iqd",
          fmt::format("{} of {}: a control group or the service's AllowedCPUs= excludes the others", cpu_list(cpus),
                      processors),
          Verdict::ok, ""};
}

Finding judge_files_limit(rlimit limit) {
  const bool enough = limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= kFiles;
  return {"open files", fmt::format("limit {}", limit_text(limit.rlim_cur)), enough ? Verdict::ok : Verdict::bad,
          enough ? "" : limit_command("nofile", "65536", "LimitNOFILE")};
}

Finding judge_plugin_path(std::string_view search_path) {
  Finding f{kPluginPath, search_path.empty() ? "not set" : std::string(search_path), Verdict::ok, ""};
  std::vector<std::string> there;
  for (std::size_t at = 0; at <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', at), search_path.size());
    const std::string folder(search_path.substr(at, end - at));
    at = end + 1;
    std::error_code ignored;
    if (folder.empty()) continue;
    if (std::filesystem::is_directory(folder, ignored)) {
      there.push_back(folder);
      continue;
    }
    f.found += fmt::format(" ({} is not a directory)", folder);
    f.verdict = Verdict::warn;
  }
  if (f.verdict != Verdict::ok) f.mend = fmt::format("export {}={}", kPluginPath, fmt::join(there, ":"));
  return f;
}

Findings check_process(bool has_device) {
  const rlimit priority = limit_of(RLIMIT_RTPRIO);
  return {judge_priority(highest_priority(priority), priority),
          judge_lock(limit_of(RLIMIT_MEMLOCK), can_lock(kLockedBytes), has_device),
          judge_allowed(try_thread(0, {}).allowed, ::get_nprocs()), judge_files_limit(limit_of(RLIMIT_NOFILE)),
          check_time_sync()};
}

Finding check_module(const std::string& driver) {
  Finding f{"module for driver=" + driver, "found", Verdict::ok, ""};
  if (SoapySDR::Registry::listFindFunctions().contains(driver)) return f;
  f.found = "not found: this radio cannot be opened";
  f.verdict = Verdict::bad;
  f.mend = fmt::format("sudo apt install soapysdr-module-{}  # or set {}; `SoapySDRUtil --info` lists what is found",
                       driver, kPluginPath);
  return f;
}

Findings check_libraries(bool soapy) {
  const char* path = std::getenv(kPluginPath);
  Findings findings;
  if (soapy) findings = {check_soapy_version(), judge_plugin_path(path ? path : "")};
  try {
    if (soapy) add_modules(findings);
  } catch (const std::exception& e) {
    findings.push_back(
        {"SoapySDR modules", fmt::format("loading them failed: {}", e.what()), Verdict::bad, "SoapySDRUtil --info"});
  }
  findings.push_back(check_zeromq());
  findings.push_back({"FFTW", ::fftwf_version, Verdict::ok, ""});
  return findings;
}

}  // namespace iqd
