// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/drivers.hpp"
#include "radio/uhd/uhd_options.hpp"

namespace iqd::radio {

DriverEntry uhd_driver() {
  DriverEntry entry;
  entry.name = "uhd";
  entry.summary = usrp::is_built_in() ? "USRPs of Ettus Research, one or several in step"
                                      : "USRPs; not available: this iqd was built without UHD";
  entry.other_names = "usrp ettus b200 b210 n210 n310 x310";
  entry.make_source = [] { return std::unique_ptr<SourceOptions>(std::make_unique<usrp::UhdSourceOptions>()); };
  entry.make_sink = [] { return std::unique_ptr<SinkOptions>(std::make_unique<usrp::UhdSinkOptions>()); };
  if (usrp::is_built_in()) entry.probe = &usrp::probe;
  return entry;
}

}  // namespace iqd::radio
