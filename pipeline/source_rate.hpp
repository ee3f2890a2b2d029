// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "pipeline/spec/spec.hpp"

namespace iqd {

class Planner;

/// The stage that it adds.
inline constexpr std::string_view kResamplerName = "source_resampler";

/// If a source has `resample: true` and its rate differs from `rate` by more than 1 ppm, adds a stage
/// `source_resampler`, which resamples the stream to `rate`. Other stages read it in place of the source, unless they
/// say `from: source`.
void add_resampler(Planner& planner, const PipelineSpec& spec, const StreamInfo& stream,
                   std::span<const StageEntry> stages);

}  // namespace iqd
