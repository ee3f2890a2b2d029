// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/driver.hpp"
#include "base/log.hpp"

namespace iqd {

/// The radio thread's way to the source. Every call into the driver is watched, since it may never return; what the
/// driver throws is a failed source. One thread, except where it says so.
class SourceLink {
 public:
  SourceLink(std::string name, const SourceOptions& options, std::unique_ptr<Source> opened);

  /// What the stream was when it was opened first, with the clock of the last opening.
  const StreamInfo& info() const noexcept { return info_; }
  /// What the source says now; while it is open.
  StreamInfo now() const { return source_->info(); }
  bool is_open() const noexcept { return source_ != nullptr; }
  const SourceOptions& options() const noexcept { return *options_; }
  /// Opens it with these options from now on.
  void reopen_with(const SourceOptions& options) noexcept { options_ = &options; }

  Received receive(std::span<std::byte* const> into, std::int64_t most);
  /// Throws where the driver refuses; see Source::retune.
  std::optional<std::int64_t> retune(const SourceOptions& to);
  /// False where it cannot be opened yet, or came back as another stream.
  bool open_again();
  void close() noexcept;
  /// Looks whether a device that was not there can be seen now.
  bool came_back() noexcept;

  /// Notes why the source failed.
  Received failed(std::string why);
  void set_trouble(std::string why);
  void clear_trouble();
  /// Any thread: what went wrong last, while it is not streaming.
  std::string trouble() const;
  /// Any thread: how long the running call into the driver has taken so far; 0: there is none.
  std::int64_t in_call_ns() const noexcept;

 private:
  /// The time of a call counts from when `grace_ns` are over.
  template <class F> auto call(F f, std::int64_t grace_ns = 0) const;

  std::string name_;
  const SourceOptions* options_;
  std::unique_ptr<Source> source_;
  StreamInfo info_;
  bool is_there_ = true;  // as far as is known, while it is waited for
  mutable std::atomic<std::int64_t> call_began_ns_{0};
  mutable std::mutex trouble_mutex_;
  std::string trouble_;
  log::RateLimit failure_lines_;
};

}  // namespace iqd
