// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec_backends.hpp"

#include <fmt/format.h>

#include <set>

#include "base/backend_name.hpp"

namespace iqd {
namespace {

/// `cuda` means `cuda:0`.
std::string device_name(std::string_view backend) {
  return backend == "cuda" ? "cuda:0" : std::string(backend);
}

}  // namespace

std::vector<std::string> wanted_backends(const PipelineSpec& spec) {
  std::vector<std::string> names = spec.backend;
  // If the pipeline names no device, its stages' device is used; `cuda` means any.
  for (const StageSpec& s : spec.stages)
    if (names.size() == 1 && (!is_device(names.front()) || names.front() == "cuda") && is_device(s.backend))
      names = {s.backend};
  return names;
}

std::vector<std::string> wanted_devices(const PipelineSpec& spec) {
  std::vector<std::string> names;
  for (const std::string& backend : wanted_backends(spec))
    if (backend != "cpu") names.push_back(device_name(backend == "auto" ? "cuda" : backend));
  return names;
}

void check_backend(const std::string& name, const Section& section) {
  if (name != "auto" && name != "cpu" && !device_number(name))
    section.problem("backend", fmt::format("'{}' is not one of auto, cpu, cuda, cuda:N", name));
}

void check_backends(const PipelineSpec& spec) {
  // More than any machine has; a longer list is reported once, not for each name.
  constexpr std::size_t kMostBackends = 64;
  if (spec.backend.size() > kMostBackends)
    return spec.section.problem("backend",
                                fmt::format("names {}; at most {} are allowed", spec.backend.size(), kMostBackends));
  for (const std::string& name : spec.backend) check_backend(name, spec.section);
  if (spec.backend.empty()) spec.section.problem("backend", "is empty; leave it out, or use auto");
  std::set<std::string> devices;
  for (const std::string& name : spec.backend) {
    if (spec.backend.size() > 1 && !is_device(name))
      spec.section.problem("backend",
                           fmt::format("'{}' cannot share blocks: several backends must all be devices", name));
    if (is_device(name) && !devices.insert(device_name(name)).second)
      spec.section.problem("backend", fmt::format("'{}' is named twice", device_name(name)));
  }
  for (const StageSpec& s : spec.stages) {
    if (!is_device(s.backend) || s.backend == "cuda") continue;
    if (spec.backend.size() > 1) {
      s.section.problem("backend", "every stage runs on each of the pipeline's devices: use `cuda`, or leave it out");
      continue;
    }
    if (devices.empty()) devices.insert(s.backend);
    if (!devices.contains(s.backend))
      s.section.problem("backend", fmt::format("'{}' is not the pipeline's device: a pipeline runs on one device, or "
                                               "has all of its stages on each of several",
                                               s.backend));
  }
}

}  // namespace iqd
