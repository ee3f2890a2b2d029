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
  std::vector<double> clipped;  // of each channel, the share of samples that were
};

/// Opens a source and takes so many samples of it, in step; of a finite one as many as it has. A radio is first given a
/// tenth of a second to settle. Throws SetupError where the source fails, or gives nothing for five seconds.
Capture capture(const SourceOptions& source, std::int64_t samples);

}  // namespace iqd
