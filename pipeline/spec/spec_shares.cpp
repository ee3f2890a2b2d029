// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/spec/spec_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/quantity.hpp"
#include "pipeline/spec/spec_backends.hpp"

namespace iqd {
namespace {

constexpr std::string_view kKey = "gpu.share";

/// What precedes this unit; nothing if the text does not end with it.
std::optional<std::string_view> without_unit(std::string_view text, std::string_view unit) {
  if (!text.ends_with(unit)) return std::nullopt;
  return text.substr(0, text.size() - unit.size());
}

/// On failure, `why` has the reason.
std::optional<PartSize> size_of(std::string_view text, std::string& why) {
  constexpr int kMostProcessors = 100'000;  // more than any device has
  why = fmt::format("'{}' is not a number of multiprocessors (`16 SM`) or a percentage (`12 %`)", text);
  std::string no_number;
  if (const auto number = without_unit(text, "SM")) {
    const auto n = parse_whole(*number, Unit::none, no_number);
    if (!n) return std::nullopt;
    why = fmt::format("{} is out of range: at least 1 SM, and at most what the GPU has", text);
    if (*n < 1 || *n > kMostProcessors) return std::nullopt;
    return PartSize{.processors = static_cast<int>(*n)};
  }
  if (const auto number = without_unit(text, "%")) {
    const auto percent = parse_quantity(*number, Unit::none, no_number);
    if (!percent) return std::nullopt;
    why = fmt::format("{} is out of range: more than 0 %, at most 100 %", text);
    if (!(*percent > 0) || *percent > 100) return std::nullopt;
    return PartSize{.percent = *percent};
  }
  return std::nullopt;
}

using PartsOfDevices = std::map<std::string, std::vector<DeviceShare::Part>>;

/// Adds the pipeline's share of each of its devices.
void add_share(const PipelineSpec& spec, PartsOfDevices& parts) {
  if (spec.gpu_share.empty()) return;
  std::string why;
  const std::optional<PartSize> size = size_of(spec.gpu_share, why);
  if (!size) return spec.section.problem(kKey, why);
  const std::vector<std::string> devices = wanted_devices(spec);
  if (devices.empty()) return spec.section.problem(kKey, "has no effect: the pipeline runs on the CPU alone");
  for (const std::string& device : devices) parts[device].push_back({spec.name, *size});
}

/// `60 %, 50 %`, if that is more than all of a device.
std::string excess_of(const std::vector<DeviceShare::Part>& parts) {
  double sum = 0;
  std::string text;
  for (const DeviceShare::Part& part : parts) {
    sum += part.size.percent;
    if (part.size.percent > 0) text += fmt::format("{}{:.6g} %", text.empty() ? "" : ", ", part.size.percent);
  }
  constexpr double kRounding = 1e-6;
  return sum > 100 + kRounding ? fmt::format("shares of {}: {:.6g} %", text, sum) : "";
}

void refuse_excess(const PipelineSpec& spec, const PartsOfDevices& parts) {
  if (spec.gpu_share.empty() || !spec.gpu_share.ends_with('%')) return;
  for (const std::string& device : wanted_devices(spec))
    if (const auto all = parts.find(device); all != parts.end())
      if (const std::string excess = excess_of(all->second); !excess.empty())
        return spec.section.problem(kKey, fmt::format("{} of {}", excess, device));
}

}  // namespace

void divide_devices(Spec& spec) {
  PartsOfDevices parts;
  std::map<std::string, std::set<std::int64_t>> priorities;  // by device
  for (const PipelineSpec& pipeline : spec.pipelines) {
    add_share(pipeline, parts);
    for (const std::string& device : wanted_devices(pipeline)) priorities[device].insert(pipeline.realtime.priority);
  }
  for (PipelineSpec& pipeline : spec.pipelines) {
    refuse_excess(pipeline, parts);
    for (const std::string& device : wanted_devices(pipeline)) {
      if (const auto all = parts.find(device); all != parts.end())
        pipeline.shares[device] = {pipeline.name, all->second};
      const std::set<std::int64_t>& ranks = priorities[device];
      const auto rank = std::distance(ranks.begin(), ranks.find(pipeline.realtime.priority));
      pipeline.urgency = std::max(pipeline.urgency, static_cast<int>(rank));
    }
  }
}

bool same_part(const PipelineSpec& one, const PipelineSpec& other) {
  return one.gpu_share == other.gpu_share && (!one.gpu_share.empty() || one.shares == other.shares);
}

}  // namespace iqd
