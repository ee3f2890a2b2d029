// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/uhd/uhd_options.hpp"

#include <array>

#include "radio/plausible.hpp"

namespace iqd::radio::usrp {
namespace {

void check_built_in(const Section& section) {
  if (!is_built_in())
    section.problem("",
                    "this iqd was built without UHD; build it with libuhd-dev installed, or use `soapy` with "
                    "the UHD module (args driver=uhd)");
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
  RadioSettings::fields(v, "UHD device arguments, e.g. addr=192.168.10.2, or addr0=…,addr1=… for an array", receives);
  v.field("subdev", subdev, {.help = "UHD subdevice specification, e.g. A:0 B:0; default: the device's own"});
  v.field("clock_source", clock_source, {.help = "10 MHz reference: internal, external, gpsdo; default: unchanged"});
  v.field("time_source", time_source,
          {.help = "pulse per second (PPS): internal, external, gpsdo; default: unchanged"});
  v.field("lock_within", lock_within_s,
          {.help = "longest time for an external reference, the GPS and the oscillators to lock",
           .unit = Unit::seconds,
           .low = 0,
           .high = 3600});
  v.field("wire_format", wire_format, {.help = "sample format between host and radio; fewer bits allow a higher rate"});
  v.field("lo_offset", lo_offset_hz,
          {.help = "offset of the analogue oscillator from `frequency`, to move its carrier out of the band",
           .unit = Unit::hertz,
           .bare_low = kSlowestRadio});
  v.field("gain_profile", gain_profile,
          {.help = "how the device distributes `gain`, e.g. default, low_noise; default: unchanged"});
  if (receives) return v.field("start", start, {.help = "start immediately, or at a full second of the radio's clock"});
  v.field("power", power_dbm, {.help = "dBm at the antenna port, in place of `gain`; needs a calibrated device"});
  v.field("permitted_powers", permitted.powers_dbm,
          {.help = "highest `power` in dBm, one for all bands or one per band"});
  v.field("bursts", bursts, {.help = "one burst for all samples up to a gap, or one per message"});
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
  if (settings_.power_dbm && settings_.gain_db)
    section.problem("power", "also sets the gain; use `power` or `gain`, not both");
  check_transmitted(format, settings_, section);
}

std::unique_ptr<Sink> UhdSinkOptions::open(const PortFormat& format) const {
  Settings settings = settings_;
  if (settings.rate_hz <= 0) settings.rate_hz = format.item_rate_hz;
  return open_sink(settings, timing_, format.element);
}

}  // namespace iqd::radio::usrp
