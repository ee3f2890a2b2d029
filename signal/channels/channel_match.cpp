// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/channels/channel_match.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

#include "signal/filters/fft_plan.hpp"
#include "signal/filters/windows.hpp"

namespace iqd {
namespace {

using Complex = std::complex<double>;

constexpr std::int64_t kSize = 2048;
constexpr std::size_t kPieces = 8;
constexpr double kTurn = 2 * std::numbers::pi;
constexpr std::int64_t kMiddle = 3;    // bins on either side of 0 Hz that are left out
constexpr double kEdge = 0.44;         // of the rate; receivers' filters are beyond
constexpr double kCoherent = 0.5;      // a bin with less is noise
constexpr std::size_t kWideBins = 24;  // as many coherent bins, so far apart, are not a tone
constexpr double kWideSpread = 0.003;  // of the rate, rms
constexpr double kMostWeight = 1e6;    // of a bin: limited by rounding, not noise

/// Spectra of two channels and their cross-spectrum, bin by bin.
struct Spectra {
  std::vector<double> a = std::vector<double>(kSize), b = a;
  std::vector<Complex> both = std::vector<Complex>(kSize);  // conj(a) b

  double coherence(std::size_t k) const {
    const double power = a[k] * b[k];
    return power > 0 ? std::norm(both[k]) / power : 0;
  }
  void add(const Spectra& other) {
    for (std::size_t k = 0; k < a.size(); ++k) {
      a[k] += other.a[k];
      b[k] += other.b[k];
      both[k] += other.both[k];
    }
  }
};

struct Free {
  void operator()(cf32* memory) const noexcept { ::operator delete[](memory, std::align_val_t(64)); }
};
using Bins = std::unique_ptr<cf32[], Free>;
Bins make_bins() {
  return Bins(static_cast<cf32*>(::operator new[](kSize * sizeof(cf32), std::align_val_t(64))));
}

/// Frequency of a bin, as a fraction of the rate.
double frequency_of(std::size_t k) {
  const auto bin = static_cast<double>(k);
  return (bin < kSize / 2 ? bin : bin - kSize) / kSize;
}

class Comparison {
 public:
  Comparison(std::span<const cf32> a, std::span<const cf32> b) : a_(a), b_(b) {
    for (const double v : make_window(Window::hann, kSize)) window_.push_back(static_cast<float>(v));
  }

  /// Spectra of eight parts of the time, with the second channel read `shift` samples later.
  std::array<Spectra, kPieces> spectra(std::int64_t shift) const {
    std::array<Spectra, kPieces> pieces;
    const std::int64_t begin = std::max<std::int64_t>(0, -shift);
    const std::int64_t samples = std::ssize(a_) - std::abs(shift), hop = kSize / 2;
    const std::int64_t frames = (samples - kSize) / hop + 1;
    for (std::int64_t f = 0; f < frames; ++f) {
      transform(a_.subspan(static_cast<std::size_t>(begin + f * hop), kSize), first_.get());
      transform(b_.subspan(static_cast<std::size_t>(begin + f * hop + shift), kSize), second_.get());
      Spectra& piece = pieces[static_cast<std::size_t>(f * static_cast<std::int64_t>(kPieces) / frames)];
      for (std::size_t k = 0; k < kSize; ++k) {
        const Complex one(first_[k]), other(second_[k]);
        piece.a[k] += std::norm(one);
        piece.b[k] += std::norm(other);
        piece.both[k] += std::conj(one) * other;
      }
    }
    return pieces;
  }

  /// Delay of the second channel in whole samples, from the maximum of the correlation of what is coherent.
  std::int64_t coarse_delay(const Spectra& s) const {
    for (std::size_t k = 0; k < kSize; ++k) {
      const double power = std::sqrt(s.a[k] * s.b[k]);
      first_[k] = power > 0 ? cf32(s.both[k] / power) : cf32{};
    }
    back_.run(first_.get(), second_.get());
    std::int64_t best = 0;
    for (std::int64_t n = 1; n < kSize; ++n)
      if (std::norm(second_[static_cast<std::size_t>(n)]) > std::norm(second_[static_cast<std::size_t>(best)]))
        best = n;
    return best < kSize / 2 ? best : best - kSize;
  }

 private:
  void transform(std::span<const cf32> x, cf32* bins) const {
    for (std::size_t n = 0; n < kSize; ++n) windowed_[n] = x[n] * window_[n];
    plan_.run(windowed_.get(), bins);
  }

  std::span<const cf32> a_, b_;
  std::vector<float> window_;
  FftPlan plan_{kSize}, back_{kSize, FftPlan::Direction::inverse};
  Bins windowed_ = make_bins(), first_ = make_bins(), second_ = make_bins();
};

Spectra sum_of(const std::array<Spectra, kPieces>& pieces) {
  Spectra sum;
  for (const Spectra& piece : pieces) sum.add(piece);
  return sum;
}

/// A usable bin, with its frequency and weight.
struct Witness {
  std::size_t bin;
  double frequency;
  double weight;  // inverse variance of its phase, up to a common factor
};

std::vector<Witness> witnesses_of(const Spectra& s) {
  std::vector<Witness> found;
  for (std::size_t k = 0; k < kSize; ++k) {
    const double f = frequency_of(k), c = s.coherence(k);
    if (c < kCoherent || std::fabs(f) > kEdge || std::fabs(f) * kSize <= kMiddle) continue;
    found.push_back({k, f, std::min(c / std::max(1 - c, 1e-12), kMostWeight)});
  }
  return found;
}

double weight_of(const std::vector<Witness>& all) {
  double sum = 0;
  for (const Witness& w : all) sum += w.weight;
  return sum;
}

bool is_wide(const std::vector<Witness>& all) {
  double mean = 0, square = 0;
  const double sum = weight_of(all);
  for (const Witness& w : all) mean += w.weight * w.frequency / sum;
  for (const Witness& w : all) square += w.weight * (w.frequency - mean) * (w.frequency - mean) / sum;
  return all.size() >= kWideBins && std::sqrt(square) > kWideSpread;
}

/// The line phase - 2 pi f delay, in radians, fitted to the bins.
struct Line {
  double phase = 0;
  double delay = 0;
};

Complex along(const Spectra& s, const std::vector<Witness>& all, double delay) {
  Complex sum = 0;
  for (const Witness& w : all)
    sum += w.weight * s.both[w.bin] / std::abs(s.both[w.bin]) * std::polar(1.0, kTurn * w.frequency * delay);
  return sum;
}

/// The best line by search in steps, then by least squares.
Line line_of(const Spectra& s, const std::vector<Witness>& all, bool wide) {
  Line line;
  if (wide)
    for (double d = -1.5; d <= 1.5; d += 1.0 / 32)
      if (std::abs(along(s, all, d)) > std::abs(along(s, all, line.delay))) line.delay = d;
  line.phase = std::arg(along(s, all, line.delay));
  for (int step = 0; step < (wide ? 3 : 1); ++step) {
    double n = 0, sf = 0, sff = 0, sr = 0, sfr = 0;
    for (const Witness& w : all) {
      const double rest = std::arg(s.both[w.bin] * std::polar(1.0, kTurn * w.frequency * line.delay - line.phase));
      n += w.weight;
      sf += w.weight * w.frequency;
      sff += w.weight * w.frequency * w.frequency;
      sr += w.weight * rest;
      sfr += w.weight * w.frequency * rest;
    }
    const double slope = wide ? (n * sfr - sf * sr) / (n * sff - sf * sf) : 0;
    line.phase += (sr - slope * sf) / n;
    line.delay -= slope / kTurn;
  }
  return line;
}

/// The total weight of the bins, as far as they lie on a line.
double agreement(const Spectra& s, const std::vector<Witness>& all) {
  return std::abs(along(s, all, line_of(s, all, is_wide(all)).delay));
}

double gain_db(const Spectra& s, const std::vector<Witness>& all) {
  double a = 0, b = 0;
  for (const Witness& w : all) {
    a += s.a[w.bin];
    b += s.b[w.bin];
  }
  return 10 * std::log10(b / a);
}

double deviation(const std::array<double, kPieces>& values) {
  double mean = 0, square = 0;
  for (const double v : values) mean += v / kPieces;
  for (const double v : values) square += (v - mean) * (v - mean) / (kPieces - 1);
  return std::sqrt(square);
}

double coherence_of(const Spectra& s, const std::vector<Witness>& all) {
  double sum = 0, power = 0, most = 0;
  for (const Witness& w : all) {
    const double p = std::sqrt(s.a[w.bin] * s.b[w.bin]);
    sum += p * s.coherence(w.bin);
    power += p;
  }
  if (power > 0) return sum / power;
  for (std::size_t k = 0; k < kSize; ++k)
    if (std::fabs(frequency_of(k)) * kSize > kMiddle) most = std::max(most, s.coherence(k));
  return most;
}

/// Derives the errors of the whole from the spread of its parts in time.
void judge(const std::array<Spectra, kPieces>& pieces, const std::vector<Witness>& all, const Line& whole,
           ChannelMatch& match) {
  std::array<double, kPieces> gains, phases, delays;
  for (std::size_t p = 0; p < kPieces; ++p) {
    const Line line = line_of(pieces[p], all, match.has_delay);
    gains[p] = gain_db(pieces[p], all);
    phases[p] = std::remainder(line.phase - whole.phase, kTurn) * 360 / kTurn;
    delays[p] = line.delay;
  }
  const double root = std::sqrt(static_cast<double>(kPieces));
  match.drift_deg = deviation(phases);
  match.gain_error_db = deviation(gains) / root;
  match.phase_error_deg = match.drift_deg / root;
  match.delay_error = match.has_delay ? deviation(delays) / root : 0;
}

}  // namespace

ChannelMatch match_channel(std::span<const cf32> reference, std::span<const cf32> x) {
  const Comparison comparison(reference, x);
  std::int64_t shift = 0;
  std::array<Spectra, kPieces> pieces = comparison.spectra(0);
  Spectra sum = sum_of(pieces);
  std::vector<Witness> all = witnesses_of(sum);
  if (const std::int64_t coarse = comparison.coarse_delay(sum); coarse != 0 && std::abs(coarse) <= kMatchFarthest + 1) {
    std::array<Spectra, kPieces> shifted = comparison.spectra(coarse);
    const Spectra other = sum_of(shifted);
    // For a tone every delay fits equally well; 0 is the simplest.
    if (std::vector<Witness> found = witnesses_of(other);
        is_wide(found) && agreement(other, found) > agreement(sum, all)) {
      shift = coarse;
      pieces = std::move(shifted);
      sum = other;
      all = std::move(found);
    }
  }
  ChannelMatch match;
  match.coherence = coherence_of(sum, all);
  if (all.empty()) return match;
  match.has_delay = is_wide(all);
  const Line line = line_of(sum, all, match.has_delay);
  match.gain_db = gain_db(sum, all);
  match.phase_deg = std::remainder(line.phase, kTurn) * 360 / kTurn;
  match.delay = match.has_delay ? static_cast<double>(shift) + line.delay : 0;
  judge(pieces, all, line, match);
  return match;
}

}  // namespace iqd
