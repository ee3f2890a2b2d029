// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Included once for each SIMD target, after <hwy/foreach_target.h> and <hwy/highway.h>.
#if defined(IQD_MIMO_FRONT_END_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef IQD_MIMO_FRONT_END_INL_HPP
#undef IQD_MIMO_FRONT_END_INL_HPP
#else
#define IQD_MIMO_FRONT_END_INL_HPP
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "pipeline/stages/mimo/detector.hpp"
#include "pipeline/stages/mimo/triangle_inl.hpp"

/// What detectors that search along R share on the CPU, before and after the search: assigning vectors to SIMD lanes
/// and decomposing channels (triangle_inl.hpp), then storing LLRs, bits and distances.
///
///   detect_all(shape, job, batch, front, [](Front& f) { … fills f.llr and f.least … });
///
/// Symbols are pairs of odd numbers: their power is in `r`. Erased lanes are searched like others, with zeros.
HWY_BEFORE_NAMESPACE();
namespace iqd::mimo::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Assigns vectors to lanes: each lane walks a run of vectors that share a channel, which is decomposed once.
struct Runs {
  explicit Runs(const Batch& batch)
      : of_channel(batch.of_channel),
        pieces((of_channel + kLongest - 1) / kLongest),
        length((of_channel + pieces - 1) / pieces),
        count(batch.vectors / of_channel * pieces) {}

  std::int64_t channel(std::int64_t run) const { return run / pieces; }
  std::int64_t first(std::int64_t run) const { return channel(run) * of_channel + run % pieces * length; }
  std::int64_t end(std::int64_t run) const { return std::min(first(run) + length, (channel(run) + 1) * of_channel); }

  static constexpr std::int64_t kLongest = 16;
  std::int64_t of_channel;
  std::int64_t pieces;  // per channel
  std::int64_t length;  // of a run, at most
  std::int64_t count;
};

/// LLR of a bit, without its prior, from the least costs with bit 0 and with bit 1.
HWY_INLINE V llr_of(const Front& f, int row, int bit, V zero, V one) {
  const V most = all(std::numeric_limits<float>::max());
  const V llr = hn::Div(hn::Sub(one, zero), f.noise.get());
  return hn::Max(hn::Neg(most), hn::Min(most, hn::Sub(llr, f.prior[row][bit].get())));
}

/// Infinite for the levels that a row's alphabet does not have; `label`: of the largest one.
HWY_INLINE V cost_if_absent(const Front& f, int row, int label) {
  const auto level = static_cast<float>(qam::amplitude(f.bits / 2, static_cast<unsigned>(label)));
  return hn::IfThenElseZero(hn::Lt(f.top[row].get(), all(level < 0 ? -level : level)),
                            all(std::numeric_limits<float>::infinity()));
}
inline void clear_prior(Front& f) {
  for (int row = 0; row < f.tx; ++row) {
    for (int b = 0; b < f.bits; ++b) f.prior[row][b].set(all(0));
    for (auto& of_axis : f.level_cost[row])
      for (Real& cost : of_axis) cost.set(all(0));
  }
}
/// The alphabets of each lane's item; brings columns to their scale.
HWY_NOINLINE inline void load_alphabets(Front& f, const DetectorShape& shape, const DetectorJob& job,
                                        const std::int64_t* items) {
  for (int l = 0; l < lanes(); ++l) {
    const Alphabets sent = alphabets_of(shape, job, items[l]);
    for (int t = 0; t < f.tx; ++t) f.sent[t].at[l] = static_cast<float>(sent.of(t).bits);
  }
  scale_columns(f);
}
/// Levels that an antenna's alphabet does not have cost infinitely much.
HWY_NOINLINE inline void exclude_levels(Front& f) {
  for (int row = 0; row < f.tx; ++row) {
    for (int l = 0; l < lanes(); ++l) {
      const Alphabet alphabet = alphabet_of(f, row, l);
      f.top[row].at[l] = static_cast<float>(alphabet.top());
      f.silent[row].at[l] = alphabet.is_silent();
    }
    for (auto& of_axis : f.level_cost[row])
      for (int i = 0; i < 1 << f.bits / 2; ++i) {
        const V cost = f.has_prior ? of_axis[i].get() : all(0);
        of_axis[i].set(hn::Add(cost, cost_if_absent(f, row, i)));
      }
  }
}
/// The priors of the largest alphabet's bits; known bits have none.
HWY_NOINLINE inline void load_mixed_prior(Front& f, const float* prior) {
  for (int row = 0; row < f.tx; ++row)
    for (int l = 0; l < lanes(); ++l) {
      const float* const symbol = prior + (f.vector[l] * f.tx + static_cast<int>(f.antenna[row].at[l])) * f.bits;
      const Alphabet alphabet = alphabet_of(f, row, l);
      for (int b = 0; b < f.bits; ++b) {
        const int own = alphabet.own(b / 2);
        const float llr = own < 0 || f.erased.at[l] > 0 ? 0 : usable_prior(symbol[2 * own + b % 2]);
        f.prior[row][b].at[l] = alphabet.is_turned(own) ? -llr : llr;
      }
    }
}
/// Brings the LLRs and priors of the largest alphabet's bits to those of the antennas; the others are 0.
HWY_NOINLINE inline void give_own_bits(Front& f) {
  for (int row = 0; row < f.tx; ++row)
    for (int l = 0; l < lanes(); ++l) {
      const Alphabet alphabet = alphabet_of(f, row, l);
      for (int b = 0; b < f.bits; ++b) {
        const int from = b < 2 ? b : b + 2 * alphabet.skipped();
        const float sign = b >= alphabet.bits ? 0.0f : alphabet.is_turned(b / 2) ? -1.0f : 1.0f;
        for (Real* const of_bits : {f.llr[row], f.prior[row]})
          of_bits[b].at[l] = sign != 0 ? sign * of_bits[from].at[l] : 0;
      }
    }
}
/// Loads the priors of the vectors, and what each level costs by them.
inline void load_prior(Front& f, const float* prior) {
  const int half = f.bits / 2;
  const V noise = hn::Min(f.noise.get(), all(kMostPriorNoise));
  if (f.mixed) load_mixed_prior(f, prior);
  for (int row = 0; row < f.tx; ++row) {
    for (int l = 0; !f.mixed && l < lanes(); ++l) {
      const float* const symbol = prior + (f.vector[l] * f.tx + static_cast<int>(f.antenna[row].at[l])) * f.bits;
      for (int b = 0; b < f.bits; ++b) f.prior[row][b].at[l] = f.erased.at[l] > 0 ? 0 : usable_prior(symbol[b]);
    }
    for (int axis = 0; axis < 2; ++axis)
      for (int i = 0; i < 1 << half; ++i) {
        V cost = all(0);
        for (int b = 0; b < half; ++b) {
          const V llr = f.prior[row][2 * b + axis].get();
          cost = hn::Add(cost, hn::Max(all(0), (i >> (half - 1 - b) & 1) != 0 ? llr : hn::Neg(llr)));
        }
        f.level_cost[row][axis][i].set(hn::Mul(cost, noise));
      }
  }
  if (f.mixed) exclude_levels(f);
}

template <class T> HWY_INLINE V rounded_to(V llr, float scale) {
  if constexpr (sizeof(T) == 1)
    llr = hn::Max(all(-127), hn::Min(all(127), hn::Round(hn::Div(llr, all(scale)))));
  else if constexpr (sizeof(T) == 2)
    llr = hn::Max(all(-65504), hn::Min(all(65504), llr));
  return llr;
}
template <class T> T as_element(float x) {
  if constexpr (std::is_same_v<T, f16>)
    return to_f16(x);
  else
    return static_cast<T>(x);
}
template <class T> void put_llrs(Front& f, float scale, T* to) {
  for (int row = 0; row < f.tx; ++row) {
    for (int b = 0; b < f.bits; ++b) f.llr[row][b].set(rounded_to<T>(f.llr[row][b].get(), scale));
    for (int l = 0; l < lanes(); ++l) {
      T* const symbol = to + (f.vector[l] * f.tx + static_cast<int>(f.antenna[row].at[l])) * f.bits;
      for (int b = 0; f.in_use[l] && b < f.bits; ++b) symbol[b] = as_element<T>(f.llr[row][b].at[l]);
    }
  }
}

/// The signs of LLRs with the prior.
template <bool kPrior> void put_bits(const Front& f, std::uint8_t* to) {
  for (int row = 0; row < f.tx; ++row)
    for (int l = 0; l < lanes(); ++l) {
      std::uint8_t* const symbol = to + (f.vector[l] * f.tx + static_cast<int>(f.antenna[row].at[l])) * f.bits;
      for (int b = 0; f.in_use[l] && b < f.bits; ++b)
        symbol[b] = f.llr[row][b].at[l] + (kPrior ? f.prior[row][b].at[l] : 0) < 0;
    }
}

inline std::int64_t put_results(Front& f, const DetectorShape& shape, const DetectorJob& job) {
  if (f.mixed) give_own_bits(f);
  const auto erased = hn::Gt(f.erased.get(), all(0));
  std::int64_t count = 0;
  for (int l = 0; l < lanes(); ++l) count += f.in_use[l] && f.erased.at[l] > 0;
  for (int row = 0; row < f.tx; ++row)
    for (int b = 0; b < f.bits; ++b) f.llr[row][b].set(hn::IfThenZeroElse(erased, f.llr[row][b].get()));
  if (job.hard) f.has_prior ? put_bits<true>(f, job.hard) : put_bits<false>(f, job.hard);
  if (job.distance) {
    const V down = hn::Div(all(1), f.half.get()), further = hn::Div(all(1), f.rest.get());
    V distance = hn::Add(f.least.get(), f.residual.get());
    for (const V by : {down, down, further, further}) distance = hn::Mul(distance, by);
    f.least.set(hn::IfThenElse(erased, all(std::numeric_limits<float>::quiet_NaN()), distance));
    for (int l = 0; l < lanes(); ++l)
      if (f.in_use[l]) job.distance[f.vector[l]] = f.least.at[l];
  }
  if (!job.llr) return count;
  for (int row = 0; !shape.extrinsic && row < f.tx; ++row)
    for (int b = 0; b < f.bits; ++b) f.llr[row][b].set(hn::Add(f.llr[row][b].get(), f.prior[row][b].get()));
  if (shape.form == LlrForm::f32) put_llrs(f, 1, static_cast<float*>(job.llr));
  if (shape.form == LlrForm::f16) put_llrs(f, 1, static_cast<f16*>(job.llr));
  if (shape.form == LlrForm::i8) put_llrs(f, shape.llr_scale, static_cast<std::int8_t*>(job.llr));
  return count;
}

/// Calls `search(front)` for all vectors of the batch, some at a time; returns the number of erased vectors.
template <class Search> std::int64_t detect_all(const DetectorShape& shape, const DetectorJob& job, const Batch& batch,
                                                Front& f, Search&& search) {
  if (batch.vectors == 0) return 0;
  f.rx = shape.rx;
  f.tx = shape.tx;
  f.bits = shape.bits;
  f.mixed = shape.mixed;
  f.has_prior = shape.prior;
  f.has_costs = shape.prior || shape.mixed;
  clear_prior(f);
  const Runs runs(batch);
  const auto* const y = reinterpret_cast<const float*>(job.y);
  const auto* const h = reinterpret_cast<const float*>(job.h);
  std::int64_t erased = 0;
  alignas(64) std::int32_t at[kMostLanes];
  for (std::int64_t run = 0; run < runs.count; run += lanes()) {
    const auto of_lane = [&](int l) { return std::min(run + l, runs.count - 1); };
    const std::int64_t channel = runs.channel(run), first = runs.first(run);
    for (int l = 0; l < lanes(); ++l)
      at[l] = static_cast<std::int32_t>((runs.channel(of_lane(l)) - channel) * 2 * f.rx * f.tx);
    load_channel(f, h + channel * 2 * f.rx * f.tx, hn::Load(I(), at));
    if (f.mixed) {
      std::int64_t items[kMostLanes];
      for (int l = 0; l < lanes(); ++l) items[l] = runs.first(of_lane(l)) / shape.vectors;
      load_alphabets(f, shape, job, items);
    }
    decompose(f);
    if (f.mixed) exclude_levels(f);
    for (std::int64_t step = 0; step < runs.length; ++step) {
      Real noise;
      for (int l = 0; l < lanes(); ++l) {
        const std::int64_t v = runs.first(of_lane(l)) + step, last = runs.end(of_lane(l)) - 1;
        f.in_use[l] = run + l < runs.count && v <= last;
        f.vector[l] = std::min(v, last);
        at[l] = static_cast<std::int32_t>((f.vector[l] - first) * 2 * f.rx);
        noise.at[l] = job.noise[f.vector[l] / batch.of_noise];
      }
      load_vector(f, y + first * 2 * f.rx, hn::Load(I(), at), noise.get());
      if (f.has_prior) load_prior(f, job.prior);
      search(f);
      erased += put_results(f, shape, job);
    }
  }
  return erased;
}

}  // namespace iqd::mimo::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
