// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/checks.hpp"
#include "daemon/commands.hpp"
#include "daemon/plugins.hpp"
#include "daemon/radio_checks.hpp"
#include "pipeline/real_time.hpp"

namespace iqd {
namespace {

using nlohmann::ordered_json;

struct DoctorOptions {
  std::string file;
  std::string root = "/";
  bool as_json = false;
  bool strict = false;
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
                   "what `real-time priority` and `locked memory` say above, or another `cpus`"});
}

bool any_device_wanted(const Spec& spec) {
  return std::ranges::any_of(spec.pipelines, [](const PipelineSpec& p) {
    return std::ranges::any_of(wanted_backends(p), [](const std::string& name) { return name != "cpu"; });
  });
}

std::set<std::string> soapy_drivers(const std::vector<RadioUse>& radios) {
  std::set<std::string> names;
  for (const RadioUse& r : radios)
    if (r.driver == "soapy" && !r.arg("driver").empty()) names.emplace(r.arg("driver"));
  return names;
}

/// What concerns these pipelines; without a file, all of the machine.
Findings all_findings(const Spec* spec, const std::filesystem::path& root) {
  const StdoutGuard guard;
  const std::vector<RadioUse> radios = spec ? radios_in(*spec) : std::vector<RadioUse>{};
  const auto uses = [&](auto is) { return !spec || std::ranges::any_of(radios, is); };
  const std::vector<FoundBackend> backends = find_backends();
  Findings all = check_kernel(root);
  add(all, check_memory_layout(radios, root));
  add(all, check_process(has_device(backends)));
  if (spec)
    for (const PipelineSpec& p : spec->pipelines) add_real_time(all, p);
  if (const auto buffers = spec ? wanted_buffers(radios) : SocketBuffers{}) add(all, check_buffers(root, *buffers));
  add(all, spec ? check_network(radios, root) : check_interfaces(root));
  if (uses([](const RadioUse& r) { return r.hosts.empty(); })) add(all, check_usb(radios, root));
  if (uses([](const RadioUse& r) { return r.is_uhd(); }))
    all.push_back(check_images(radios, root, std::getenv("UHD_IMAGES_DIR")));
  add(all, check_libraries(uses([](const RadioUse& r) { return r.driver == "soapy"; })));
  for (const std::string& driver : soapy_drivers(radios)) all.push_back(check_module(driver));
  if (spec) add(all, check_disks(*spec));
  if (!spec || any_device_wanted(*spec)) add(all, check_backends(backends, root));
  return all;
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
  std::unique_ptr<Loaded> loaded;
  if (!o.file.empty()) {
    loaded = load(o.file);
    if (report(loaded->problems)) return Exit::configuration;
  }
  const Findings findings = all_findings(loaded ? &loaded->spec : nullptr, o.root);
  if (o.as_json)
    print_json(findings);
  else
    print_table(findings);
  return o.strict && count(findings, Verdict::bad) > 0 ? Exit::failed : Exit::ok;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto o = std::make_shared<DoctorOptions>();
  CLI::App* c = app.add_subcommand("doctor", "look for what on this machine stands in the way of real time");
  c->add_option("FILE", o->file, "a pipeline definition (YAML): then only what concerns it");
  c->add_option("--root", o->root,
                "look at /proc, /sys, /dev and /usr below this folder, e.g. a host's in a container (/)")
      ->check(CLI::ExistingDirectory);
  c->add_flag("--json", o->as_json, "as one JSON object");
  c->add_flag("--strict", o->strict, "exit 1 where something is bad");
  c->callback([o, &action] { action = [o] { return doctor(*o); }; });
}

}  // namespace iqd
