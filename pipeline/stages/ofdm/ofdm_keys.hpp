// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "config/fields.hpp"
#include "pipeline/stage/port_shape.hpp"
#include "signal/formats/ofdm_format.hpp"

/// What the stages of the OFDM front end share: the keys that describe the frames. The defaults are two antennas in 5
/// MHz at 7.68 MS/s; four antennas in 20 MHz at 30.72 MS/s are {fft: 2048, carriers: 1200, prefix: 144, frame: 30720,
/// tx: 4}.
namespace iqd::ofdm {

/// The ranges are the widest that OfdmFormat::fault() allows.
inline void format_fields(FieldVisitor& v, OfdmFormat& format) {
  v.field("fft", format.fft, {.help = "FFT size of a symbol, a power of two", .low = 64, .high = 8192});
  v.field("carriers", format.carriers,
          {.help = "carriers in use, without the DC carrier; even", .low = 16, .high = 8190});
  v.field("prefix", format.prefix, {.help = "samples of the cyclic prefix", .low = 1, .high = 4096});
  v.field("frame", format.frame, {.help = "samples of a frame", .low = 195, .high = 1 << 20});
  v.field("tx", format.tx, {.help = "transmit antennas", .low = 1, .high = 8});
  v.field("pilot_every", format.pilot_every, {.help = "one in this many carriers is a pilot", .low = 2, .high = 8190});
  v.field("midambles", format.midambles,
          {.help = "symbols among the data that are known, to follow a channel that moves", .low = 0, .high = 4});
}

/// Whether a receiver's frames continue with the beginning of the next.
inline void tail_field(FieldVisitor& v, OfdmFormat& format) {
  v.field("tail", format.tail, {.help = "frames continue with the next one's synchronisation and training symbols"});
}

/// The bits of a point that each antenna sends; reports words that are not right.
inline std::optional<AntennaBits> modulation_of(const std::vector<std::string>& words, std::int64_t tx,
                                                const Section& section) {
  const auto bits = AntennaBits::of_words(words, tx);
  if (bits && bits->most() > 0) return bits;
  section.problem(
      "modulation",
      fmt::format("has to be qpsk, 16qam, 64qam, 256qam or silent, one for all {} antennas or one for each; "
                  "one of them has to send",
                  tx));
  return std::nullopt;
}

/// Where a receiver's window begins.
inline void window_field(FieldVisitor& v, OfdmFormat& format) {
  v.field("early", format.window,
          {.help = "samples inside the prefix by which the window begins before a symbol; -1: an eighth of the prefix",
           .low = -1,
           .high = 4096});
}
/// Reports a window that begins before the prefix; returns true if it does not.
inline bool check_window(const OfdmFormat& format, const Section& section) {
  if (format.window <= format.prefix) return true;
  section.problem("early", fmt::format("has to be at most the prefix, {}; it is {}", format.prefix, format.window));
  return false;
}

/// Reports what is wrong with the format to the section; true if nothing is.
inline bool check_format(const OfdmFormat& format, const Section& section) {
  const auto fault = format.fault();
  if (fault) section.problem(fault->key, fault->what);
  return !fault;
}

/// The same for the input that ofdm_demod makes.
inline bool check_carriers(const OfdmFormat& format, const PortShape& in, const Section& section) {
  const std::vector<Dim>& item = in.item;
  const std::int64_t symbols = format.symbols() + format.tail_symbols();
  if (in.axis == Axis::counted && item.size() == 3 && item[0].extent == symbols && item[1].extent == format.carriers)
    return true;
  section.problem("", fmt::format("input 'carriers' must be [frame][symbol {}][carrier {}][rx]; it is {}; set the same "
                                  "frame keys in ofdm_demod and in this stage",
                                  symbols, format.carriers, in.text()));
  return false;
}

}  // namespace iqd::ofdm
