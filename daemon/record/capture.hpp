// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/driver.hpp"

namespace iqd {

/// Samples of all channels of a source, full scale 1.
struct Capture {
  StreamInfo info;
  std::vector<std::vector<cf32>> channels;
  std::vector<double> clipped;  // share of clipped samples of each channel
};

/// Opens a source and takes `samples` of each channel; fewer if a finite source ends. A radio first gets a tenth of a
/// second to settle. Throws SetupError if the source fails, or gives nothing for five seconds.
Capture capture(const SourceOptions& source, std::int64_t samples);

}  // namespace iqd
