// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/ofdm/mimo_channel_estimator/whitened_channel.hpp"

#include <algorithm>
#include <cmath>

#include "pipeline/stages/complex.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/triangle.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/ofdm/mimo_channel_estimator/whitened_channel.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::mimo_channel_estimator::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// to[row][i] = sum over k of phi[row][k] parts[k][i], for `floats` numbers of a row.
void combine_functions(const float* phi, std::int64_t rows, std::int64_t functions, const float* parts,
                       std::int64_t floats, float* to) {
  const hn::CappedTag<float, 8> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t row = 0; row < rows; ++row, phi += functions, to += floats) {
    std::int64_t i = 0;
    for (; i + lanes <= floats; i += lanes) {
      auto sum = hn::Zero(d);
      for (std::int64_t k = 0; k < functions; ++k)
        sum = hn::MulAdd(hn::Set(d, phi[k]), hn::LoadU(d, parts + k * floats + i), sum);
      hn::StoreU(sum, d, to + i);
    }
    for (; i < floats; ++i) {
      to[i] = 0;
      for (std::int64_t k = 0; k < functions; ++k) to[i] += phi[k] * parts[k * floats + i];
    }
  }
}

}  // namespace iqd::mimo_channel_estimator::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::mimo_channel_estimator {

HWY_EXPORT(combine_functions);

namespace {

using dsp::energy;
using dsp::product;

double median(double* values, int count) {
  const auto middle = values + count / 2;
  std::nth_element(values, middle, values + count);
  return count % 2 ? *middle : 0.5 * (*middle + *std::max_element(values, middle));
}

Covariance identity(int order) {
  Covariance one;
  for (int i = 0; i < order; ++i) one.re[i][i] = 1;
  return one;
}

}  // namespace

WhitenedChannel::WhitenedChannel(const Design& design, Scratch& scratch)
    : design_(design),
      e_(design.extents),
      white_(scratch.take<cf32>(std::int64_t{e_.all_symbols()} * e_.row())),
      power_(scratch.take<double>(std::int64_t{stretches()} * e_.rx)),
      strength_(scratch.take<double>(stretches())),
      sorted_(scratch.take<double>(std::max(stretches(), e_.groups()))),
      weights_(scratch.take<float>(e_.carriers)),
      covariance_(scratch.take<Covariance>(e_.groups())),
      filter_(scratch.take<Covariance>(e_.groups())),
      y_(scratch.take<cf32>(std::int64_t{most_group()} * e_.rx)),
      parts_(scratch.take<cf32>(std::int64_t{most_group()} * functions() * e_.pairs())),
      moved_(scratch.take<cf32>(std::int64_t{e_.times()} * e_.pairs())),
      counts_(scratch.take<double>(e_.groups())),
      back_(scratch.take<cf32>(e_.behind())) {
  if (design.track == Track::frame)
    tracker_.emplace(design, scratch);
  else
    held_.emplace(design, scratch);
  if (design.soft_bits > 0) soft_.emplace(design, scratch);
}

void WhitenedChannel::run(const cf32* frame, const Decoded& data, const Estimates& out) noexcept {
  find_antennas(frame);
  judge_stretches(frame);
  whiten_band(frame);
  known_ = data.llr ? &*soft_ : nullptr;
  if (known_) soft_->read(data);
  if (tracker_)
    tracker_->estimate(white_, weighted_ ? weights_ : nullptr, antennas_, known_);
  else
    held_->estimate(white_);
  for (int s = 0; s < e_.behind(); ++s) back_[s] = {std::cos(phases()[s]), -std::sin(phases()[s])};
  if (whitens_groups()) whiten_groups();
  write(out);
}

void WhitenedChannel::find_antennas(const cf32* frame) noexcept {
  antennas_ = 0;
  for (int r = 0; r < e_.rx; ++r) {
    double sum = 0;
    for (int t = 0; t < e_.tx; ++t)
      for (int c = 0; c < e_.carriers; ++c) sum += energy(frame[std::int64_t{1 + t} * e_.row() + c * e_.rx + r]);
    least_[r] = (tracker_ ? kLeastTracked : kLeastNoise) * sum / (e_.tx * e_.carriers);
    alive_[r] = sum > kLeastPower * e_.tx * e_.carriers;
    antennas_ += alive_[r];
  }
}

/// Finds the stretches of carriers beside a tone, by the empty carriers of the synchronisation symbol, and what the
/// others weigh in sums.
void WhitenedChannel::judge_stretches(const cf32* frame) noexcept {
  weighted_ = false;
  std::fill_n(weights_, e_.carriers, 1.0f);
  if (design_.whiten == Whiten::off) return;
  const int all = stretches();
  for (int n = 0; n < all; ++n) {
    strength_[n] = 0;
    for (int r = 0; r < e_.rx; ++r) {
      double& sum = power_[n * e_.rx + r] = 0;
      for (int i = n * kStretch; i < end_of(n); ++i)
        sum += energy(frame[design_.odd[static_cast<std::size_t>(i)] * e_.rx + r]);
      sum /= end_of(n) - n * kStretch;
    }
  }
  for (int r = 0; r < e_.rx; ++r) {
    for (int n = 0; n < all; ++n) sorted_[n] = power_[n * e_.rx + r];
    const double usual = median(sorted_, all);
    for (int n = 0; n < all && usual > 0; ++n) strength_[n] += power_[n * e_.rx + r] / usual;
  }
  std::copy_n(strength_, all, sorted_);
  const double usual = median(sorted_, all);
  for (int n = 0; n < all; ++n) {
    if (!(strength_[n] > kMostStrength * usual)) continue;
    const std::int32_t begin = n == 0 ? 0 : at(design_.odd, n * kStretch);
    const std::int32_t end = n + 1 < all ? at(design_.odd, (n + 1) * kStretch) : e_.carriers;
    std::fill(weights_ + begin, weights_ + end, static_cast<float>(usual / strength_[n]));
    weighted_ = true;
  }
}

/// The covariance of the whole band's noise, and the frame in its units.
void WhitenedChannel::whiten_band(const cf32* frame) noexcept {
  band_ = {};
  int count = 0;
  for (const std::int32_t c : design_.odd) {
    if (weights_[c] != 1) continue;
    float re[kMostAntennas], im[kMostAntennas];
    for (int r = 0; r < e_.rx; ++r) re[r] = frame[c * e_.rx + r].real(), im[r] = frame[c * e_.rx + r].imag();
    band_.add(re, im, e_.rx);
    ++count;
  }
  set_band(band_, alive_, least_, count, e_.rx, antennas_, design_.whiten != Whiten::off);
  level_ = band_.trace(e_.rx) / e_.rx;
  root_ = band_;
  take_root(root_, e_.rx);
  Covariance inverse = root_;
  invert_root(inverse, e_.rx);
  interference_ = common_power(band_, inverse, e_.rx);
  const Triangle front(inverse, e_.rx, 1);
  for (std::int64_t s = 0; s < e_.all_symbols(); ++s)
    front.apply(frame + s * e_.row(), e_.row(), white_ + s * e_.row());
}

/// The channel of a carrier in symbols 1 … `times`: [symbol][rx][tx], or one of all if it stands still.
const cf32* WhitenedChannel::channel_at(int c, int times) noexcept {
  const FrameChannel h = channel();
  const cf32* const parts = h.parts + std::int64_t{c} * h.functions * e_.pairs();
  if (!h.phi) return parts;
  HWY_DYNAMIC_DISPATCH(combine_functions)
  (h.phi, times, h.functions, reinterpret_cast<const float*>(parts), 2 * e_.pairs(), reinterpret_cast<float*>(moved_));
  return moved_;
}

/// The sum over what is left of a group's known places when the channel is taken away, and their number.
Covariance WhitenedChannel::residuals_of(int group, double& count) noexcept {
  const std::int64_t step = channel().phi ? e_.pairs() : 0;
  Covariance sum;
  count = 0;
  const auto add = [&](const cf32* y) {
    float re[kMostAntennas], im[kMostAntennas];
    for (int r = 0; r < e_.rx; ++r) re[r] = y[r].real(), im[r] = y[r].imag();
    sum.add(re, im, e_.rx);
    ++count;
  };
  /// What is left of y, turned by `turn`, when `sent` is taken away behind the channel h.
  const auto add_known = [&](const cf32* y, cf32 turn, const cf32* h, const auto& sent) {
    cf32 x[kMostAntennas], left[kMostAntennas];
    for (int a = 0; a < e_.tx; ++a) x[a] = sent(a);
    for (int r = 0; r < e_.rx; ++r) {
      cf32 expected = 0;
      for (int a = 0; a < e_.tx; ++a) expected += product(*h++, x[a]);
      left[r] = product(y[r], turn) - expected;
    }
    add(left);
  };
  const int end = std::min((group + 1) * e_.group, e_.carriers);
  for (int c = group * e_.group; c < end; ++c) {
    const float training = design_.training[static_cast<std::size_t>(c)];
    const int place = design_.place[static_cast<std::size_t>(c)];
    const bool knows_more = place < 0 || e_.midambles > 0 || known_;
    const cf32* const h = channel_at(c, e_.tx + (knows_more ? e_.behind() : 0));
    for (int t = 0; t < e_.tx; ++t) {
      const double phase = held_ ? -held_->training_phase(t) : 0;
      add_known(white(1 + t, c), {static_cast<float>(std::cos(phase)), static_cast<float>(std::sin(phase))},
                h + t * step, [&](int a) { return training * at(design_.cover, a * e_.tx + t); });
    }
    for (int s = 0; knows_more && s < e_.behind(); ++s) {
      const int comb = e_.comb().in(s);
      const float* const signs =
          place < 0 ? design_.pilot_signs.data() + (std::int64_t{s} * e_.pilots - 1 - place) * e_.tx : nullptr;
      const auto add_behind = [&](const auto& sent) {
        add_known(white(1 + e_.tx + s, c), back_[s], h + (e_.tx + s) * step, sent);
      };
      if (comb >= 0)
        add_behind([&](int a) { return cf32(design_.comb(comb, c, a)); });
      else if (signs)
        add_behind([&](int a) { return cf32(signs[a]); });
      else if (known_ && known_->is_known(c, s))
        add_behind([&](int a) { return known_->mean(c, s)[a]; });
    }
  }
  const auto first = std::lower_bound(design_.odd.begin(), design_.odd.end(), group * e_.group);
  for (auto c = first; c != design_.odd.end() && *c < end; ++c) add(white(0, *c));
  return sum;
}

void WhitenedChannel::whiten_groups() noexcept {
  double sum = 0;
  for (int t = 0; t < e_.tx; ++t)
    for (std::int64_t i = 0; i < e_.row(); ++i) sum += energy(white_[std::int64_t{1 + t} * e_.row() + i]);
  const double least = kLeastNoise * sum / (static_cast<double>(e_.tx) * e_.carriers * antennas_);
  for (int g = 0; g < e_.groups(); ++g) {
    covariance_[g] = residuals_of(g, counts_[g]);
    const double count = counts_[g];
    covariance_[g].scale(1 / count, e_.rx);
    sorted_[g] = covariance_[g].trace(e_.rx) / antennas_;
    shrink(covariance_[g], count, e_.rx, antennas_);
    covariance_[g].scale(count / (count + 1), e_.rx);
  }
  const double usual = std::max(median(sorted_, e_.groups()), least);
  for (int g = 0; g < e_.groups(); ++g) {
    for (int r = 0; r < e_.rx; ++r) covariance_[g].re[r][r] += usual / (counts_[g] + 1);
    filter_[g] = covariance_[g];
    take_root(filter_[g], e_.rx);
    invert_root(filter_[g], e_.rx);
  }
}

/// y and h of the data carriers of a group.
void WhitenedChannel::write_group(int group, const Estimates& out) noexcept {
  const FrameChannel h = channel();
  const std::int64_t symbols = e_.data_symbols(), pairs = e_.pairs(), numbers = h.functions * pairs;
  const int begin = group * e_.group, end = std::min(begin + e_.group, e_.carriers);
  const Covariance filter = whitens_groups() ? filter_[group] : identity(e_.rx);
  Triangle(filter, e_.rx, e_.tx).apply(h.parts + begin * numbers, (end - begin) * numbers, parts_);
  const cf32* from = parts_;
  for (int c = begin; c < end; ++c, from += numbers) {
    const std::int64_t place = design_.place[static_cast<std::size_t>(c)];
    if (place < 0) continue;
    if (h.phi) HWY_DYNAMIC_DISPATCH(combine_functions)
    (h.data_phi, symbols, h.functions, reinterpret_cast<const float*>(from), 2 * pairs,
     reinterpret_cast<float*>(out.h + place * symbols * pairs));
    else std::copy_n(from, pairs, out.h + place * pairs);
  }
  const Triangle of_y(filter, e_.rx, 1);
  for (int d = 0; d < symbols; ++d) {
    const int s = e_.comb().data(d);
    of_y.apply(white(1 + e_.tx + s, begin), (end - begin) * e_.rx, y_, back_[s]);
    for (int c = begin; c < end; ++c) {
      const std::int64_t place = design_.place[static_cast<std::size_t>(c)];
      if (place >= 0) std::copy_n(y_ + (c - begin) * e_.rx, e_.rx, out.y + (place * symbols + d) * e_.rx);
    }
  }
}

void WhitenedChannel::write(const Estimates& out) noexcept {
  const bool silent = antennas_ == 0;
  const int symbols = e_.data_symbols();
  for (int g = 0; g < e_.groups(); ++g) write_group(g, out);
  if (tracker_)
    for (int d = 0; d < symbols; ++d) {
      const float noise = silent ? 0.0f : 1 + tracker_->unknown(e_.comb().data(d));
      for (int i = 0; i < e_.data_carriers(); ++i) out.noise[std::int64_t{i} * symbols + d] = noise;
    }
  else
    *out.noise = silent ? 0.0f : 1 + design_.smoothed_noise;
  for (int d = 0; out.phase && d < symbols; ++d) out.phase[d] = phases()[e_.comb().data(d)];
  *out.level = told(level_);
  if (out.doppler) *out.doppler = silent ? 0 : tracker_->doppler();
  if (out.interference) *out.interference = static_cast<float>(interference_);
  if (out.covariance) write_covariance(out.covariance);
}

/// Of the antennas as they were received.
void WhitenedChannel::write_covariance(cf32* to) const noexcept {
  for (int g = 0; g < e_.groups(); ++g, to += e_.rx * e_.rx) {
    const Covariance c = whitens_groups() ? colour(root_, covariance_[g], e_.rx) : band_;
    for (int i = 0; i < e_.rx; ++i)
      for (int j = 0; j <= i; ++j) {
        const cf32 value(static_cast<float>(c.re[i][j]), static_cast<float>(c.im[i][j]));
        to[i * e_.rx + j] = value;
        to[j * e_.rx + i] = std::conj(value);
      }
  }
}

}  // namespace iqd::mimo_channel_estimator
#endif
