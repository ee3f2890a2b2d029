// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "pipeline/watch/watch_outlet.hpp"

namespace iqd {

/// Copies symbols (as cf32) or LLRs and soft values (as f32) of a message: if it has more than are shown, those at equal
/// distances.
class PointWatch final : public WatchOutlet {
 public:
  static constexpr std::int64_t kMostSymbols = 4096;
  static constexpr std::int64_t kMostValues = 16384;

  PointWatch(const PortFormat& format, const Watchable& how, double per_second);

 private:
  bool copy(const Message& message, WatchCopy& into) noexcept override;

  const std::int64_t most_;
};

}  // namespace iqd
