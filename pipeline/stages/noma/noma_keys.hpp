// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/fields.hpp"
#include "signal/formats/noma_format.hpp"

/// The keys of NOMA frames. The defaults are six users on 144 carriers, 15 kHz apart at 30.72 MS/s.
namespace iqd::noma {

/// The ranges are the widest that NomaFormat::fault() allows.
inline void format_fields(FieldVisitor& v, NomaFormat& format) {
  v.field("fft", format.air.fft, {.help = "FFT size of a symbol, a power of two", .low = 64, .high = 8192});
  v.field("carriers", format.air.carriers,
          {.help = "carriers in use, without the centre one; even", .low = 16, .high = 8190});
  v.field("prefix", format.air.prefix, {.help = "samples of the cyclic prefix", .low = 1, .high = 4096});
  v.field("frame", format.air.frame, {.help = "samples of a frame", .low = 260, .high = 1 << 20});
  v.field("users", format.users,
          {.help = "users that send at the same time", .low = 1, .high = NomaFormat::kMostUsers});
  v.field("training", format.training, {.help = "pilot symbols", .low = 1, .high = 16131});
  v.field("pilots", format.pilots, {.help = "pilots in use, per user", .low = 1, .high = 1 << 20});
  v.field("data", format.data, {.help = "data points in use, per user", .low = 1, .high = 1 << 20});
}

/// Reports what is wrong with the format to the section; returns true if nothing is.
inline bool check_format(const NomaFormat& format, const Section& section) {
  const auto fault = format.fault();
  if (fault) section.problem(fault->key, fault->what);
  return !fault;
}

}  // namespace iqd::noma
