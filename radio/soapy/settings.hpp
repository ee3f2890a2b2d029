// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "radio/radio_settings.hpp"

namespace iqd::radio::soapy {

struct Settings : RadioSettings {
  StringMap settings;
  StringMap gains;
  bool agc = false;

  void fields(FieldVisitor& visitor, bool receives);
  RadioRequest request() const;
  /// Reports problems to the section.
  void check_gains(const Section& section) const;
};

/// Parses decibels, as `20` or `20 dB`; returns nothing for other texts.
std::optional<double> decibels(std::string_view text);

}  // namespace iqd::radio::soapy
