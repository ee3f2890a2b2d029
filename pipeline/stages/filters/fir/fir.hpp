// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"
#include "signal/filters/polyphase.hpp"
#include "signal/filters/windows.hpp"

/// y(m) = sum over k = 0 … taps-1 of h(k) x((m D - k) / L), over those k for which the position is whole; D =
/// decimation and L = interpolation, 1 by default: y(m) = sum of h(k) x(m D - k). Filter is for L = 1; other L use
/// signal/filters/polyphase.hpp.
///
/// x   [row][n]  cf32 or f32   positions x_first …; before x_first it is zero
/// y   [row][m]  as x          positions y_first …; x has to reach to its last m D
/// Every y(m) depends only on its own inputs and on m, however the stream is cut: to the bit with `direct`, to 1e-6 of
/// x's rms with `fft`. A NaN or infinity spoils only the outputs whose sum includes it. Error below 1e-6 of x's rms
/// times the root of the sum of |h|^2. Keeps nothing between calls.
namespace iqd::fir {

enum class Type : std::uint8_t { low_pass, high_pass, band_pass, band_reject, rrc };
inline constexpr std::array<std::string_view, 5> kTypeNames{"low_pass", "high_pass", "band_pass", "band_reject", "rrc"};
inline std::span<const std::string_view> enum_names(Type) {
  return kTypeNames;
}

enum class Method : std::uint8_t { automatic, direct, fft };
inline constexpr std::array<std::string_view, 3> kMethodNames{"auto", "direct", "fft"};
inline std::span<const std::string_view> enum_names(Method) {
  return kMethodNames;
}

struct Design {
  Type type = Type::low_pass;
  std::optional<double> cutoff;
  std::optional<double> low;
  std::optional<double> high;
  std::optional<double> transition;
  Window window = Window::hamming;
  std::optional<double> attenuation;
  std::optional<double> beta;
  double gain = 1;
  std::optional<double> symbol_rate;
  double alpha = 0.35;
  std::int64_t ntaps = 0;

  void fields(FieldVisitor& visitor);
};

struct Config {
  std::vector<std::complex<double>> taps;
  bool designed = false;
  Design design;
  std::int64_t interpolation = 1;
  std::int64_t decimation = 1;
  Method method = Method::automatic;

  void fields(FieldVisitor& visitor);
};

/// The taps of a design at a sample rate. If it is not possible, adds problems and returns none.
std::vector<std::complex<double>> taps_of(const Design& design, double rate_hz, const Section& section);

/// The band that a filter passes, around `middle`, a frequency of its input with interpolation. Of real taps, which also
/// pass the band around -middle, it is the upper one.
struct PassBand {
  double middle_hz = 0;
  double half_hz = 0;  // from the middle to an edge; infinite: not known
};
/// Of a design: what it says. Of complex taps: around the mean frequency of their response. Of real taps: around 0.
PassBand pass_band(const Config& config, double rate_hz);

/// A prepared filter. Many threads may use it at once, each with its own scratch.
class Filter {
 public:
  virtual ~Filter() = default;
  virtual std::size_t scratch_bytes() const noexcept = 0;
  virtual void run(View<const cf32, 2> x, std::int64_t x_first, View<cf32, 2> y, std::int64_t y_first,
                   std::byte* scratch) const noexcept = 0;
  virtual void run(View<const float, 2> x, std::int64_t x_first, View<float, 2> y, std::int64_t y_first,
                   std::byte* scratch) const noexcept = 0;
};

/// Complex taps are for cf32 only: f32 uses the real parts.
std::unique_ptr<Filter> make_filter(std::span<const std::complex<double>> taps, std::int64_t decimation, Method method);
/// The faster method, as measured.
Method choose_method(std::span<const std::complex<double>> taps, std::int64_t decimation);

std::unique_ptr<Filter> make_direct(std::span<const std::complex<double>> taps, std::int64_t decimation);
std::unique_ptr<Filter> make_overlap_save(std::span<const std::complex<double>> taps, std::int64_t decimation);

/// The CUDA half.
struct CudaHalf {
  /// Complex taps are for cf32 only: f32 uses the real parts.
  std::unique_ptr<StageRun> (*make)(std::span<const std::complex<double>> taps, const Config& config, Element element);
  /// With interpolation.
  std::unique_ptr<StageRun> (*make_polyphase)(const PolyphaseTaps& taps, Element element);
};

}  // namespace iqd::fir
