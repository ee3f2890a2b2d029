// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "base/driver.hpp"
#include "radio/file/sigmf.hpp"

namespace iqd::radio {

/// Annotations of triggers that wait for their samples, since they must not extend beyond the data. Items are counted
/// from the recording's first. One thread.
class AwaitedAnnotations {
 public:
  /// A trigger of the message whose first item has the number `item`.
  void add(const Trigger& trigger, std::int64_t item);
  void add(SigmfAnnotation annotation) { awaited_.push_back(std::move(annotation)); }
  /// Removes and returns those whose samples have all arrived, now that there are so many `items`.
  std::vector<SigmfAnnotation> take_complete(std::int64_t items);
  /// No more items follow: shortens the annotations, and drops those without any.
  void cut(std::int64_t items);

 private:
  std::deque<SigmfAnnotation> awaited_;
};

}  // namespace iqd::radio
