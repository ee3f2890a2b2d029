// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/outlet.hpp"
#include "pipeline/engine/engine.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {

/// The numbers of a payload as in a pipeline file, `[1, 0.5-2j]`, or as one number; reading the text gives the same
/// bits. For cf32, f32, i64 and i32.
std::string numbers_text(Element element, std::span<const std::byte> payload);

/// The outlet for values that become a live key: keeps the last one until it is taken. The publisher thread sends,
/// another thread takes.
class ApplyOutlet final : public Outlet {
 public:
  ApplyOutlet(std::string port, LiveKey key, const PortFormat& format);

  /// Never waits for long, and releases the message at once.
  bool send(const Message& message, Lease lease, bool scarce) override;

  // The other thread.
  const std::string& port() const noexcept { return port_; }
  const LiveKey& key() const noexcept { return key_; }
  /// Messages of another size may come.
  void expect(const PortFormat& format);
  /// A value that differs from the last one that was set, as the YAML of the stage's keys; none if there is none, or if
  /// one was refused less than a second ago. The caller must report the outcome with `applied` or `refused`.
  std::optional<std::string> take(std::int64_t now_ns);
  void applied();
  /// Logs the reason if it differs from the last one in more than numbers. The same value is tried again when it comes again.
  void refused(const std::string& why, std::int64_t now_ns);
  /// The key was set from elsewhere: the next value is taken even if it is the same as the last.
  void forget();

  /// Values that were set and that were refused; any thread.
  const RouteCounts& settings() const noexcept { return settings_; }

 private:
  struct Value {
    Element element = Element::f32;
    std::vector<std::byte> bytes;
    friend bool operator==(const Value&, const Value&) = default;
  };

  const std::string port_;
  const LiveKey key_;
  std::mutex mutex_;  // of arrived_ and is_new_; held for a copy or a swap
  Value arrived_;     // has reserved room, so that the publisher does not allocate
  bool is_new_ = false;

  Value taken_;
  std::optional<Value> last_;  // the last value that was set
  std::int64_t not_before_ns_ = 0;
  std::string told_;  // the last logged reason of a refusal, without numbers
  RouteCounts settings_;
};

}  // namespace iqd
