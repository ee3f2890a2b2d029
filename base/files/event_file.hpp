// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace iqd {

/// Wakes a thread that polls: readable from `set` until `take`. Any thread.
class EventFile {
 public:
  /// Throws SetupError if no descriptor is left.
  EventFile();
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  int file() const noexcept { return file_; }
  void set() const noexcept;
  /// Whether it was set since the last `take`. Does not wait.
  bool take() const noexcept;

 private:
  int file_;
};

}  // namespace iqd
