// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec_backends.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/backend_name.hpp"

namespace iqd {

bool names_devices(const std::vector<std::string>& backend) {
  return !backend.empty() && is_device(backend.front());
}

namespace {

/// `cuda` means `cuda:0`.
std::string device_name(std::string_view backend) {
  return backend == "cuda" ? "cuda:0" : std::string(backend);
}

/// Whether the stage runs on the pipeline's devices, whichever those are.
bool is_pipelines(const std::vector<std::string>& backend) {
  return backend == std::vector<std::string>{"cuda"};
}

/// Where stages run that name no device.
std::vector<std::string> default_backends(const PipelineSpec& spec) {
  if (names_devices(spec.backend)) return spec.backend;
  std::vector<std::string> chosen = spec.backend;
  for (const StageSpec& s : spec.stages)
    if (names_devices(s.backend) && (!names_devices(chosen) || is_pipelines(chosen))) chosen = {s.backend.front()};
  return chosen;
}

std::string group_name(const std::vector<std::string>& backend) {
  std::vector<std::string> names;
  for (const std::string& name : backend) names.push_back(device_name(name));
  return fmt::format("{}", fmt::join(names, "+"));
}

/// The group of these devices; a new one is added, up to what a plan can have.
void add_group(BackendUse& use, const std::vector<std::string>& backend) {
  DeviceGroup group{group_name(backend), {}};
  const bool is_known = std::ranges::find(use.groups, group.name, &DeviceGroup::name) != use.groups.end();
  if (is_known || use.groups.size() == kMostGroups) return;
  for (const std::string& name : backend) {
    const auto is_same = [&](const std::string& other) { return device_name(other) == device_name(name); };
    const auto known = std::ranges::find_if(use.names, is_same);
    group.devices.push_back(static_cast<std::size_t>(known - use.names.begin()));
    if (known == use.names.end()) use.names.push_back(name);
  }
  use.groups.push_back(std::move(group));
}

void check_names(const std::vector<std::string>& backend, const Section& section) {
  // More than any machine has; a longer list is reported once, not for each name.
  constexpr std::size_t kMostBackends = 64;
  if (backend.size() > kMostBackends)
    return section.problem("backend", fmt::format("names {}; at most {} are allowed", backend.size(), kMostBackends));
  for (const std::string& name : backend)
    if (name != "auto" && name != "cpu" && !device_number(name))
      section.problem("backend", fmt::format("'{}' is not one of auto, cpu, cuda, cuda:N", name));
  std::set<std::string> devices;
  for (const std::string& name : backend) {
    if (backend.size() > 1 && !is_device(name))
      section.problem("backend", fmt::format("'{}' cannot share blocks: several backends must all be devices", name));
    if (is_device(name) && !devices.insert(device_name(name)).second)
      section.problem("backend", fmt::format("'{}' is named twice", device_name(name)));
  }
}

}  // namespace

std::size_t BackendUse::group_of(const std::vector<std::string>& backend) const {
  if (is_pipelines(backend)) return 0;
  const auto group = std::ranges::find(groups, group_name(backend), &DeviceGroup::name);
  return group == groups.end() ? 0 : static_cast<std::size_t>(group - groups.begin());
}

BackendUse backends_of(const PipelineSpec& spec) {
  BackendUse use;
  add_group(use, default_backends(spec));
  for (const StageSpec& s : spec.stages)
    if (names_devices(s.backend) && !is_pipelines(s.backend)) add_group(use, s.backend);
  return use;
}

std::vector<std::string> wanted_devices(const PipelineSpec& spec) {
  std::vector<std::string> names;
  for (const std::string& backend : backends_of(spec).names)
    if (backend != "cpu") names.push_back(device_name(backend == "auto" ? "cuda" : backend));
  return names;
}

void check_backends(const PipelineSpec& spec) {
  check_names(spec.backend, spec.section);
  if (spec.backend.empty()) spec.section.problem("backend", "is empty; leave it out, or use auto");
  std::set<std::string> groups;
  for (const StageSpec& s : spec.stages) {
    check_names(s.backend, s.section);
    if (s.backend.empty() && !s.is_wrong && s.section.has("backend"))
      s.section.problem("backend", "is empty; leave it out");
    if (names_devices(s.backend)) groups.insert(group_name(s.backend));
    if (groups.size() == kMostGroups) {
      s.section.problem("backend",
                        fmt::format("the stages name too many combinations of devices: at most {}", kMostGroups - 1));
      return;
    }
  }
}

}  // namespace iqd
