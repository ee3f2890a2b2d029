// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "daemon/http/service.hpp"

namespace iqd {

/// The plans as JSON, with their current rates.
class PlanView {
 public:
  /// Any thread. Rates are averages since an earlier call at least a second ago; the first call has none.
  std::string json(const Service& service);

 private:
  /// Counts at some time.
  struct Look {
    double uptime_s = 0;
    std::vector<PipelineStatus> statuses;
  };
  Look reference(const Service& service);

  std::mutex mutex_;
  Look older_;
  Look newer_;
};

}  // namespace iqd
