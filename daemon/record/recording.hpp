// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/driver.hpp"
#include "radio/trigger/triggered_sink.hpp"

namespace iqd {

/// How long a recording is to become, and how long it is.
struct RecordingLimit {
  std::int64_t samples = 0;  // of each channel; 0: no such limit
  double seconds = 0;        // of the recorded stream's own time; 0: no such limit
  std::atomic<std::int64_t> recorded{0};
  std::atomic<bool> reached{false};
  std::atomic<bool> refused{false};  // the sink took no more: the disk is full

  /// The smaller of both limits at this rate; the largest number where there is none.
  std::int64_t at_rate(double rate_hz) const noexcept;
};

/// A sink whose messages, [n] or [channel][n] with n varying, are cut at the limit to the sample. What comes later is
/// taken and thrown away. Behind a trigger, where one is given: the limit is reached with the last of its recordings,
/// too.
std::unique_ptr<SinkOptions> limit_sink(std::shared_ptr<SinkOptions> sink, std::shared_ptr<RecordingLimit> limit,
                                        const radio::trigger::Settings& trigger = {});

/// A source that ends once the limit is reached.
std::unique_ptr<SourceOptions> limit_source(std::unique_ptr<SourceOptions> source,
                                            std::shared_ptr<RecordingLimit> limit);

}  // namespace iqd
