// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "daemon/checks.hpp"
#include "daemon/commands.hpp"
#include "daemon/plugins.hpp"

namespace iqd {
namespace {

using nlohmann::ordered_json;

Findings all_findings() {
  const StdoutGuard guard;
  const std::filesystem::path root = "/";
  const std::vector<FoundBackend> backends = find_backends();
  Findings all;
  for (Findings part :
       {check_kernel(root), check_process(has_device(backends)), check_libraries(), check_backends(backends, root)})
    std::move(part.begin(), part.end(), std::back_inserter(all));
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

Exit doctor(bool as_json, bool strict) {
  const Findings findings = all_findings();
  if (as_json)
    print_json(findings);
  else
    print_table(findings);
  return strict && count(findings, Verdict::bad) > 0 ? Exit::failed : Exit::ok;
}

}  // namespace

void add_doctor(CLI::App& app, Action& action) {
  auto as_json = std::make_shared<bool>(false);
  auto strict = std::make_shared<bool>(false);
  CLI::App* c = app.add_subcommand("doctor", "look for what on this machine stands in the way of real time");
  c->add_flag("--json", *as_json, "as one JSON object");
  c->add_flag("--strict", *strict, "exit 1 where something is bad");
  c->callback([=, &action] { action = [=] { return doctor(*as_json, *strict); }; });
}

}  // namespace iqd
