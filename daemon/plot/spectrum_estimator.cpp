// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/plot/spectrum_estimator.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace iqd::plot {
namespace {

spectrum::Config config_of(std::int64_t size) {
  spectrum::Config config;
  config.size = size;
  config.window = Window::blackman_harris;
  return config;
}

}  // namespace

SpectrumEstimator::SpectrumEstimator(std::int64_t size)
    : spectrum_(config_of(size)),
      scratch_(spectrum::Spectrum::scratch_bytes(size)),
      db_(static_cast<std::size_t>(size)),
      power_(static_cast<std::size_t>(size)) {}

void SpectrumEstimator::add(std::span<const cf32> samples) {
  rest_.insert(rest_.end(), samples.begin(), samples.end());
  const auto length = std::ssize(rest_);
  const View<const cf32, 2> x(rest_.data(), {1, length}, length);
  const View<float, 2> y(db_.data(), {1, size()}, size());
  const std::int64_t frames = spectrum_.run(x, 0, 0, length, y, scratch_.data());
  if (frames == 0) return;
  for (std::size_t k = 0; k < power_.size(); ++k)
    power_[k] += static_cast<double>(frames) * std::pow(10.0, static_cast<double>(db_[k]) / 10);
  frames_ += frames;
  rest_.erase(rest_.begin(), rest_.begin() + frames * size());
}

std::vector<float> SpectrumEstimator::take() {
  if (frames_ == 0) return {};
  std::vector<float> mean(power_.size());
  for (std::size_t k = 0; k < mean.size(); ++k)
    mean[k] = static_cast<float>(10 * std::log10(std::max(power_[k] / static_cast<double>(frames_), 1e-20)));
  std::ranges::fill(power_, 0.0);
  frames_ = 0;
  return mean;
}

std::int64_t transform_size(std::int64_t samples, std::int64_t most) {
  const std::int64_t wanted = std::clamp<std::int64_t>(samples / 8, 16, most);
  return static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::min(wanted, std::max<std::int64_t>(samples, 1)))));
}

}  // namespace iqd::plot
