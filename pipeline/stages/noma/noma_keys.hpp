// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/fields.hpp"
#include "signal/formats/noma_format.hpp"

/// The keys that say how NOMA frames are made up. The defaults are six users on 144 carriers, 15 kHz apart at
/// 30.72 MS/s.
namespace iqd::noma {

/// The ranges are the widest that NomaFormat::fault() allows.
inline void format_fields(FieldVisitor& v, NomaFormat& format) {
  v.field("fft", format.air.fft, {.help = "points of a symbol's transform, a power of two", .low = 64, .high = 8192});
  v.field("carriers", format.air.carriers,
          {.help = "carriers in use, without the middle one; even", .low = 16, .high = 8190});
  v.field("prefix", format.air.prefix, {.help = "samples of the cyclic prefix", .low = 1, .high = 4096});
  v.field("frame", format.air.frame, {.help = "samples of a frame", .low = 260, .high = 1 << 20});
  v.field("users", format.users, {.help = "who send at the same time", .low = 1, .high = NomaFormat::kMostUsers});
  v.field("training", format.training, {.help = "symbols of pilots", .low = 1, .high = 16131});
  v.field("pilots", format.pilots, {.help = "pilots that are used, of each user", .low = 1, .high = 1 << 20});
  v.field("data", format.data, {.help = "points of data that are used, of each user", .low = 1, .high = 1 << 20});
}

/// Tells the section what is wrong with the format; true where nothing is.
inline bool check_format(const NomaFormat& format, const Section& section) {
  const auto fault = format.fault();
  if (fault) section.problem(fault->key, fault->what);
  return !fault;
}

}  // namespace iqd::noma
