// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "radio/radio_settings.hpp"

namespace iqd::radio::usrp {

/// Sample format between the radio and the host.
enum class WireFormat { sc16, sc12, sc8 };
std::span<const std::string_view> enum_names(WireFormat);

/// When a receiver starts: immediately, or at a full second of its clock.
enum class Start { at_once, second };
std::span<const std::string_view> enum_names(Start);

/// What a transmitter sends as one burst: everything up to a gap, or each message.
enum class Bursts { stream, message };
std::span<const std::string_view> enum_names(Bursts);

struct Settings : RadioSettings {
  std::string subdev;
  std::string clock_source;
  std::string time_source;
  double lock_within_s = 5;
  WireFormat wire_format = WireFormat::sc16;
  double lo_offset_hz = 0;
  std::string gain_profile;
  Start start = Start::at_once;    // of a receiver
  Bursts bursts = Bursts::stream;  // of a transmitter

  void fields(FieldVisitor& visitor, bool receives);
  RadioRequest request() const;
};

}  // namespace iqd::radio::usrp
