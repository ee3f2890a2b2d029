// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "radio/file/array_records.hpp"
#include "radio/file/growing_npy.hpp"
#include "radio/file/recording_names.hpp"

namespace iqd::radio {

/// Writes any port as an array that is valid at any moment. Its first dimension is the one that varies from message to
/// message (packets, frames, samples), or else counts messages; channels of samples become columns, [n][channel]. sc16
/// gets a last dimension `iq` of 2. The files beside it are ArrayRecords. When the disk is full, recording stops, which
/// is logged once, and `send` returns false from then on.
class ArraySink final : public Sink {
 public:
  /// Throws SetupError if a file cannot be created, or exists and must not be overwritten.
  ArraySink(const std::string& path, bool overwrite, const PortFormat& format, const RecordingLabels& labels = {});
  ~ArraySink() override;
  /// The memory and descriptors that one sink needs.
  static Need need(const std::string& path, const PortFormat& format);

  bool send(const Message& message) override;
  /// Throws SetupError if the end cannot be written.
  void finish() override;

 private:
  bool close();
  bool append(const Message& message);
  bool settle();
  bool stop();

  std::string path_;
  std::int64_t columns_;  // channels that become columns; 1: rows are written unchanged
  std::int64_t item_bytes_;
  GrowingNpy rows_;
  ArrayRecords records_;
  std::vector<std::byte> staging_;
  std::int64_t next_settle_ns_ = 0;  // steady clock
  bool stopped_ = false;
  bool finished_ = false;
};

}  // namespace iqd::radio
