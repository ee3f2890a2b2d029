// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/uhd_sink.hpp"

#include "radio/uhd/uhd_options.hpp"

namespace iqd::radio::usrp {

std::unique_ptr<Sink> open_sink(const Settings& settings, const Timing& timing, Element element) {
  return std::make_unique<UhdSink>(settings, timing, element);
}

}  // namespace iqd::radio::usrp
