// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "radio/radio_settings.hpp"

namespace iqd::radio::soapy {

struct Settings : RadioSettings {
  StringMap settings;

  void fields(FieldVisitor& visitor, bool receives) {
    RadioSettings::fields(visitor, "device arguments as Soapy programs take them, e.g. driver=iqdsim,scenario=tone",
                          receives);
    visitor.field("settings", settings, {.help = "the module's own settings, written after the device is open"});
  }
};

}  // namespace iqd::radio::soapy
