// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/stages/filters/fft/fft.hpp"

namespace iqd::fft {
namespace {

/// Frames that are transformed together. Measured with FFTW 3.3.10: 16 frames of 16 samples together are three times as
/// fast as one by one; from 64 samples on there is no gain. A frame's place in its batch follows from its index, so
/// that it always takes the same path through the same algorithm.
constexpr std::int64_t batch_of(std::int64_t size) {
  return size < 64 ? 16 : 1;
}

FftPlan::Direction direction(bool inverse) {
  return inverse ? FftPlan::Direction::inverse : FftPlan::Direction::forward;
}

}  // namespace

Transform::Transform(const Config& config)
    : size_(config.size),
      batch_(batch_of(config.size)),
      shift_before_(config.shift && config.inverse),
      shift_after_(config.shift && !config.inverse),
      plan_(config.size, direction(config.inverse), batch_) {
  if (config.window == Window::rectangular) return;
  const std::vector<double> w = make_window(config.window, size_, config.beta);
  window_.assign(w.begin(), w.end());
}

std::size_t Transform::scratch_bytes(std::int64_t size) noexcept {
  return FftRoom{batch_of(size) * size, Scratch(nullptr)}.scratch.bytes();
}

void Transform::run(View<const cf32, 2> x, std::int64_t x_first, View<cf32, 3> y, std::int64_t y_first,
                    std::byte* memory) const noexcept {
  const FftRoom room{batch_ * size_, Scratch(memory)};
  const std::int64_t end = y_first + y.extent(1);
  for (std::int64_t row = 0; row < y.extent(0); ++row)
    for (std::int64_t f = y_first; f < end;) {
      const std::int64_t skipped = f % batch_;
      const Frames frames{f, std::min(batch_ - skipped, end - f), skipped};
      run_batch(&x(row, f * size_ - x_first), &y(row, f - y_first, 0), frames, room.time, room.bins);
      f += frames.count;
    }
}

void Transform::run_batch(const cf32* x, cf32* y, const Frames& frames, cf32* time, cf32* bins) const noexcept {
  const bool full = frames.count == batch_;
  const bool in_place = full && window_.empty() && !shift_before_ && FftPlan::aligned(x);
  const bool out_in_place = full && !shift_after_ && FftPlan::aligned(y);
  if (!in_place) {
    if (!full) std::fill_n(time, batch_ * size_, cf32());
    for (std::int64_t i = 0; i < frames.count; ++i) load(x + i * size_, time + (frames.skipped + i) * size_);
  }
  plan_.run(in_place ? x : time, out_in_place ? y : bins);
  if (out_in_place) return;
  for (std::int64_t i = 0; i < frames.count; ++i) {
    const cf32* const from = bins + (frames.skipped + i) * size_;
    const std::int64_t middle = shift_after_ ? (size_ + 1) / 2 : 0;
    std::rotate_copy(from, from + middle, from + size_, y + i * size_);
  }
}

/// time = w x, with the second half first if shift_before_.
void Transform::load(const cf32* x, cf32* time) const noexcept {
  const std::int64_t middle = shift_before_ ? size_ / 2 : 0;
  if (window_.empty()) return static_cast<void>(std::rotate_copy(x, x + middle, x + size_, time));
  const float* const w = window_.data();
  for (std::int64_t n = middle; n < size_; ++n) time[n - middle] = {x[n].real() * w[n], x[n].imag() * w[n]};
  for (std::int64_t n = 0; n < middle; ++n) time[size_ - middle + n] = {x[n].real() * w[n], x[n].imag() * w[n]};
}

}  // namespace iqd::fft
