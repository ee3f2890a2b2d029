// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/driver.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {

/// A recording as the source of a pipeline.
struct ExecInput {
  std::unique_ptr<SourceOptions> source;
  std::optional<std::int64_t> samples;  // of each channel, if known
  bool one_row = false;                 // an array [1][n]
};

/// What a recording may not say itself, from the command line.
struct ExecHints {
  std::optional<double> rate_hz = {};
  std::optional<double> frequency_hz = {};
  std::string format = {};
  std::int64_t channels = 0;
  // For an array, unless given:
  double usual_rate_hz = 1;
  double usual_frequency_hz = 0;
};

/// Opens a recording by its name: NAME.npy is read into memory, and its numbers become what `reader` takes, unless the
/// files beside it say its rate; all others are for the `file` source. Where no time is known, times count from 0.
/// Problems go to the section. Throws UsageError.
ExecInput open_recording(const std::string& path, const InputSpec& reader, const ExecHints& hints,
                         const Section& section);

/// Whether a recording can be read and says its rate.
bool says_rate(const std::string& path, const ExecHints& hints);

/// Whether an array has samples [n] or [channel][n], and a rate: it says one itself, or is `with_rate`.
bool is_stream_of_samples(const std::string& array, bool with_rate);

/// Whether a stage's input can be a stream of samples [n] or [channel][n].
bool takes_samples(const InputSpec& input);

}  // namespace iqd
