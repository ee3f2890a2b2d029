// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/calibration.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "config/reader.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {
namespace {

/// The values of a source's channels, in the order of its stream.
std::vector<double> in_order(const CalibrationTable& table, const std::vector<double>& values,
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
  const StageEntry* const entry = find_stage("align_channels", stages);
  if (!entry) return section.problem("calibration", "needs the stage `align_channels`, which is not there");
  const SourceSetting setting = setting_of(*spec.source, stream);
  if (!has_all(table, setting.channels)) return;  // said by check_calibration
  const auto keys = [&](const std::vector<double>& values, double scale) {
    return fmt::format("[{:.17g}]", fmt::join(in_order(table, values, setting.channels, scale), ", "));
  };
  const Document document =
      parse_document(fmt::format("{{gain: {}, phase: {}, delay: {}, while_calibrated: true}}", keys(table.gains_db, 1),
                                 keys(table.phases_deg, 1), keys(table.delays_s, stream.rate_hz)),
                     "calibration", section.problems());
  std::unique_ptr<Stage> stage = entry->make();
  read_fields(
      document.root, [&](FieldVisitor& v) { stage->fields(v); }, section.problems());
  planner.add_stage(*entry, "source_calibration", std::move(stage), {}, section);
}

void check_calibration(const PipelineSpec& spec, const StreamInfo& stream) {
  if (!spec.calibration) return;
  for (const auto& mismatch : spec.calibration->mismatches(setting_of(*spec.source, stream)))
    spec.source_section->problem("calibration", fmt::format("{}: {}", mismatch.key, mismatch.why));
}

bool CalibrationWatch::look(const SourceOptions& source, const StreamInfo& stream) {
  const auto mismatches = table_->mismatches(setting_of(source, stream));
  const bool held = std::exchange(holds_, mismatches.empty());
  if (held && !mismatches.empty())
    log::warn("{}: its channels are not calibrated any more: {}: {}", name_, mismatches.front().key,
              mismatches.front().why);
  if (!held && mismatches.empty()) log::info("{}: its channels are calibrated again", name_);
  return mismatches.empty();
}

}  // namespace iqd
