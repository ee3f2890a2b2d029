// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "daemon/live/symbol_density.hpp"
#include "daemon/live/trace.hpp"

namespace iqd::live {

/// A constellation as a density.
class DensityTrace final : public Trace {
 public:
  DensityTrace(const WatchedPort& port, std::int64_t entry);
  void show(const WatchCopy& copy, LiveHub& hub) override;
  void succeed(const Trace& before) override;

 private:
  const std::int64_t entry_;
  Extent extent_;
};

/// A histogram of LLRs or soft values.
class ValueTrace final : public Trace {
 public:
  ValueTrace(const WatchedPort& port, std::int64_t entry);
  void show(const WatchCopy& copy, LiveHub& hub) override;
  void succeed(const Trace& before) override;

 private:
  const std::int64_t entry_;
  Extent extent_;
  std::vector<float> values_;
};

}  // namespace iqd::live
