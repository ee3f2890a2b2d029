// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/source_rate.hpp"

#include <cmath>

#include "pipeline/plan/planner.hpp"

namespace iqd {

void add_resampler(Planner& planner, const PipelineSpec& spec, const StreamInfo& stream,
                   std::span<const StageEntry> stages) {
  const std::optional<RadioRequest> asked = spec.source ? spec.source->radio() : std::nullopt;
  if (!asked || !asked->resample || std::fabs(stream.rate_hz - asked->rate_hz) <= 1e-6 * asked->rate_hz) return;
  const StageEntry* const entry = find_stage(&StageEntry::make_resampler, stages);
  if (!entry)
    return spec.section.problem("source", "`resample: true` needs the stage `resampler`, which this build lacks");
  planner.add_stage(*entry, std::string(kResamplerName), entry->make_resampler(asked->rate_hz), {}, spec.section);
}

}  // namespace iqd
