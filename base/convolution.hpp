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

/// Convolution of many packets, each with a filter of its own or all with one, in full:
///   y(b, i) = sum over k of h(b, k) x(b, i - k),   i = 0 … signal + taps - 2, x = 0 outside
/// and with a second filter g the same again, y in the place of x. Which method is quickest depends on the shape and on
/// the device: no rule holds, so `iqd tune --convolution` measures.
namespace iqd {

struct ConvolutionShape {
  std::int64_t signal = 1;  // samples of a packet
  std::int64_t taps = 1;    // of h
  std::int64_t second = 0;  // of g; 0: there is no g
  std::int64_t batch = 1;   // packets
  bool one_filter = false;  // for all packets

  std::int64_t filters() const noexcept { return one_filter ? 1 : batch; }
  /// Taps of the one filter that does what both do.
  std::int64_t all_taps() const noexcept { return second > 1 ? taps + second - 1 : taps; }
  std::int64_t outputs() const noexcept { return signal + all_taps() - 1; }
};
/// `12672x186x3104`, `12672x186+21x3104`; `12672x186x3104/1` where one filter serves all.
std::string text_of(const ConvolutionShape& shape);
/// Throws UsageError.
ConvolutionShape convolution_shape(std::string_view text);

/// A method and its size: threads of a group, points of a transform; 0 where it has none.
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

/// A method made ready for one shape on one device. What is not finite in a packet or its filter may spoil all of that
/// packet's outputs, and no other's.
class Convolver {
 public:
  virtual ~Convolver() = default;
  /// Of the device's memory, aligned to 256.
  virtual std::size_t scratch_bytes() const noexcept = 0;
  /// Puts the work on the stream; on the processor this is the work. For one thread at a time.
  virtual void run(const ConvolutionIo& io, std::byte* scratch, StreamView stream) const noexcept = 0;
  /// Real additions and multiplications of a run.
  virtual double flops() const noexcept = 0;
  /// Where it is not 0, rows of x, h, g and y have to be exactly so many samples apart, zero behind what they hold, and
  /// those of y are written whole.
  virtual std::int64_t padded_row() const noexcept { return 0; }
};

/// What `Backend::convolution` gives.
struct ConvolutionTable {
  /// All that can be done with this shape; of each method the size comes first that it is best tried with.
  std::vector<ConvolutionChoice> (*choices)(const ConvolutionShape&);
  /// What to take where nothing was measured.
  ConvolutionChoice (*rule)(const ConvolutionShape&);
  /// One of the choices, on the device that is current. Throws SetupError; UsageError where it is none of them.
  std::unique_ptr<Convolver> (*make)(const ConvolutionShape&, const ConvolutionChoice&);
};

/// The method at this size; throws UsageError where it is not among the choices.
void check_choice(const std::vector<ConvolutionChoice>& choices, const ConvolutionShape& shape,
                  const ConvolutionChoice& choice);

/// How a packet's outputs are cut into circular convolutions of `size` points: each begins `step` behind the last and
/// `skip` before its first result, which the wrap has spoilt; a transform that holds all outputs spoils none.
/// Point n of segment s reads x(s step - skip + n) and, from n = skip on, gives y of the same index.
struct Segments {
  std::int64_t size;
  std::int64_t skip;
  std::int64_t step;
  std::int64_t count;
};
/// `size` is at least the taps of both filters.
Segments segments_of(const ConvolutionShape& shape, std::int64_t size) noexcept;

/// As usually counted: 8 a product with its sum, 5 N log2 N a transform.
double direct_flops(const ConvolutionShape& shape, std::int64_t taps) noexcept;
double segment_flops(const ConvolutionShape& shape, const Segments& segments) noexcept;

}  // namespace iqd
