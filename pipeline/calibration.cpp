// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/plan/planner.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {
namespace {

/// The values of a source's channels, in the order of its stream.
std::vector<double> values_of(const CalibrationTable& table, const std::vector<double>& values,
                              const std::vector<std::int64_t>& channels, double scale) {
  std::vector<double> picked;
  for (const std::int64_t c : channels) {
    const auto at = std::ranges::find(table.channels, c) - table.channels.begin();
    picked.push_back(values.empty() ? 0 : scale * values[static_cast<std::size_t>(at)]);
  }
  return picked;
}

bool has_all(const CalibrationTable& table, const std::vector<std::int64_t>& channels) {
  return std::ranges::all_of(
      channels, [&](std::int64_t c) { return std::ranges::find(table.channels, c) != table.channels.end(); });
}

}  // namespace

void add_calibration(Planner& planner, const PipelineSpec& spec, const StreamInfo& stream,
                     std::span<const StageEntry> stages) {
  if (!spec.calibration) return;
  const CalibrationTable& table = *spec.calibration;
  const Section& section = *spec.source_section;
  const StageEntry* const entry = find_stage(&StageEntry::make_aligner, stages);
  if (!entry) return section.problem("calibration", "needs the stage `align_channels`, which this build lacks");
  const RadioRequest setting = setting_of(*spec.source, stream);
  if (!has_all(table, setting.channels)) return;  // check_calibration reports it
  const auto in_order = [&](const std::vector<double>& values, double scale) {
    return values_of(table, values, setting.channels, scale);
  };
  ChannelErrors errors{in_order(table.gains_db, 1), in_order(table.phases_deg, 1),
                       in_order(table.delays_s, stream.rate_hz)};
  planner.add_stage(*entry, "source_calibration", entry->make_aligner(std::move(errors)), {}, section);
}

void check_calibration(const PipelineSpec& spec, const StreamInfo& stream) {
  if (!spec.calibration) return;
  for (const auto& mismatch : spec.calibration->mismatches(setting_of(*spec.source, stream)))
    spec.source_section->problem("calibration", fmt::format("{}: {}", mismatch.key, mismatch.why));
}

}  // namespace iqd
