// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/driver.hpp"
#include "radio/file/sigmf.hpp"

namespace iqd::radio {

/// Decides where the recording of a stream needs a new capture: at its first item, at gaps, at retunes, and where a
/// stage has moved the frequency. Items are counted from the recording's first, source samples from the start of the stream. One thread.
class CaptureLog {
 public:
  explicit CaptureLog(const PortFormat& format);

  /// Takes a retune that the message reports.
  void note_retune(const Message& message) noexcept;
  /// How many items of the message were taken before the retune that no capture shows yet.
  std::int64_t items_before_retune(const Message& message) const noexcept;
  /// The capture that the items before the retune need, if any. It has the previous tuning. `item` is the number of the
  /// message's first item.
  std::optional<SigmfCapture> before_retune(const Message& message, std::int64_t item);
  /// The capture that the message's items from `first` on need, if any. The first of them has the number `item`.
  std::optional<SigmfCapture> after_retune(const Message& message, std::int64_t first, std::int64_t item);

 private:
  bool is_needed(const Message& message, std::int64_t item) const noexcept;
  SigmfCapture begin(const Message& message, std::int64_t first, std::int64_t item, double frequency_hz);
  std::int64_t global_index(const Message& message, std::int64_t first, std::int64_t item);

  double item_rate_hz_;
  double period_;  // source samples per item
  bool started_ = false;
  double frequency_hz_ = 0;        // of the last capture
  double origin_ = 0;              // source sample of its first item…
  std::int64_t origin_item_ = 0;   // …and the item's number
  std::int64_t origin_index_ = 0;  // and its core:global_index
  SampleIndex tuned_ = -1;         // sample of a retune that no capture shows yet; or -1
  double was_at_hz_ = 0;           // frequency before that retune
  std::int64_t index_offset_ = 0;  // offset from the source's index to core:global_index
};

}  // namespace iqd::radio
