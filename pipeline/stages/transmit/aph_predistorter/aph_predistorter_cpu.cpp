// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cassert>

#include "pipeline/stages/transmit/aph_predistorter/aph_predistorter.hpp"
#include "signal/filters/scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/transmit/aph_predistorter/aph_predistorter_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef IQD_APH_ROOM
#define IQD_APH_ROOM
namespace iqd::aph_predistorter {

/// Samples processed at once, so that their powers stay in the L1 cache.
struct Room {
  static constexpr std::int64_t kSize = 512;    // a multiple of the samples of a step
  static constexpr std::int64_t kHistory = 16;  // earlier samples: at most taps - 1
  static constexpr std::int64_t kStride = kHistory + kSize;

  int branches;
  Scratch scratch;
  float* v_re = scratch.take<float>(kStride * branches);  // [branch][sample]: |x|^2b x
  float* v_im = scratch.take<float>(kStride * branches);
  float* z_re = scratch.take<float>(kSize);
  float* z_im = scratch.take<float>(kSize);
};

}  // namespace iqd::aph_predistorter
#endif

HWY_BEFORE_NAMESPACE();
namespace iqd::aph_predistorter::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, 16>;
using Integers = hn::RebindToSigned<Floats>;
constexpr std::int64_t kUnroll = 4;  // vectors that share a loaded weight: eight sums hide the latency

HWY_INLINE std::int64_t lanes() {
  return static_cast<std::int64_t>(hn::Lanes(Floats()));
}

HWY_INLINE std::int64_t split_vectors(const Complex* x, std::int64_t n, float* re, float* im) {
  const Floats d;
  std::int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) {
    hn::Vec<Floats> a, b;
    hn::LoadInterleaved2(d, reinterpret_cast<const float*>(x + i), a, b);
    hn::StoreU(a, d, re + i);
    hn::StoreU(b, d, im + i);
  }
  return i;
}
HWY_INLINE std::int64_t split_vectors(const sc16* x, std::int64_t n, float* re, float* im) {
  const Floats d;
  const Integers di;
  const auto scale = hn::Set(d, 0x1p-15f);
  std::int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) {
    const auto both = hn::LoadU(di, reinterpret_cast<const std::int32_t*>(x + i));
    hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::ShiftRight<16>(hn::ShiftLeft<16>(both))), scale), d, re + i);
    hn::StoreU(hn::Mul(hn::ConvertTo(d, hn::ShiftRight<16>(both)), scale), d, im + i);
  }
  return i;
}

/// The parts of x(-kHistory) … x(n-1); zero where there is no past, and up to `padded`.
template <class In> void split(const In* x, std::int64_t past, std::int64_t n, std::int64_t padded, const Room& room) {
  const std::int64_t missing = Room::kHistory - std::min(past, Room::kHistory);
  x += missing - Room::kHistory;
  const std::int64_t there = Room::kHistory - missing + n;
  float* const re = room.v_re + missing;
  float* const im = room.v_im + missing;
  for (std::int64_t i = split_vectors(x, there, re, im); i < there; ++i) {
    const Complex one = to_complex(x[i]);
    re[i] = one.re;
    im[i] = one.im;
  }
  for (float* part : {room.v_re, room.v_im}) {
    std::fill_n(part, missing, 0.0f);
    std::fill(part + Room::kHistory + n, part + Room::kHistory + padded, 0.0f);
  }
}

void raise(int branches, std::int64_t n, const Room& room) {
  const Floats d;
  for (std::int64_t i = 0; i < Room::kHistory + n; i += lanes()) {
    auto re = hn::LoadU(d, room.v_re + i);
    auto im = hn::LoadU(d, room.v_im + i);
    const auto a = hn::MulAdd(re, re, hn::Mul(im, im));
    for (int b = 1; b < branches; ++b) {
      re = hn::Mul(re, a);
      im = hn::Mul(im, a);
      hn::StoreU(re, d, room.v_re + b * Room::kStride + i);
      hn::StoreU(im, d, room.v_im + b * Room::kStride + i);
    }
  }
}

/// z of kUnroll vectors from sample i on.
HWY_INLINE void sum_up(const Model& model, int branches, int taps, std::int64_t i, const Room& room) {
  const Floats d;
  const std::int64_t step = lanes();
  auto re0 = hn::Set(d, model.constant.re), re1 = re0, re2 = re0, re3 = re0;
  auto im0 = hn::Set(d, model.constant.im), im1 = im0, im2 = im0, im3 = im0;
  for (int k = taps - 1; k >= 0; --k)
    for (int b = 0; b < branches; ++b) {
      const Weights& w = model.weights[k * branches + b];
      const auto re_re = hn::Set(d, w.re_re), re_im = hn::Set(d, w.re_im);
      const auto im_re = hn::Set(d, w.im_re), im_im = hn::Set(d, w.im_im);
      const float* const v_re = room.v_re + b * Room::kStride + Room::kHistory + i - k;
      const float* const v_im = room.v_im + b * Room::kStride + Room::kHistory + i - k;
      const auto add = [&](std::int64_t at, auto& re, auto& im) HWY_ATTR {
        const auto x = hn::LoadU(d, v_re + at), y = hn::LoadU(d, v_im + at);
        re = hn::MulAdd(re_im, y, hn::MulAdd(re_re, x, re));
        im = hn::MulAdd(im_im, y, hn::MulAdd(im_re, x, im));
      };
      add(0, re0, im0);
      add(step, re1, im1);
      add(2 * step, re2, im2);
      add(3 * step, re3, im3);
    }
  const auto put = [&](std::int64_t at, auto re, auto im) HWY_ATTR {
    hn::StoreU(re, d, room.z_re + i + at);
    hn::StoreU(im, d, room.z_im + i + at);
  };
  put(0, re0, im0);
  put(step, re1, im1);
  put(2 * step, re2, im2);
  put(3 * step, re3, im3);
}

using Vector = hn::Vec<Floats>;
using Mask = hn::Mask<Floats>;

HWY_INLINE void put_vector(Vector re, Vector im, Mask& /*cut*/, Complex* z) {
  hn::StoreInterleaved2(re, im, Floats(), reinterpret_cast<float*>(z));
}
HWY_INLINE hn::Vec<Integers> to_parts(Vector part, Mask& cut) {
  const Floats d;
  const auto rounded = hn::Round(hn::Mul(part, hn::Set(d, 0x1p15f)));
  const auto fitting = hn::Min(hn::Max(rounded, hn::Set(d, -0x1p15f)), hn::Set(d, 0x1p15f - 1));
  cut = hn::Or(cut, hn::Ne(rounded, fitting));
  return hn::NearestInt(fitting);
}
HWY_INLINE void put_vector(Vector re, Vector im, Mask& cut, sc16* z) {
  const Integers di;
  const auto low = hn::And(to_parts(re, cut), hn::Set(di, 0xffff));
  hn::StoreU(hn::Or(low, hn::ShiftLeft<16>(to_parts(im, cut))), di, reinterpret_cast<std::int32_t*>(z));
}

/// Like `limit` of one sample, in the same steps.
template <class Out> void limit_all(const Room& room, std::int64_t n, float clip, Out* z, Watch& watch) {
  const Floats d;
  const auto most = hn::Set(d, std::numeric_limits<float>::max());
  const auto clip_squared = hn::Set(d, clip * clip);
  auto largest = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + lanes() <= n; i += lanes()) {
    auto re = hn::LoadU(d, room.z_re + i), im = hn::LoadU(d, room.z_im + i);
    auto size = hn::MulAdd(re, re, hn::Mul(im, im));
    const auto good = hn::Le(size, most);
    if (HWY_UNLIKELY(!hn::AllTrue(d, good))) {
      watch.not_finite += static_cast<std::int32_t>(lanes()) - static_cast<std::int32_t>(hn::CountTrue(d, good));
      re = hn::IfThenElseZero(good, re);
      im = hn::IfThenElseZero(good, im);
      size = hn::IfThenElseZero(good, size);
    }
    largest = hn::Max(largest, size);
    auto cut = hn::Gt(size, clip_squared);
    if (HWY_UNLIKELY(!hn::AllFalse(d, cut))) {
      const auto scale = hn::Div(hn::Set(d, clip), hn::Sqrt(size));
      re = hn::IfThenElse(cut, hn::Mul(re, scale), re);
      im = hn::IfThenElse(cut, hn::Mul(im, scale), im);
    }
    put_vector(re, im, cut, z + i);
    watch.clipped += static_cast<std::int32_t>(hn::CountTrue(d, cut));
  }
  watch.largest = std::max(watch.largest, hn::GetLane(hn::MaxOfLanes(d, largest)));
  for (; i < n; ++i) z[i] = limit<Out>({room.z_re[i], room.z_im[i]}, clip, watch);
}

template <class In, class Out>
void predistort(const Model& model, float clip, const Row<In, Out>& row, Watch& watch, const Room& room) {
  const std::int64_t step = kUnroll * lanes();
  for (std::int64_t at = 0; at < row.n; at += Room::kSize) {
    const std::int64_t length = std::min(row.n - at, Room::kSize);
    const std::int64_t padded = (length + step - 1) / step * step;
    split(row.x + at, row.past + at, length, padded, room);
    raise(model.branches, padded, room);
    for (std::int64_t i = 0; i < padded; i += step) {
      if (model.branches == 3 && model.taps == 5)  // the usual sizes: their loops are unrolled
        sum_up(model, 3, 5, i, room);
      else
        sum_up(model, model.branches, model.taps, i, room);
    }
    limit_all(room, length, clip, row.z + at, watch);
  }
}

void floats(const Model& model, float clip, const Row<Complex, Complex>& row, Watch& watch, const Room& room) {
  predistort(model, clip, row, watch, room);
}
void shorts(const Model& model, float clip, const Row<sc16, sc16>& row, Watch& watch, const Room& room) {
  predistort(model, clip, row, watch, room);
}
void shorts_to_floats(const Model& model, float clip, const Row<sc16, Complex>& row, Watch& watch, const Room& room) {
  predistort(model, clip, row, watch, room);
}

}  // namespace iqd::aph_predistorter::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::aph_predistorter {

HWY_EXPORT(floats);
HWY_EXPORT(shorts);
HWY_EXPORT(shorts_to_floats);

Model make_model(const AphOrders& orders, std::span<const std::complex<double>> coefficients) {
  assert(std::ssize(coefficients) == orders.coefficients());
  const auto of = [&](bool there, int at) {
    return there ? coefficients[static_cast<std::size_t>(at)] : std::complex<double>();
  };
  const auto to_complex = [](std::complex<double> v) {
    return Complex{static_cast<float>(v.real()), static_cast<float>(v.imag())};
  };
  Model model;
  model.branches = std::max(orders.main_branches(), orders.conjugate_branches());
  model.taps = orders.taps;
  model.constant = to_complex(coefficients.back());
  for (int k = 0; k < orders.taps; ++k)
    for (int b = 0; b < model.branches; ++b) {
      const auto h = of(b < orders.main_branches(), orders.main_at(b, k));
      const auto g = of(b < orders.conjugate_branches(), orders.conjugate_at(b, k));
      const Complex sum = to_complex(h + g), difference = to_complex(h - g);
      model.weights[k * model.branches + b] = {sum.re, -difference.im, sum.im, difference.re};
    }
  return model;
}

std::size_t scratch_bytes(const Model& model) {
  return Room{model.branches, Scratch(nullptr)}.scratch.bytes();
}

template <class In, class Out>
void run_cpu(const Model& model, float clip, const Row<In, Out>& row, Watch& watch, std::byte* memory) noexcept {
  const Room room{model.branches, Scratch(memory)};
  if constexpr (std::is_same_v<In, Complex>)
    HWY_DYNAMIC_DISPATCH(floats)(model, clip, row, watch, room);
  else if constexpr (std::is_same_v<Out, sc16>)
    HWY_DYNAMIC_DISPATCH(shorts)(model, clip, row, watch, room);
  else
    HWY_DYNAMIC_DISPATCH(shorts_to_floats)(model, clip, row, watch, room);
}
template void run_cpu(const Model&, float, const Row<Complex, Complex>&, Watch&, std::byte*) noexcept;
template void run_cpu(const Model&, float, const Row<sc16, sc16>&, Watch&, std::byte*) noexcept;
template void run_cpu(const Model&, float, const Row<sc16, Complex>&, Watch&, std::byte*) noexcept;

}  // namespace iqd::aph_predistorter
#endif
