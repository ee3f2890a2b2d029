// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "base/driver.hpp"
#include "pipeline/intake/call_watch.hpp"

namespace iqd {

/// A sink that is closed after it threw, and may be opened again. Calls into its driver are timed, since they may never
/// return. The sink's thread, except where noted.
class SinkLink {
 public:
  using Open = std::function<std::unique_ptr<Sink>()>;
  SinkLink(std::string name, std::unique_ptr<Sink> opened) : name_(std::move(name)), sink_(std::move(opened)) {}

  const std::string& name() const noexcept { return name_; }
  /// Throws whatever the driver throws.
  bool send(const Message& message);
  /// Finishes and destroys the sink; logs what it throws.
  void close() noexcept;
  /// Throws whatever `open` throws.
  void open(const Open& open);

  // Any thread.
  void interrupt() noexcept;
  /// Of all sinks so far.
  SinkCounts counts() const noexcept;
  /// Of the sink that is open.
  DeviceKeys device_keys() const;
  /// Nanoseconds that the current call has taken so far, opening and closing included; 0: there is none.
  std::int64_t in_call_ns() const noexcept { return calls_.running_ns(); }

 private:
  const std::string name_;
  CallWatch calls_;
  mutable std::mutex mutex_;  // of the pointer: one thread closes the sink while others use it
  std::unique_ptr<Sink> sink_;
  SinkCounts before_;  // counts of closed sinks
};

}  // namespace iqd
