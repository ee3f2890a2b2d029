// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/drivers.hpp"
#include "radio/nats/nats_options.hpp"

namespace iqd::radio {

DriverEntry nats_driver() {
  DriverEntry entry;
  entry.name = "nats";
  entry.summary = "messages that a NATS server stores, for another iqd or any program";
  entry.make_source = [] { return std::unique_ptr<SourceOptions>(std::make_unique<nats::NatsSourceOptions>()); };
  entry.make_sink = [] { return std::unique_ptr<SinkOptions>(std::make_unique<nats::NatsSinkOptions>()); };
  return entry;
}

}  // namespace iqd::radio
