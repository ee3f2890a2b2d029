// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/driver.hpp"
#include "radio/trigger/triggered_sink.hpp"

namespace iqd {

/// The wanted length of a recording, and what it has so far.
struct RecordingLimit {
  std::int64_t samples = 0;               // of each channel; 0: no such limit
  double seconds = 0;                     // in the recorded stream's time; 0: no such limit
  std::atomic<std::int64_t> recorded{0};  // items: samples of each channel, packets, frames, …
  std::atomic<std::int64_t> messages{0};
  std::atomic<std::int64_t> gaps{0};
  std::atomic<std::int64_t> missing{0};  // samples, in all gaps
  std::string item = "sample";           // what the recorded port counts
  std::atomic<bool> reached{false};
  std::atomic<bool> refused{false};  // the sink took no more: the disk is full

  /// The smaller of both limits at this rate; the largest number if there is none.
  std::int64_t at_rate(double rate_hz) const noexcept;
  /// `12 packets recorded in 5 messages, 3 gaps with 700 missing samples`
  std::string summary() const;
};

/// Throws UsageError if one of the files of a recording exists, unless they may be overwritten.
void refuse_existing(const char* command, const std::string& path, bool overwrite);

/// A sink that cuts its messages, [n] or [channel][n] with varying n, at exactly the limit, and discards later samples.
/// With a trigger, the limit is also reached after its last recording.
std::unique_ptr<SinkOptions> limit_sink(std::shared_ptr<SinkOptions> sink, std::shared_ptr<RecordingLimit> limit,
                                        const radio::trigger::Settings& trigger = {});

/// A source that ends once the limit is reached.
std::unique_ptr<SourceOptions> limit_source(std::unique_ptr<SourceOptions> source,
                                            std::shared_ptr<RecordingLimit> limit);

}  // namespace iqd
