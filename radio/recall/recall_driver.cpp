// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/drivers.hpp"
#include "radio/recall/recall_sink.hpp"
#include "radio/recall/recall_source.hpp"

namespace iqd::radio {

DriverEntry recall_driver() {
  DriverEntry entry;
  entry.name = "recall";
  entry.summary = "the last samples of several streams of this process, aligned in time";
  entry.make_source = [] { return std::unique_ptr<SourceOptions>(std::make_unique<recall::RecallSourceOptions>()); };
  entry.make_sink = [] { return std::unique_ptr<SinkOptions>(std::make_unique<recall::RecallSinkOptions>()); };
  return entry;
}

}  // namespace iqd::radio
