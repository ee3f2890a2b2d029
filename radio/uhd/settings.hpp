// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "radio/radio_settings.hpp"

namespace iqd::radio::usrp {

/// How samples travel between the radio and the host.
enum class WireFormat { sc16, sc12, sc8 };
std::span<const std::string_view> enum_names(WireFormat);

struct Settings : RadioSettings {
  std::string subdev;
  std::string clock_source;
  std::string time_source;
  WireFormat wire_format = WireFormat::sc16;

  void fields(FieldVisitor& visitor, bool receives);
};

}  // namespace iqd::radio::usrp
