// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/uhd_options.hpp"

#include <array>

namespace iqd::radio::usrp {
namespace {

void check_built_in(const Section& section) {
  if (!is_built_in())
    section.problem("",
                    "this iqd was built without UHD; build it where libuhd-dev is installed, or use `soapy` with "
                    "the module for UHD (args driver=uhd)");
}

}  // namespace

std::span<const std::string_view> enum_names(WireFormat) {
  static constexpr std::array<std::string_view, 3> kNames{"sc16", "sc12", "sc8"};
  return kNames;
}

std::span<const std::string_view> enum_names(Start) {
  static constexpr std::array<std::string_view, 2> kNames{"at_once", "second"};
  return kNames;
}

std::span<const std::string_view> enum_names(Bursts) {
  static constexpr std::array<std::string_view, 2> kNames{"stream", "message"};
  return kNames;
}

void Settings::fields(FieldVisitor& v, bool receives) {
  RadioSettings::fields(
      v, "device arguments as UHD's programs take them, e.g. addr=192.168.10.2, or addr0=…,addr1=… for an array",
      receives);
  v.field("subdev", subdev, {.help = "front ends, as UHD writes them, e.g. A:0 B:0; the device's own if not given"});
  v.field("clock_source", clock_source,
          {.help = "the 10 MHz reference: internal, external, gpsdo; left as it is if not given"});
  v.field("time_source", time_source,
          {.help = "the pulse a second: internal, external, gpsdo; left as it is if not given"});
  v.field(
      "lock_within", lock_within_s,
      {.help = "how long a reference or GPS from outside and the oscillators may take to lock before it is an error",
       .unit = Unit::seconds,
       .low = 0,
       .high = 3600});
  v.field("wire_format", wire_format,
          {.help = "how samples travel between host and radio; fewer bits let more of them through"});
  v.field("lo_offset", lo_offset_hz,
          {.help = "how far the analogue oscillator is tuned from `frequency`, to have its carrier out of the way",
           .unit = Unit::hertz});
  v.field("gain_profile", gain_profile,
          {.help = "how the device shares `gain` out, e.g. default, low_noise; left as it is if not given"});
  if (receives)
    return v.field("start", start, {.help = "begin as soon as it can, or at a full second of the radio's clock"});
  v.field("power", power_dbm, {.help = "dBm at the antenna port, of calibrated devices, in place of `gain`"});
  v.field("permitted_powers", permitted.powers_dbm,
          {.help = "dBm, the highest `power`, one for all bands or one for each"});
  v.field("bursts", bursts, {.help = "what is one burst: all that comes without a gap, or each message"});
}

RadioRequest Settings::request() const {
  RadioRequest request = RadioSettings::request();
  request.wire_bytes = wire_format == WireFormat::sc8 ? 2 : wire_format == WireFormat::sc12 ? 3 : 4;
  return request;
}

void UhdSourceOptions::fields(FieldVisitor& v) {
  settings_.fields(v, true);
  reception_.fields(v);
}

StreamInfo UhdSourceOptions::describe(const Section& section) const {
  check_built_in(section);
  return reception_.describe(settings_, section);
}

std::optional<RadioRequest> UhdSourceOptions::radio() const {
  RadioRequest request = settings_.request();
  request.resample = reception_.resample;
  return request;
}

std::unique_ptr<Source> UhdSourceOptions::open() const {
  Settings settings = settings_;
  settings.accept_rate = settings.accept_rate || reception_.resample;
  return open_source(settings, reception_.element());
}

bool UhdSourceOptions::is_there() const {
  return can_be_opened(settings_.args);
}

void UhdSinkOptions::fields(FieldVisitor& v) {
  settings_.fields(v, false);
  timing_.fields(v);
}

void UhdSinkOptions::check(const PortFormat& format, const Section& section) const {
  check_built_in(section);
  if (settings_.power_dbm && settings_.gain_db) section.problem("power", "sets the gain as well: choose one of both");
  check_transmitted(format, settings_, section);
}

std::unique_ptr<Sink> UhdSinkOptions::open(const PortFormat& format) const {
  Settings settings = settings_;
  if (settings.rate_hz <= 0) settings.rate_hz = format.item_rate_hz;
  return open_sink(settings, timing_, format.element);
}

}  // namespace iqd::radio::usrp
