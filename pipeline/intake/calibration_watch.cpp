// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/calibration_watch.hpp"

#include <utility>

#include "base/log.hpp"

namespace iqd {

bool CalibrationWatch::look(const SourceOptions& source, const StreamInfo& stream) {
  const auto mismatches = table_->mismatches(setting_of(source, stream));
  const bool held = std::exchange(holds_, mismatches.empty());
  if (held && !mismatches.empty())
    log::warn("{}: its channels are no longer calibrated: {}: {}", name_, mismatches.front().key,
              mismatches.front().why);
  if (!held && mismatches.empty()) log::info("{}: its channels are calibrated again", name_);
  return mismatches.empty();
}

}  // namespace iqd
