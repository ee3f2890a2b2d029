// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "base/shape.hpp"

namespace iqd {

/// How the items of a port are spread over time.
enum class Axis : std::uint8_t {
  stream,   // at a fixed rational rate: [n], [frame][bin]
  counted,  // as many as were found in a block: [packet][symbol]
  block,    // at most one per block: [bin]
};

/// In `marks`: made from samples that were corrected by the source's calibration while it held.
inline constexpr std::string_view kCalibratedMark = "calibrated";

/// A port is an array [rows…][axis][item…]. Rows and item have fixed extents; the axis varies, and is not shown if it
/// is `block`.
///
/// Its place in the spectrum: samples of frequency f were on the air at frequency_hz + f, or - f if it is mirrored. Of
/// bins and channels, the dimension has the frequencies, as offsets from frequency_hz. Items that were found in samples
/// (packets, symbols, estimates) keep the place of these samples. A port that is not on the air (demodulated or
/// generated) has 0 Hz at 0 Hz, and stays there when the radio is retuned. Outputs begin with the first input's place,
/// so only stages that change it say so; a real stream that a stage makes of a complex one leaves the air by itself.
/// A live key may change frequency_hz and span_hz, and nothing else of a shape.
struct PortShape {
  Element element = Element::cf32;
  std::vector<Dim> rows;  // [channel], empty for one channel
  Axis axis = Axis::stream;
  std::string axis_name = "n";
  std::vector<Dim> item;      // [bin]; empty for scalars
  std::int64_t most = 1;      // counted: the largest count
  double rate_hz = 0;         // stream: items a second
  double frequency_hz = 0;    // the radio frequency of its 0 Hz; 0: not known, or not on the air
  double span_hz = 0;         // its band reaches half of it to each side of 0 Hz; 0: that of the rate
  bool mirrored = false;      // higher frequencies were lower ones on the air
  bool on_air = true;         // a retune of the radio moves frequency_hz
  double source_rate_hz = 0;  // samples a second at the source
  double llr_scale = 0;       // of integer LLRs: the value of 1
  /// What a stage tells later stages about the origin of its items; passed on with the shape.
  std::vector<std::string> marks;

  std::int64_t row_count() const noexcept;
  std::int64_t item_size() const noexcept;  // elements
  std::int64_t item_bytes() const noexcept { return item_size() * static_cast<std::int64_t>(size_of(element)); }
  std::string text() const;  // `cf32 [channel 2][n]`
  friend bool operator==(const PortShape&, const PortShape&) = default;

  /// Makes it a port of these elements and items; the axis and the rows stay.
  void hold(Element of, std::vector<Dim> dims);
  /// The same, with at most one item per block.
  void hold_per_block(Element of, std::vector<Dim> dims);
  /// Makes it a port that counts the items that are found in a block.
  void count_items(std::string name, std::int64_t at_most);
  /// Makes it a tally of these events.
  void tally(std::span<const std::string_view> events);

  /// The width of its band: span_hz, or else the rate; 0: not known.
  double band_hz() const noexcept { return span_hz > 0 ? span_hz : rate_hz; }
  /// Its 0 Hz is what was at `hz` before. Changes nothing if it is not on the air.
  void centre_on(double hz) noexcept { frequency_hz += on_air ? (mirrored ? -hz : hz) : 0; }
  /// Its band is at most this wide.
  void narrow_to(double hz) noexcept { span_hz = band_hz() > 0 ? std::min(band_hz(), hz) : hz; }
  /// It is demodulated or generated.
  void leave_air() noexcept;
  /// Another stream is added to it: it stays where both are. If one is not on the air, the other's place counts.
  void join(const PortShape& other);
  /// The dimension of `size` bins that a transform makes of this port's samples. `shifted`: bin size/2, rounded
  /// down, is 0 Hz; else bin 0 is, and the upper half are negative frequencies.
  Dim bins(std::int64_t size, bool shifted) const;
  /// The frequencies of entries that are at these offsets from its 0 Hz.
  Frequencies at(std::vector<double> offsets_hz) const;
};

}  // namespace iqd
