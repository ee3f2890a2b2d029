// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "config/fields.hpp"
#include "pipeline/stage/port_shape.hpp"
#include "signal/codes/word_code.hpp"
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

/// Whether each user's bits hold a word of the code, which may be none; reports it if not.
inline bool holds_words(const NomaFormat& format, const std::vector<SymbolMap>& maps,
                        const std::optional<WordCode>& code, const Section& section) {
  for (std::size_t u = 0; code && u < maps.size(); ++u)
    if (format.user_bits(maps[u]) < code->n()) {
      section.problem("code",
                      fmt::format("a word has {} bits, but user {} has only {} in a frame: use longer frames or "
                                  "another modulation",
                                  code->n(), u, format.user_bits(maps[u])));
      return false;
    }
  return true;
}

/// Reports what is wrong with the format to the section; returns true if nothing is.
inline bool check_format(const NomaFormat& format, const Section& section) {
  const auto fault = format.fault();
  if (fault) section.problem(fault->key, fault->what);
  return !fault;
}

/// Reports an input that does not hold the carriers of these frames; returns true if it does.
inline bool check_carriers(const NomaFormat& format, const PortShape& in, const Section& section) {
  if (in.axis == Axis::counted && in.item.size() == 3 && in.item[0].extent == format.air.symbols() &&
      in.item[1].extent == format.air.carriers)
    return true;
  section.problem("carriers",
                  fmt::format("input 'carriers' has to be [frame][symbol {}][carrier {}][rx]; it is {}: set "
                              "the same frame keys for ofdm_demod and this stage",
                              format.air.symbols(), format.air.carriers, in.text()));
  return false;
}

}  // namespace iqd::noma
