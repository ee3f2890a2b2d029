// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/drivers.hpp"
#include "radio/zmq/options.hpp"

namespace iqd::radio {

DriverEntry zmq_driver() {
  DriverEntry entry;
  entry.name = "zmq";
  entry.summary = "samples over ZeroMQ to and from another iqd, srsRAN, OCUDU, GNU Radio, or any program";
  entry.make_source = [] { return std::unique_ptr<SourceOptions>(std::make_unique<zmq::ZmqSourceOptions>()); };
  entry.make_sink = [] { return std::unique_ptr<SinkOptions>(std::make_unique<zmq::ZmqSinkOptions>()); };
  return entry;
}

}  // namespace iqd::radio
