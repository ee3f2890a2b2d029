// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/stages/noma/multiuser/working_set.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "pipeline/stages/noma/multiuser/train_cpu.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "pipeline/stages/noma/multiuser/rows_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace iqd::noma::HWY_NAMESPACE {

/// In the same order as multiply() sums, so that a vector's kernel with itself is exactly 1.
void measure(const WorkingSet& w, const Planes& v, std::int64_t count) {
  const Wide d;
  for (std::int64_t i = 0; i < count; i += lanes()) {
    W sum = hn::Zero(d);
    for (int k = 0; k < w.used_count; ++k) {
      const int a = w.antenna(k);
      const W re = hn::Load(d, v.real(a) + i), im = hn::Load(d, v.imag(a) + i);
      sum = hn::MulAdd(im, im, hn::MulAdd(re, re, sum));
    }
    hn::Store(hn::Mul(hn::Set(d, 0.5f), sum), d, v.half + i);
  }
}

void evaluate(const WorkingSet& w, const Planes& v, std::int64_t first, std::int64_t count, bool kernels) {
  const std::int64_t end_place = kernels ? w.end_place : 0;
  for (std::int64_t i = 0; i < count; ++i) sum_linear(w, v, first + i, w.linear + w.row(i, 0));
  std::int64_t i = 0;
  for (; i + kRows <= count; i += kRows) sum_gaussian<kRows>(w, v, first + i, end_place, w.gaussian + w.row(i, 0));
  for (; i < count; ++i) sum_gaussian<1>(w, v, first + i, end_place, w.gaussian + w.row(i, 0));
}

/// How the factors of one pilot of the window change the errors of another: each part by the same part, part 1 by part
/// 2, part 2 by part 1.
struct Effects {
  float same, on_first, on_second;
};

/// Training over the window, one pilot after the other.
class Recursion {
 public:
  explicit Recursion(const WorkingSet& w) : w_(w), window_(w.method.window) {}

  /// The error of pilot t, from all that was learned before. In the first pass no later pilot has a kernel yet.
  void enter(std::int64_t t, bool first_pass) const {
    const Users d;
    const std::int64_t last = first_pass ? std::min(w_.end_place, w_.place(t)) : w_.end_place;
    const std::int64_t end = w_.method.gaussian > 0 ? last : 0;
    sum_linear(w_, w_.places, w_.place(t), w_.linear);
    sum_gaussian<1>(w_, w_.places, w_.place(t), end, w_.gaussian);
    const U weight = hn::Set(d, w_.method.gaussian);
    const float* const sent = w_.sent + w_.row(t, 0);
    float* const error = w_.error + w_.row(t % window_, 0);
    for (std::int64_t i = 0; i < 2 * w_.columns; i += user_lanes()) {
      const U f = hn::MulAdd(weight, hn::Load(d, w_.gaussian + i), hn::Load(d, w_.linear + i));
      hn::Store(hn::Sub(hn::Load(d, sent + i), f), d, error + i);
    }
  }

  /// The mutual effects of pilot t and the pilots of the window before it.
  void pair_up(std::int64_t t, std::int64_t oldest) const {
    const Wide d;
    const Kernel kernel(w_.method);
    HWY_ALIGN float k[5][16];
    const W half = hn::Set(d, w_.places.half[w_.place(t)]);
    for (std::int64_t s = oldest; s <= t; s += lanes()) {
      W p[1], q[1];
      multiply<1>(w_, w_.places, w_.place(t), w_.place(s), p, q);
      const W halves = hn::Add(half, hn::LoadU(d, w_.places.half + w_.place(s)));
      const W values[5] = {p[0], q[0], kernel(p[0], halves), kernel(q[0], halves), kernel(hn::Neg(q[0]), halves)};
      for (int i = 0; i < 5; ++i) hn::Store(values[i], d, k[i]);
      for (std::int64_t i = 0; i < std::min(lanes(), t + 1 - s); ++i) {
        const float l_same = w_.method.linear * k[0][i], l_turned = w_.method.linear * k[1][i];
        const float g_on_t = w_.method.gaussian * w_.has_kernel[s + i], g_on_s = w_.method.gaussian * w_.has_kernel[t];
        gram(t, s + i) = {l_same + g_on_t * k[2][i], l_turned + g_on_t * k[3][i], g_on_t * k[4][i] - l_turned};
        gram(s + i, t) = {l_same + g_on_s * k[2][i], g_on_s * k[4][i] - l_turned, l_turned + g_on_s * k[3][i]};
      }
    }
  }

  /// All pilots of the window update f at once.
  void project(std::int64_t t, std::int64_t oldest) const {
    for (std::int64_t user = 0; user < w_.columns; user += user_lanes()) {
      for (std::int64_t s = oldest; s <= t; ++s) find_delta(s, step_of(t, oldest, s), user);
      for (int k = 0; k < w_.used_count; ++k) move_c(w_.antenna(k), oldest, t, user);
      for (std::int64_t s = oldest; s <= t; ++s) move_error(s, oldest, t, user);
    }
  }

 private:
  Effects& gram(std::int64_t of, std::int64_t by) const {
    return reinterpret_cast<Effects*>(w_.gram)[of % window_ * window_ + by % window_];
  }
  float* delta(std::int64_t s) const { return w_.delta + w_.row(s % window_, 0); }

  float step_of(std::int64_t t, std::int64_t oldest, std::int64_t s) const {
    const Method& m = w_.method;
    return w_.inverse[s] * m.weight[static_cast<std::size_t>(t - s)] * m.share[static_cast<std::size_t>(t - oldest)];
  }

  void find_delta(std::int64_t s, float step, std::int64_t user) const {
    const Users d;
    const U epsilon = hn::Set(d, w_.method.epsilon);
    for (int part = 0; part < 2; ++part) {
      const U e = hn::Load(d, w_.error + w_.row(s % window_, part) + user);
      const U beyond = hn::CopySign(hn::Max(hn::Sub(hn::Abs(e), epsilon), hn::Zero(d)), e);
      const U moved = hn::Mul(beyond, hn::Set(d, step));
      hn::Store(moved, d, delta(s) + part * w_.columns + user);
      float* const gamma = w_.gamma + w_.row(w_.place(s), part) + user;
      hn::Store(hn::MulAdd(moved, hn::Set(d, w_.has_kernel[s]), hn::Load(d, gamma)), d, gamma);
    }
  }

  /// c += x conj(delta) of one antenna. The step is summed separately, here and below: adding its terms to a large
  /// number one by one would round twenty times.
  void move_c(int a, std::int64_t oldest, std::int64_t t, std::int64_t user) const {
    const Users d;
    U re = hn::Zero(d), im = hn::Zero(d);
    for (std::int64_t s = oldest; s <= t; ++s) {
      const U x = hn::Set(d, w_.places.real(a)[w_.place(s)]), y = hn::Set(d, w_.places.imag(a)[w_.place(s)]);
      const U d1 = hn::Load(d, delta(s) + user), d2 = hn::Load(d, delta(s) + w_.columns + user);
      re = hn::MulAdd(y, d2, hn::MulAdd(x, d1, re));
      im = hn::NegMulAdd(x, d2, hn::MulAdd(y, d1, im));
    }
    float* const c = w_.c + w_.row(a, 0) + user;
    hn::Store(hn::Add(hn::Load(d, c), re), d, c);
    hn::Store(hn::Add(hn::Load(d, c + w_.columns), im), d, c + w_.columns);
  }

  void move_error(std::int64_t of, std::int64_t oldest, std::int64_t t, std::int64_t user) const {
    const Users d;
    U re = hn::Zero(d), im = hn::Zero(d);
    for (std::int64_t s = oldest; s <= t; ++s) {
      const Effects& e = gram(of, s);
      const U d1 = hn::Load(d, delta(s) + user), d2 = hn::Load(d, delta(s) + w_.columns + user);
      const U same = hn::Set(d, e.same);
      re = hn::MulAdd(hn::Set(d, e.on_first), d2, hn::MulAdd(same, d1, re));
      im = hn::MulAdd(same, d2, hn::MulAdd(hn::Set(d, e.on_second), d1, im));
    }
    float* const error = w_.error + w_.row(of % window_, 0) + user;
    hn::Store(hn::Sub(hn::Load(d, error), re), d, error);
    hn::Store(hn::Sub(hn::Load(d, error + w_.columns), im), d, error + w_.columns);
  }

  const WorkingSet& w_;
  std::int64_t window_;
};

void train(const WorkingSet& w) {
  const Recursion recursion(w);
  for (int pass = 0; pass < w.method.passes; ++pass)
    for (std::int64_t t = 0; t < w.method.pilots; ++t) {
      const std::int64_t oldest = std::max<std::int64_t>(0, t - w.method.window + 1);
      recursion.enter(t, pass == 0);
      recursion.pair_up(t, oldest);
      recursion.project(t, oldest);
    }
}

}  // namespace iqd::noma::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::noma {

HWY_EXPORT(measure);
HWY_EXPORT(evaluate);
HWY_EXPORT(train);

void measure(const WorkingSet& w, const Planes& v, std::int64_t count) noexcept {
  HWY_DYNAMIC_DISPATCH(measure)(w, v, count);
}
void evaluate(const WorkingSet& w, const Planes& v, std::int64_t first, std::int64_t count, bool kernels) noexcept {
  HWY_DYNAMIC_DISPATCH(evaluate)(w, v, first, count, kernels);
}
void train(const WorkingSet& w) noexcept {
  HWY_DYNAMIC_DISPATCH(train)(w);
}

}  // namespace iqd::noma
#endif
