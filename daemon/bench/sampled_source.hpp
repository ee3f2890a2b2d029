// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// A few blocks of a stream.
struct Samples {
  StreamInfo info;
  std::vector<std::vector<std::byte>> channels;
  std::string noise_since{};  // why they are noise; empty: they are the source's own
  std::int64_t length() const noexcept;
};

/// Samples of the pipeline's source, as many as come within two seconds, but at most four blocks. If none come or it
/// cannot be opened, or with `noise`: noise of the stream's shape, as the source describes it. Throws SetupError if it
/// does not describe it.
std::shared_ptr<const Samples> collect_samples(const PipelineSpec& spec, std::int64_t block, bool noise);

/// A source that delivers them over and over, in place of the pipeline's own.
std::shared_ptr<SourceOptions> sampled_source(PipelineSpec& spec, std::shared_ptr<const Samples> samples);

}  // namespace iqd
