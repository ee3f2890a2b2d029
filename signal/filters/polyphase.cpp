// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/polyphase.hpp"

#include <algorithm>

#include "base/integer.hpp"
#include "signal/filters/polyphase_kernel.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd {
namespace {

/// The first output at or after `input`.
std::int64_t first_output_at(const Ratio& ratio, std::int64_t input) {
  if (input <= 0) return 0;
  return input / ratio.down * ratio.up + ceil_div(input % ratio.down * ratio.up, ratio.down);
}

class Polyphase final : public PolyphaseFilter {
 public:
  Polyphase(const PolyphaseTaps& taps, bool complex)
      : shape_(taps),
        step_(complex ? 2 : 1),
        first_(each(taps.re)),
        second_(each(taps.between ? way_to_next_row(taps)
                     : complex    ? taps.im
                                  : std::vector<float>())) {
    shape_.re.clear();
    shape_.im.clear();
  }

  std::size_t scratch_bytes() const noexcept override {
    Scratch count(nullptr);
    count.take<float>(shape_.taps * step_);
    return count.bytes();
  }

  void run(View<const cf32, 2> x, std::int64_t x_first, View<cf32, 2> y, std::int64_t y_first,
           std::byte* scratch) const noexcept override {
    for (std::int64_t row = 0; row < y.extent(0); ++row) run_row(x.row(row), x_first, y.row(row), y_first, scratch);
  }
  void run(View<const float, 2> x, std::int64_t x_first, View<float, 2> y, std::int64_t y_first,
           std::byte* scratch) const noexcept override {
    for (std::int64_t row = 0; row < y.extent(0); ++row) run_row(x.row(row), x_first, y.row(row), y_first, scratch);
  }

 private:
  std::vector<float> each(const std::vector<float>& taps) const {
    std::vector<float> all;
    for (const float h : taps) all.insert(all.end(), static_cast<std::size_t>(step_), h);
    return all;
  }

  template <class T> void run_row(View<const T, 1> x, std::int64_t x_first, View<T, 1> y, std::int64_t y_first,
                                  std::byte* memory) const noexcept {
    // An output at input position p uses shape_.taps inputs from p + oldest on, counted in x.
    const std::int64_t oldest = -shape_.past() - x_first;
    const std::int64_t end = y_first + y.extent(0);
    const std::int64_t inner = std::clamp(first_output_at(shape_.ratio, -oldest), y_first, end);
    const std::int64_t beyond =
        std::clamp(first_output_at(shape_.ratio, x.extent(0) - shape_.taps + 1 - oldest), inner, end);
    T* const window = Scratch(memory).take<T>(shape_.taps);
    const auto one_by_one = [&](std::int64_t begin, std::int64_t behind) {
      for (std::int64_t m = begin; m < behind; ++m) {
        const PolyphasePlace place = place_of(shape_.ratio, m);
        copy_window(x, place.at + oldest, window);
        outputs(window, {0, place.phase}, &y(m - y_first), 1);
      }
    };
    one_by_one(y_first, inner);
    if (beyond > inner) {
      const PolyphasePlace place = place_of(shape_.ratio, inner);
      outputs(x.data(), {place.at + oldest, place.phase}, &y(inner - y_first), beyond - inner);
    }
    one_by_one(beyond, end);
  }

  template <class T> void outputs(const T* x, PolyphasePlace place, T* y, std::int64_t count) const noexcept {
    const PolyphaseRows rows{first_.data(),       second_.empty() ? nullptr : second_.data(),
                             shape_.taps * step_, shape_.rows,
                             shape_.short_from,   shape_.ratio,
                             shape_.between};
    polyphase_outputs(rows, step_ == 2, reinterpret_cast<const float*>(x), place, reinterpret_cast<float*>(y), count);
  }

  /// x(start …), zero outside of x.
  template <class T> void copy_window(View<const T, 1> x, std::int64_t start, T* window) const noexcept {
    for (std::int64_t j = 0; j < shape_.taps; ++j)
      window[j] = start + j >= 0 && start + j < x.extent(0) ? x(start + j) : T();
  }

  PolyphaseTaps shape_;  // without the taps
  std::int64_t step_;
  std::vector<float> first_;
  std::vector<float> second_;
};

}  // namespace

PolyphaseTaps polyphase_taps(std::span<const std::complex<double>> h, const Ratio& ratio) {
  PolyphaseTaps taps{.ratio = ratio, .rows = ratio.up, .taps = ceil_div(std::ssize(h), ratio.up)};
  const std::int64_t rest = std::ssize(h) % ratio.up;
  taps.short_from = rest == 0 ? ratio.up : rest;
  const bool complex = std::any_of(h.begin(), h.end(), [](auto tap) { return tap.imag() != 0; });
  const auto size = static_cast<std::size_t>(taps.rows * taps.taps);
  taps.re.resize(size);
  taps.im.resize(complex ? size : 0);
  for (std::int64_t k = 0; k < std::ssize(h); ++k) {
    const auto at = static_cast<std::size_t>((k % ratio.up + 1) * taps.taps - 1 - k / ratio.up);
    taps.re[at] = static_cast<float>(h[static_cast<std::size_t>(k)].real());
    if (complex) taps.im[at] = static_cast<float>(h[static_cast<std::size_t>(k)].imag());
  }
  return taps;
}

std::vector<float> way_to_next_row(const PolyphaseTaps& taps) {
  std::vector<float> way;
  for (std::size_t at = 0; at < static_cast<std::size_t>(taps.rows * taps.taps); ++at)
    way.push_back(taps.re[at + static_cast<std::size_t>(taps.taps)] - taps.re[at]);
  return way;
}

std::unique_ptr<PolyphaseFilter> make_polyphase_filter(const PolyphaseTaps& taps, bool complex) {
  return std::make_unique<Polyphase>(taps, complex);
}

}  // namespace iqd
