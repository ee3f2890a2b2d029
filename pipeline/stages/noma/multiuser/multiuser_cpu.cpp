// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "pipeline/stages/noma/multiuser/carried.hpp"
#include "pipeline/stages/noma/multiuser/engine.hpp"
#include "pipeline/stages/noma/multiuser/results.hpp"
#include "pipeline/stages/noma/multiuser/working_set.hpp"

namespace iqd::noma {
namespace {

constexpr float kLeastNoise = 1e-12f;

/// Processes frames one after the other; has the memory for it.
class Frames {
  using Values = Results::Values;

 public:
  Frames(const Method& method, const Job& job, std::byte* carry, Scratch& scratch)
      : m_(method),
        job_(job),
        w_(method, scratch),
        carried_(w_, method.online ? carry : nullptr),
        results_(method, job, w_),
        values_(scratch.take<Values>(method.users)),
        usable_(scratch.take<std::uint8_t>(std::max(method.pilots, kTile))),
        equations_(scratch.take_bytes(begin_bytes(method))) {}

  void forget() const { carried_.set_model(false); }
  /// Clears stale memory: planes are read beyond their ends, and columns beyond the users.
  void clear() const {
    const auto clear = [](const Planes& planes, int antennas) {
      std::fill_n(planes.x, 2 * antennas * planes.pitch, 0.0f);
      std::fill_n(planes.half, planes.pitch, 0.0f);
    };
    clear(w_.places, m_.antennas);
    clear(w_.vectors, m_.antennas);
    std::fill_n(w_.sent, w_.row(m_.pilots, 0), 0.0f);
  }

  void run(std::int64_t frame, const Given& given, std::int64_t* events) {
    take_up_model();
    const std::int64_t valid = load_pilots(frame);
    const bool trained = valid > 0 && train_frame(given, valid);
    results_.put_model(frame, trained ? values_ : nullptr);
    ++events[kFrames];
    events[kUntrained] += !trained;
    events[kPilotsLeftOut] += m_.pilots - valid;
    events[kErased] += trained ? detect(frame) : results_.erase(frame);
  }

 private:
  void take_up_model() {
    std::fill_n(w_.gamma, w_.row(w_.places.pitch, 0), 0.0f);
    std::fill_n(w_.c, w_.row(m_.antennas, 0), 0.0f);
    if (carried_.has_model()) return carried_.load();
    for (std::int64_t plane = 0; plane < 2 * m_.antennas; ++plane)
      std::fill_n(w_.places.x + plane * w_.places.pitch, m_.old_places(), 0.0f);
  }

  /// Loads vector `at` of the planes; returns whether it is finite in all antennas in use.
  bool load_vector(const cf32* from, float scale, const Planes& to, std::int64_t at) const {
    bool usable = true;
    for (int k = 0; k < w_.used_count; ++k) {
      const int a = w_.antenna(k);
      const cf32 x = from[a] * scale;
      usable = usable && is_finite(x);
      to.real(a)[at] = x.real();
      to.imag(a)[at] = x.imag();
    }
    for (int k = 0; !usable && k < w_.used_count; ++k) {
      const int a = w_.antenna(k);
      to.real(a)[at] = to.imag(a)[at] = 0;
    }
    return usable;
  }

  /// Loads the pilots as received; returns how many are usable.
  std::int64_t load_pilots(std::int64_t frame) {
    std::int64_t valid = 0;
    for (std::int64_t t = 0; t < m_.pilots; ++t) {
      const cf32* const sent = job_.train_tx + (frame * m_.pilots + t) * m_.users;
      const cf32* const received = job_.train_rx + (frame * m_.pilots + t) * m_.antennas;
      const bool known = std::all_of(sent, sent + m_.users, is_finite);
      // A pilot not sent completely counts as not received.
      usable_[t] = load_vector(received, known ? 1.0f : NAN, w_.places, w_.place(t));
      for (int u = 0; u < m_.users; ++u) {
        w_.sent[w_.row(t, 0) + u] = usable_[t] ? sent[u].real() : 0;
        w_.sent[w_.row(t, 1) + u] = usable_[t] ? sent[u].imag() : 0;
      }
      valid += usable_[t];
    }
    return valid;
  }

  /// Calls f(x) with this frame's pilots in each plane of the antennas in use.
  template <class F> void each_plane(F f) const {
    for (int k = 0; k < w_.used_count; ++k) {
      f(w_.places.real(w_.antenna(k)) + w_.place(0));
      f(w_.places.imag(w_.antenna(k)) + w_.place(0));
    }
  }

  /// 0 if there is no gain.
  float gain_of_pilots(std::int64_t valid) const {
    double power = 0;
    each_plane([&](const float* x) {
      for (std::int64_t t = 0; t < m_.pilots; ++t) power += static_cast<double>(x[t]) * static_cast<double>(x[t]);
    });
    power /= static_cast<double>(valid) * w_.used_count;
    const auto gain = static_cast<float>(1 / std::sqrt(power));
    return power > 0 && std::isfinite(gain) ? (m_.agc ? gain : 1) : 0;
  }

  void prepare_pilots() const {
    each_plane([this](float* x) {
      for (std::int64_t t = 0; t < m_.pilots; ++t) x[t] *= scale_;
    });
    measure(w_, w_.places, m_.dictionary);
    for (std::int64_t t = 0; t < m_.pilots; ++t) {
      w_.has_kernel[t] = usable_[t] && t >= m_.pilots - m_.kernels;
      const float size = m_.linear * 2 * w_.places.half[w_.place(t)] + m_.gaussian * w_.has_kernel[t];
      w_.inverse[t] = std::isnormal(size) ? 1 / size : 0;
    }
  }

  bool train_frame(const Given& given, std::int64_t valid) {
    scale_ = gain_of_pilots(valid);
    if (scale_ == 0) return false;
    prepare_pilots();
    if (carried_.has_model() || begin(w_, given, valid, scale_, equations_)) {
      train(w_);
      if (find_errors(valid)) {
        carried_.save();
        return true;
      }
      forget();
    }
    take_up_model();
    return false;
  }

  /// Noise, error and norm of the kernel part; false if a noise is not finite.
  bool find_errors(std::int64_t valid) {
    double without_own[kMostUsers] = {}, with_own[kMostUsers] = {}, norm[kMostUsers] = {};
    const std::int64_t first = job_.model ? w_.first_place : w_.place(0);
    for (std::int64_t at = std::min(first, w_.place(0)); at < m_.dictionary; at += kTile) {
      const std::int64_t count = std::min(kTile, m_.dictionary - at);
      evaluate(w_, w_.places, at, count, m_.gaussian > 0 || job_.model);
      for (std::int64_t i = 0; i < 2 * count; ++i) {
        const std::int64_t row = i * w_.columns, t = at + i / 2 - w_.place(0);
        const float* const gamma = w_.gamma + 2 * at * w_.columns + row;
        for (int u = 0; u < m_.users; ++u)
          norm[u] += static_cast<double>(gamma[u]) * static_cast<double>(w_.gaussian[row + u]);
        if (t < 0 || !usable_[t]) continue;
        const float* const sent = w_.sent + w_.row(t, static_cast<int>(i % 2));
        for (int u = 0; u < m_.users; ++u) {
          const double e = static_cast<double>(sent[u] - (w_.linear[row + u] + m_.gaussian * w_.gaussian[row + u]));
          const double own = static_cast<double>(m_.gaussian * gamma[u]);
          with_own[u] += e * e;
          without_own[u] += (e + own) * (e + own);
        }
      }
    }
    bool finite = true;
    for (int u = 0; u < m_.users; ++u) {
      values_[u].noise = std::max(static_cast<float>(without_own[u] / static_cast<double>(valid)), kLeastNoise);
      values_[u].gaussian = static_cast<float>(std::sqrt(std::max(norm[u], 0.0)));
      values_[u].error = static_cast<float>(std::sqrt(with_own[u] / static_cast<double>(valid)));
      finite = finite && std::isfinite(without_own[u]) && std::isfinite(values_[u].noise);
    }
    return finite;
  }

  /// Returns the number of erased vectors.
  std::int64_t detect(std::int64_t frame) {
    std::int64_t erased = 0;
    for (std::int64_t first = 0; first < m_.data; first += kTile) {
      const std::int64_t count = std::min(kTile, m_.data - first);
      for (std::int64_t i = 0; i < count; ++i)
        usable_[i] = load_vector(job_.rx + (frame * m_.data + first + i) * m_.antennas, scale_, w_.vectors, i);
      measure(w_, w_.vectors, count);
      evaluate(w_, w_.vectors, 0, count, m_.gaussian > 0);
      for (std::int64_t i = 0; i < count; ++i) erased += !combine(i);
      for (int u = 0; u < m_.users; ++u)
        results_.put_symbols(u, (frame * m_.users + u) * m_.data + first, {usable_, usable_ + count}, values_[u].noise);
    }
    return erased;
  }

  /// Replaces the linear part of vector i by f, for all users; by 0 if it is not usable.
  bool combine(std::int64_t i) {
    float* const f = w_.linear + w_.row(i, 0);
    for (std::int64_t n = 0; n < 2 * w_.columns; ++n) {
      f[n] += m_.gaussian * w_.gaussian[w_.row(i, 0) + n];
      usable_[i] = usable_[i] && std::isfinite(f[n]);
    }
    if (!usable_[i]) std::fill_n(f, 2 * w_.columns, 0.0f);
    return usable_[i];
  }

  const Method& m_;
  const Job& job_;
  WorkingSet w_;
  Carried carried_;
  Results results_;
  Values* values_;        // [user]
  std::uint8_t* usable_;  // [pilot], or [vector] of a tile
  std::byte* equations_;
  float scale_ = 0;
};

/// Number of frames, and how many consecutive ones share a start, or h, and a noise.
struct Batch {
  std::int64_t frames = 0;
  std::int64_t of_start = 1;
  std::int64_t of_noise = 1;
};
Batch batch_of(const Method& m, const Job& job) {
  const auto count = [](const std::int32_t* n) { return n ? std::int64_t{*n} : 0; };
  const std::int64_t frames = std::clamp<std::int64_t>(*job.frames, 0, m.most);
  const bool has_start = m.start == Start::port || m.start == Start::genie;
  const std::int64_t starts = has_start ? count(job.starts) : 1;
  const std::int64_t noises = m.start == Start::genie ? count(job.noises) : 1;
  if (starts < 1 || noises < 1 || frames % starts != 0 || frames % noises != 0) return {};
  return {frames, frames / starts, frames / noises};
}

}  // namespace

std::size_t Engine::scratch_bytes() const {
  Scratch count(nullptr);
  Frames(method_, Job{}, nullptr, count);
  return count.bytes();
}

void Engine::run(const Job& job, bool fresh, std::byte* carry, std::byte* scratch) const noexcept {
  Scratch memory(scratch);
  Frames frames(method_, job, carry, memory);
  const Batch batch = batch_of(method_, job);
  std::int64_t events[std::size(kEvents)] = {};
  if (fresh) frames.forget();
  if (batch.frames > 0) frames.clear();
  for (std::int64_t f = 0; f < batch.frames; ++f) {
    Given given{};
    if (method_.start == Start::port) given.start = job.start + f / batch.of_start * method_.users * method_.antennas;
    if (method_.start == Start::genie) {
      given.h = job.h + f / batch.of_start * method_.users * method_.antennas;
      given.noise = job.noise + f / batch.of_noise;
    }
    frames.run(f, given, events);
  }
  if (job.events) std::copy_n(events, std::size(events), job.events);
  for (int o = 0; o < kOutputs; ++o)
    if (job.counts[o]) *job.counts[o] = o == kTally ? 1 : static_cast<std::int32_t>(batch.frames);
}

}  // namespace iqd::noma
