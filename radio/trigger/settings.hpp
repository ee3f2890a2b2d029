// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/driver.hpp"

namespace iqd::radio::trigger {

/// When a sink gets part of its stream.
struct Settings {
  std::string when;  // a condition of the port
  std::string name;  // of an event
  double pre_s = 0;
  double post_s = 1;
  std::int64_t count = 0;
  double window_s = 0.001;

  bool given() const noexcept { return !when.empty() || !name.empty(); }
  void fields(FieldVisitor& visitor);
  /// Checks whether the trigger applies to a port; reports problems to the section.
  void check(const PortFormat& format, const Section& section) const;
  // In items of the port:
  std::int64_t pre(const PortFormat& format) const;
  std::int64_t post(const PortFormat& format) const;
  std::int64_t window(const PortFormat& format) const;
  /// How many items before the current ones a trigger may still concern: events arrive late.
  std::int64_t most_kept(const PortFormat& format) const;
  /// The memory for the samples before a trigger.
  Needs needs(const PortFormat& format) const;
  /// Puts a trigger before the sink; returns the sink itself if there is no trigger. `over` is called in the sink's
  /// thread when `count` recordings are done.
  std::unique_ptr<Sink> put_before(std::unique_ptr<Sink> sink, const PortFormat& format,
                                   std::function<void()> over = {}) const;
};

}  // namespace iqd::radio::trigger
