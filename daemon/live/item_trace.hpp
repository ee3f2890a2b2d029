// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/live/trace.hpp"
#include "pipeline/watch/item_watch.hpp"

namespace iqd::live {

/// Facts of packets or frames.
class ItemTrace final : public Trace {
 public:
  ItemTrace(const WatchedPort& port, std::shared_ptr<ItemWatch> outlet);
  void show(const WatchCopy& copy, LiveHub& hub) override;

 private:
  const std::shared_ptr<ItemWatch> items_;
};

}  // namespace iqd::live
