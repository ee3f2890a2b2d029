// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "base/open_radios.hpp"
#include "daemon/command/commands.hpp"
#include "daemon/command/plugins.hpp"
#include "daemon/doctor/checks.hpp"
#include "daemon/doctor/radio_checks.hpp"
#include "daemon/probe/driver_sight.hpp"
#include "daemon/probe/radio_args.hpp"
#include "hosts/pool_options.hpp"
#include "pipeline/real_time.hpp"
#include "pipeline/spec/spec_backends.hpp"

namespace iqd {
namespace {

using nlohmann::ordered_json;

/// A radio answers sooner, unless it has to load its firmware first.
constexpr std::chrono::seconds kPatience{60};

struct DoctorOptions {
  std::string file;
  RadioArgs radio;
  std::string root = "/";
  bool as_json = false;
  bool strict = false;
  bool pool = false;
};

void add(Findings& all, Findings part) {
  std::ranges::move(part, std::back_inserter(all));
}

/// What a pipeline's `realtime:` would be granted now.
void add_real_time(Findings& all, const PipelineSpec& pipeline) {
  const RealTime& asked = pipeline.realtime;
  const RealTimeReport report = report_real_time(asked, asked.lock_memory && can_lock(std::size_t{1} << 30));
  all.push_back({"realtime of " + pipeline.name, report.granted, Verdict::ok, ""});
  for (const std::string& line : report.refused)
    all.push_back({"realtime of " + pipeline.name, line, Verdict::warn,
                   "# see `real-time priority` and `locked memory` above, or choose other `cpus`"});
}

bool any_device_wanted(const Spec& spec) {
  return std::ranges::any_of(spec.pipelines,
                             [](const PipelineSpec& p) { return backends_of(p).names.front() != "cpu"; });
}

std::set<std::string> soapy_drivers(const std::vector<RadioUse>& radios) {
  std::set<std::string> names;
  for (const RadioUse& r : radios)
    if (r.driver == "soapy" && !r.arg("driver").empty()) names.emplace(r.arg("driver"));
  return names;
}

/// What to check: these pipelines and radios, or the whole machine if there are none.
struct Concern {
  const Spec* spec = nullptr;
  std::vector<RadioUse> radios;

  bool is_all() const { return !spec && radios.empty(); }
};

/// The pools that a file uses or works for.
Findings pool_findings(const Loaded& loaded) {
  Findings all;
  if (loaded.work)
    for (const std::string& pool : loaded.work->pools) add(all, check_pool(loaded.work->link, pool));
  for (const PipelineSpec& pipeline : loaded.spec.pipelines) {
    if (!pipeline.pool) continue;
    const hosts::PoolConfig& pool = hosts::config_of(*pipeline.pool);
    add(all, check_pool(pool.link, pool.name.empty() ? pipeline.name : pool.name));
  }
  if (all.empty()) throw UsageError("doctor: the file has neither `pool:` nor `work:`");
  return all;
}

Findings all_findings(const Concern& concern, const std::filesystem::path& root) {
  const auto& [spec, radios] = concern;
  const bool is_all = concern.is_all();
  const auto uses = [&](auto is) { return concern.is_all() || std::ranges::any_of(concern.radios, is); };
  const std::vector<FoundBackend> backends = find_backends();
  Findings all = check_kernel(root);
  add(all, check_memory_layout(radios, root));
  add(all, check_process(has_device(backends)));
  if (spec)
    for (const PipelineSpec& p : spec->pipelines) add_real_time(all, p);
  if (const auto buffers = is_all ? SocketBuffers{} : wanted_buffers(radios)) add(all, check_buffers(root, *buffers));
  add(all, is_all ? check_interfaces(root) : check_network(radios, root));
  if (uses([](const RadioUse& r) { return r.hosts.empty(); })) add(all, check_usb(radios, root));
  if (uses([](const RadioUse& r) { return r.is_uhd(); }))
    all.push_back(check_images(radios, root, std::getenv("UHD_IMAGES_DIR")));
  add(all, check_libraries(uses([](const RadioUse& r) { return r.driver == "soapy"; })));
  for (const std::string& driver : soapy_drivers(radios)) all.push_back(check_module(driver));
  if (spec) add(all, check_disks(*spec));
  if (is_all || (spec && any_device_wanted(*spec))) add(all, check_backends(backends, root));
  return all;
}

/// Whether the radio answers, and its hardware.
Finding judge_radio(const Sight& sight, const RadioUse& radio) {
  Finding f{"radio", trouble_of(sight), Verdict::ok, ""};
  if (f.found.empty()) {
    for (const FoundDevice& device : sight.devices) {
      const std::string what = OpenRadio{radio.driver, "", device.facts}.hardware();
      f.found += fmt::format("{}{}", f.found.empty() ? "" : "; ", what.empty() ? device.label : what);
    }
    return f;
  }
  f.verdict = Verdict::bad;
  if (radio.hosts.empty())
    f.mend = "lsusb; iqd probe  # is it plugged in, and which radios are found?";
  else if (radio.arg("driver") == "remote")
    f.mend = fmt::format("ping -c 3 {}  # if it answers: start SoapySDRServer --bind there", radio.hosts.front());
  else
    f.mend = fmt::format("ping -c 3 {}  # no answer: check power, cable and address", radio.hosts.front());
  return f;
}

std::int64_t count(const Findings& findings, Verdict verdict) {
  return std::count_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.verdict == verdict; });
}

void print_json(const Findings& findings) {
  ordered_json all = {{"findings", ordered_json::array()},
                      {"warn", count(findings, Verdict::warn)},
                      {"bad", count(findings, Verdict::bad)}};
  for (const Finding& f : findings)
    all["findings"].push_back(
        {{"name", f.name}, {"found", f.found}, {"verdict", name_of(f.verdict)}, {"mend", f.mend}});
  fmt::print("{}\n", all.dump(2, ' ', false, ordered_json::error_handler_t::replace));
}

void print_table(const Findings& findings) {
  for (const Finding& f : findings) {
    fmt::print("{:<5} {:<23} {}\n", name_of(f.verdict), f.name, f.found);
    if (!f.mend.empty()) fmt::print("{:<5} {:<23} -> {}\n", "", "", f.mend);
  }
  fmt::print("\n{} warning(s), {} bad\n", count(findings, Verdict::warn), count(findings, Verdict::bad));
}

Exit doctor(const DoctorOptions& o) {
  if (!o.file.empty() && o.radio.given())
    throw UsageError("doctor: give either a FILE, which names its radios, or one radio with --args");
  if (o.pool && o.file.empty()) throw UsageError("doctor: --pool needs a FILE with `pool:` or `work:`");
  std::unique_ptr<Loaded> loaded;
  if (!o.file.empty()) {
    loaded = load(o.file);
    if (report(loaded->problems)) return Exit::configuration;
  }
  Concern concern;
  if (loaded) concern = {&loaded->spec, radios_in(loaded->spec)};
  if (o.radio.given()) concern.radios.push_back(o.radio.use());
  Findings findings;
  bool hangs = false;
  if (o.pool) {
    findings = pool_findings(*loaded);
  } else {
    const StdoutGuard guard;
    findings = all_findings(concern, o.root);
    if (o.radio.given()) {
      const Sight sight = look(o.radio.taker(), kPatience, o.radio.args);
      findings.push_back(judge_radio(sight, concern.radios.front()));
      hangs = sight.hangs;
    }
  }
  (o.as_json ? print_json : print_table)(findings);
  const Exit exit = o.strict && count(findings, Verdict::bad) > 0 ? Exit::failed : Exit::ok;
  if (!hangs) return exit;
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(exit));  // a thread is still inside the driver
}

}  // namespace

void add_doctor(CommandLine& line) {
  auto o = std::make_shared<DoctorOptions>();
  Command c =
      line.command("doctor", "check this machine for what prevents real-time operation", [o] { return doctor(*o); });
  c.option("FILE", &o->file, "a pipeline definition (YAML): checks only what it needs");
  c.option("--pool", &o->pool, "checks the pools of FILE instead: server, home and workers");
  o->radio.add_to(c);
  c.option("--root", &o->root, "read /proc, /sys, /dev and /usr below this folder, e.g. the host's in a container (/)",
           {.folder = true})
      .option("--json", &o->as_json, "print one JSON object")
      .option("--strict", &o->strict, "exit 1 if anything is bad");
}

}  // namespace iqd
