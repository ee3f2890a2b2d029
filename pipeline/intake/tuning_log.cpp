// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/tuning_log.hpp"

#include <algorithm>
#include <utility>

namespace iqd {

TuningLog::TuningLog(double frequency_hz, double planned_hz, Counters& counters)
    : frequency_hz_(frequency_hz), planned_hz_(planned_hz), counters_(counters) {
  counters_.frequency_hz.set(frequency_hz);
}

void TuningLog::watch(std::shared_ptr<CalibrationWatch> calibration, const SourceOptions& set,
                      const std::optional<StreamInfo>& stream) {
  calibration_ = std::move(calibration);
  calibrated_ = !stream || holds(set, *stream);
}

bool TuningLog::holds(const SourceOptions& set, const StreamInfo& stream) {
  if (!calibration_) return true;
  const bool holds = calibration_->look(set, stream);
  counters_.calibrated.set(holds ? 1 : 0);
  return holds;
}

void TuningLog::add(SampleIndex sample, const SourceOptions& set, const StreamInfo& stream) {
  const SampleIndex from = tunings_.empty() ? sample : std::max(sample, tunings_.back().from);
  tunings_.push_back({from, stream.frequency_hz, holds(set, stream)});
  counters_.tuned = from;
  counters_.frequency_hz.set(stream.frequency_hz);
}

void TuningLog::mark(SampleBlock& block) noexcept {
  auto next = tunings_.begin();
  block.was_calibrated = calibrated_;
  block.was_retuned_hz = frequency_hz_ - planned_hz_;
  for (; next != tunings_.end() && next->from < block.end(); ++next) {
    block.tuned = std::max(next->from, block.first);
    frequency_hz_ = next->frequency_hz;
    block.was_calibrated = block.was_calibrated && calibrated_;
    calibrated_ = next->calibrated;
  }
  block.calibrated = calibrated_;
  tunings_.erase(tunings_.begin(), next);
  block.retuned_hz = frequency_hz_ - planned_hz_;
}

void TuningLog::unmark(std::span<const SampleBlock> blocks) {
  auto at = tunings_.begin();
  for (const SampleBlock& block : blocks)
    if (block.tuned >= 0) at = tunings_.insert(at, {block.tuned, planned_hz_ + block.retuned_hz, block.calibrated}) + 1;
  if (blocks.empty()) return;
  frequency_hz_ = planned_hz_ + blocks.front().was_retuned_hz;
  calibrated_ = blocks.front().was_calibrated;
}

}  // namespace iqd
