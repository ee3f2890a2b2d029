// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/backend.hpp"
#include "base/element.hpp"
#include "base/views.hpp"

/// Full convolution of many packets, each with its own filter or all with one:
///   y(b, i) = sum over k of h(b, k) x(b, i - k),   i = 0 … signal + taps - 2, x = 0 outside
/// and with a second filter g the same again, with y in place of x. Which method is fastest depends on shape and
/// device; there is no reliable rule, so `iqd tune --convolution` measures.
namespace iqd {

struct ConvolutionShape {
  std::int64_t signal = 1;  // samples of a packet
  std::int64_t taps = 1;    // of h
  std::int64_t second = 0;  // of g; 0: no g
  std::int64_t batch = 1;   // packets
  bool one_filter = false;  // one filter for all packets

  std::int64_t filters() const noexcept { return one_filter ? 1 : batch; }
  /// Taps of the single filter equivalent to both.
  std::int64_t all_taps() const noexcept { return second > 1 ? taps + second - 1 : taps; }
  std::int64_t outputs() const noexcept { return signal + all_taps() - 1; }
};
/// `12672x186x3104`, `12672x186+21x3104`; `12672x186x3104/1` with one filter for all.
std::string text_of(const ConvolutionShape& shape);
/// Throws UsageError.
ConvolutionShape convolution_shape(std::string_view text);

/// A method and its size: threads of a group, points of a transform; 0 if it has none.
struct ConvolutionChoice {
  std::string method;
  std::int64_t size = 0;
  friend bool operator==(const ConvolutionChoice&, const ConvolutionChoice&) = default;
};
/// `overlap 2048`
std::string text_of(const ConvolutionChoice& choice);

/// Rows of x and y are packets, up to `batch`; h has as many rows, or one; g, which may be empty, as many or one.
struct ConvolutionIo {
  View<const cf32, 2> x;  // [b][signal]
  View<const cf32, 2> h;  // [b or 0][taps]
  View<const cf32, 2> g;  // [b or 0][second]
  View<cf32, 2> y;        // [b][outputs]
};

/// A method prepared for one shape on one device. Values that are not finite in a packet or its filter may affect all
/// of that packet's outputs, but no other's.
class Convolver {
 public:
  virtual ~Convolver() = default;
  /// Device memory that it needs, aligned to 256.
  virtual std::size_t scratch_bytes() const noexcept = 0;
  /// Puts the work on the stream; on the CPU, does the work. One thread at a time.
  virtual void run(const ConvolutionIo& io, std::byte* scratch, StreamView stream) const noexcept = 0;
  /// Real additions and multiplications of a run.
  virtual double flops() const noexcept = 0;
  /// If not 0, rows of x, h, g and y have to be exactly this many samples apart and padded with zeros; rows of y are
  /// written whole.
  virtual std::int64_t padded_row() const noexcept { return 0; }
};

/// The result of `Backend::convolution`.
struct ConvolutionTable {
  /// All choices for this shape; each method's most promising size comes first.
  std::vector<ConvolutionChoice> (*choices)(const ConvolutionShape&);
  /// The choice if nothing was measured.
  ConvolutionChoice (*rule)(const ConvolutionShape&);
  /// Makes one of the choices on the current device. Throws SetupError; UsageError if it is not one of them.
  std::unique_ptr<Convolver> (*make)(const ConvolutionShape&, const ConvolutionChoice&);
};

/// Throws UsageError if the choice is not among `choices`.
void check_choice(const std::vector<ConvolutionChoice>& choices, const ConvolutionShape& shape,
                  const ConvolutionChoice& choice);

/// How a packet's outputs are cut into circular convolutions of `size` points: each begins `step` after the last, and
/// `skip` points before its first result, since the wrap-around spoils those. A transform that holds all outputs spoils
/// none.
/// Point n of segment s reads x(s step - skip + n) and, from n = skip on, gives y of the same index.
struct Segments {
  std::int64_t size;
  std::int64_t skip;
  std::int64_t step;
  std::int64_t count;
};
/// `size` is at least the number of taps of both filters.
Segments segments_of(const ConvolutionShape& shape, std::int64_t size) noexcept;

/// Usual counts: 8 for a multiply-add, 5 N log2 N for a transform.
double direct_flops(const ConvolutionShape& shape, std::int64_t taps) noexcept;
double segment_flops(const ConvolutionShape& shape, const Segments& segments) noexcept;

}  // namespace iqd
