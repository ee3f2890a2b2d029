// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/command/work_config.hpp"

#include <fmt/format.h>

#include <set>

#include "base/backend_name.hpp"
#include "config/reader.hpp"

namespace iqd {

void WorkConfig::fields(FieldVisitor& v) {
  link.fields(v);
  v.field("pools", pools, {.help = "names of the pools to work for", .required = true});
  v.field("backend", backend,
          {.help = "where blocks are computed: auto, cpu, cuda or cuda:N; several devices share them"});
  v.field("lanes", lanes, {.help = "blocks computed in parallel; 0: one per CPU, at most 4", .low = 0, .high = 32});
  v.field("ahead", ahead, {.help = "blocks that each lane fetches before it needs them", .low = 0, .high = 8});
  v.field("name", name, {.help = "name of this worker; default: that of the host"});
  v.field("hang", hang_s,
          {.help = "iqd exits when a stage works on one block for longer",
           .unit = Unit::seconds,
           .low = 0.1,
           .high = 3600});
}

void WorkConfig::check(const Section& section) const {
  link.check(section);
  if (pools.empty() && section.has("pools") && !section.is_wrong("pools"))
    section.problem("pools", "is empty: name at least one");
  std::set<std::string> seen;
  for (const std::string& pool : pools) {
    if (!hosts::is_pool_name(pool))
      section.problem("pools", fmt::format("'{}' cannot be a pool: up to 64 letters, digits, - and _", pool));
    if (!seen.insert(pool).second) section.problem("pools", fmt::format("'{}' is named twice", pool));
  }
  for (const std::string& where : backend)
    if (where != "auto" && where != "cpu" && !device_number(where))
      section.problem("backend", fmt::format("'{}' is not one of auto, cpu, cuda, cuda:N", where));
  if (backend.empty()) section.problem("backend", "is empty; leave it out, or use auto");
}

WorkConfig read_work(const Node& node, Problems& problems) {
  WorkConfig work;
  const std::size_t before = problems.size();
  const Section section = read_fields(
      node, [&](FieldVisitor& v) { work.fields(v); }, problems);
  if (problems.size() == before) work.check(section);
  return work;
}

}  // namespace iqd
