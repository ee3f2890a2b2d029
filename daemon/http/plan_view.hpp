// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "daemon/http/service.hpp"

namespace iqd {

/// The plans as JSON, with what flows through them now.
class PlanView {
 public:
  /// Any thread may call. Rates are those since the look before last that was at least a second ago; at first there are
  /// none.
  std::string json(const Service& service);

 private:
  /// What has passed until some time.
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
