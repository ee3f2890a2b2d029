// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/driver.hpp"
#include "base/log.hpp"
#include "pipeline/intake/call_watch.hpp"
#include "pipeline/plan/positions.hpp"

namespace iqd {

/// The radio thread's access to the source. Every call into the driver is watched, since it may never return. If the
/// driver throws, the source has failed. One thread, except where noted.
class SourceLink {
 public:
  SourceLink(std::string name, const SourceOptions& options, std::unique_ptr<Source> opened, const BlockNeeds& needs);

  /// The stream as first opened, but with the clock of the last opening.
  const StreamInfo& info() const noexcept { return info_; }
  /// What it delivers, and which of it becomes results.
  const Excerpt& excerpt() const noexcept { return excerpt_; }
  /// What the source reports now; only while it is open.
  StreamInfo now() const { return source_->info(); }
  bool is_open() const noexcept { return source_ != nullptr; }
  const SourceOptions& options() const noexcept { return *options_; }
  /// Opens the source with these options from now on.
  void reopen_with(const SourceOptions& options) noexcept { options_ = &options; }

  Received receive(std::span<std::byte* const> into, std::int64_t most);
  /// Throws if the driver refuses; see Source::retune.
  std::optional<std::int64_t> retune(const SourceOptions& to);
  /// Returns false if it cannot be opened yet, or came back with another format or rate.
  bool open_again();
  void close() noexcept;
  /// Whether a device that was disconnected can be seen again.
  bool came_back() noexcept;

  /// Logs and keeps why the source failed.
  Received failed(std::string why);
  void set_trouble(std::string why);
  void clear_trouble();
  /// The source has changed its settings by itself.
  void was_retuned() { read_keys(); }
  /// Any thread: the settings of the open device; of other sources the rate and the frequency of their stream.
  DeviceKeys device_keys() const;
  /// Any thread: what went wrong last, while it is not streaming.
  std::string trouble() const;
  /// Any thread: how long the running call into the driver has taken so far; 0: there is none.
  std::int64_t in_call_ns() const noexcept { return calls_.running_ns(); }

 private:
  void set_device_keys(DeviceKeys keys);
  void read_keys();

  std::string name_;
  const SourceOptions* options_;
  std::unique_ptr<Source> source_;
  StreamInfo info_;
  bool is_there_ = true;  // as far as is known, while iqd waits for it
  CallWatch calls_;
  Excerpt excerpt_;
  mutable std::mutex told_mutex_;  // of what other threads may ask
  std::string trouble_;
  DeviceKeys device_keys_;
  log::RateLimit failure_lines_;
};

}  // namespace iqd
