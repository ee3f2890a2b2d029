// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/driver.hpp"
#include "radio/file/array_facts.hpp"
#include "radio/file/growing_npy.hpp"

namespace iqd::radio {

/// Whether a path is that of a NumPy array: by its end.
bool is_npy(std::string_view path);
/// The files beside the array.
std::string messages_path(std::string_view path);
std::string facts_path(std::string_view path);

/// Writes any port as an array, valid at every moment. Its first dimension is the one that differs from message to
/// message (packets, frames, samples), or else counts messages; several channels of samples become columns,
/// [n][channel]. sc16 has a last dimension `iq` of 2. Beside it NAME.messages.npy has a record for each message: its
/// first row, how many, source sample, time and gap; NAME.json says what the numbers are. When the disk is full
/// recording ends, is logged once, and `send` is false from then on.
class ArraySink final : public Sink {
 public:
  /// Throws SetupError where a file cannot be made, or is there and is not to be overwritten.
  ArraySink(const std::string& path, bool overwrite, const PortFormat& format, const RecordingLabels& labels = {});
  ~ArraySink() override;
  /// What one takes of the host.
  static Need need(const std::string& path, const PortFormat& format);

  bool send(const Message& message) override;
  void finish() override;

 private:
  bool append(const Message& message);
  bool settle();
  bool stop();

  std::string path_;
  std::int64_t columns_;  // channels that are turned into columns; 1: rows are as they come
  std::int64_t item_bytes_;
  GrowingNpy rows_;
  GrowingNpy messages_;
  ArrayFacts facts_;
  std::vector<std::byte> staging_;
  std::int64_t next_settle_ns_ = 0;  // steady clock
  bool stopped_ = false;
  bool finished_ = false;
};

}  // namespace iqd::radio
