// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/awaited_annotations.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace iqd::radio {

void AwaitedAnnotations::add(const Trigger& trigger, std::int64_t item) {
  SigmfAnnotation annotation{item + trigger.first, trigger.items, std::string(trigger.reason), {}};
  annotation.comment = fmt::format("trigger {}", trigger.number);
  if (trigger.time_ns != 0) annotation.comment += " at " + format_iso_time(trigger.time_ns);
  awaited_.push_back(std::move(annotation));
}

std::vector<SigmfAnnotation> AwaitedAnnotations::take_complete(std::int64_t items) {
  std::vector<SigmfAnnotation> complete;
  while (!awaited_.empty() && awaited_.front().end() <= items) {
    complete.push_back(std::move(awaited_.front()));
    awaited_.pop_front();
  }
  return complete;
}

void AwaitedAnnotations::cut(std::int64_t items) {
  for (SigmfAnnotation& a : awaited_) a.sample_count = std::min(a.sample_count, items - a.sample_start);
  std::erase_if(awaited_, [](const SigmfAnnotation& a) { return a.sample_count <= 0; });
}

}  // namespace iqd::radio
