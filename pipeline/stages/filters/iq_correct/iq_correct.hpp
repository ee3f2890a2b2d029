// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numbers>
#include <string_view>

#include "base/element.hpp"
#include "base/views.hpp"
#include "config/fields.hpp"
#include "pipeline/stage/cuda_half.hpp"

/// y = (x - m) - w conj(x - m): removes DC and the image of a receiver whose I and Q differ in gain and phase.
///
/// x, y    [row][n]      cf32  each row has its own m and w
/// levels  [row][level]  f32   by kLevels
///
/// m is the mean of x, w = E[z^2] / (E|z|^2 + sqrt(E[|z|^2]^2 - |E[z^2]|^2)) with z = x - m: the mean of z^2 is 0 for
/// every signal without such a fault, except a few (README.md). The stream is cut into chunks at multiples of kChunk; a
/// chunk is corrected by the chunks before it, each with a weight that falls by e within `period`. So the bits are the
/// same however the stream is cut. With a period of 0 a block is corrected by its own means.
///
/// The carry of a row is a State. A gap resets it.
namespace iqd::iq_correct {

inline constexpr std::array<std::string_view, 4> kLevels = {"dc_dbfs", "image_db", "gain_db", "phase_deg"};
inline constexpr std::int64_t kChunk = 1024;
/// A chunk is summed in so many interleaved parts, each in the order of its samples.
inline constexpr int kParts = 32;
/// A signal whose z^2 has at least this share of its squared power within a chunk is one-dimensional there.
inline constexpr double kLineLikeness = 0.25;
/// Its z^2 says nothing about the receiver until its direction has turned so often.
inline constexpr double kFewestTurns = 16;

struct Config {
  double period = 0.1;  // seconds

  void fields(FieldVisitor& visitor);
};

/// Sums over samples that are finite. Products of floats are exact in double precision.
struct Sums {
  double count = 0;
  double re = 0, im = 0;                // x
  double square_re = 0, square_im = 0;  // x^2
  double power = 0;                     // |x|^2

  IQD_HOST_DEVICE void add(float x_re, float x_im) noexcept {
    const double a = x_re, b = x_im, more = a * a + b * b;
    if (!(more < 1e300)) return;
    count += 1;
    re += a, im += b;
    square_re += a * a - b * b, square_im += 2 * (a * b);
    power += more;
  }
  /// this = weight · this + more.
  IQD_HOST_DEVICE void merge(double weight, const Sums& more) noexcept {
    count = weight * count + more.count;
    re = weight * re + more.re, im = weight * im + more.im;
    square_re = weight * square_re + more.square_re, square_im = weight * square_im + more.square_im;
    power = weight * power + more.power;
  }
};

/// The means of these sums, of z = x - m.
struct Moments {
  double square_re, square_im;  // z^2
  double power;                 // |z|^2

  IQD_HOST_DEVICE Moments(const Sums& s, double m_re, double m_im) noexcept {
    const double re = s.re / s.count, im = s.im / s.count;
    square_re = s.square_re / s.count - 2 * (m_re * re - m_im * im) + (m_re * m_re - m_im * m_im);
    square_im = s.square_im / s.count - 2 * (m_re * im + m_im * re) + 2 * m_re * m_im;
    power = s.power / s.count - 2 * (m_re * re + m_im * im) + (m_re * m_re + m_im * m_im);
    // Less than the rounding of these means is silence behind the mean.
    if (!(power > 1e-12 * (m_re * m_re + m_im * m_im))) power = square_re = square_im = 0;
  }
};

/// What is removed from a sample.
struct Correction {
  float mean[2] = {};
  float image[2] = {};

  /// Makes y of x.
  IQD_HOST_DEVICE void apply(float& x_re, float& x_im) const noexcept {
    const float re = x_re - mean[0], im = x_im - mean[1];
    x_re = re - (image[0] * re + image[1] * im);
    x_im = im - (image[1] * re - image[0] * im);
  }
};

/// What is known of complete chunks.
struct Past {
  Sums sums;
  // Whether z^2 of the chunks is that of a line, and how the line turns from chunk to chunk.
  double square = 0;                // |E[z^2]|^2
  double power = 0;                 // E[|z|^2]^2
  double turn_re = 0, turn_im = 0;  // E[z^2] times the conjugate of that before
  double last_re = 0, last_im = 0;  // E[z^2]
  Correction now;

  /// Continues with the next chunk. `keeps`: the weight that falls on those before.
  IQD_HOST_DEVICE void add(const Sums& chunk, double keeps) noexcept {
    if (!(chunk.count > 0)) return;
    sums.merge(keeps, chunk);
    const double m_re = sums.re / sums.count, m_im = sums.im / sums.count;
    const Moments own(chunk, m_re, m_im);
    square = keeps * square + own.square_re * own.square_re + own.square_im * own.square_im;
    power = keeps * power + own.power * own.power;
    turn_re = keeps * turn_re + own.square_re * last_re + own.square_im * last_im;
    turn_im = keeps * turn_im + own.square_im * last_re - own.square_re * last_im;
    last_re = own.square_re, last_im = own.square_im;
    now.mean[0] = static_cast<float>(m_re), now.mean[1] = static_cast<float>(m_im);
    find_image(Moments(sums, m_re, m_im));
  }

 private:
  /// A line that has not turned leaves the image as it was.
  IQD_HOST_DEVICE void find_image(const Moments& all) noexcept {
    const double turns = fabs(atan2(turn_im, turn_re)) / (2 * std::numbers::pi) * sums.count / kChunk;
    if (square > kLineLikeness * power && turns < kFewestTurns) return;
    const double rest = all.power * all.power - all.square_re * all.square_re - all.square_im * all.square_im;
    const double sum = all.power + sqrt(rest > 0 ? rest : 0.0), scale = sum > 0 ? 1 / sum : 0.0;
    now.image[0] = static_cast<float>(all.square_re * scale), now.image[1] = static_cast<float>(all.square_im * scale);
  }
};

/// What is known of a row before a sample.
struct State {
  Sums begun[kParts];  // of the chunk that the sample is in
  Past past;           // of the chunks before it
};

/// Writes kLevels of a correction.
IQD_HOST_DEVICE inline void write_levels(const Correction& c, float* levels) noexcept {
  const double re = c.image[0], im = c.image[1], image = re * re + im * im;
  const double dc = static_cast<double>(c.mean[0]) * c.mean[0] + static_cast<double>(c.mean[1]) * c.mean[1];
  levels[0] = static_cast<float>(10 * log10(dc + 1e-30));
  levels[1] = static_cast<float>(10 * log10(image + 1e-30));
  // y = (1 - w) I' + j (1 + w) Q' for real w: what I and Q were multiplied by.
  levels[2] = static_cast<float>(20 * log10(hypot(1 + re, im) / hypot(1 - re, im)));
  levels[3] = static_cast<float>(atan2(2 * im, 1 - image) * (180 / std::numbers::pi));
}

/// How the stream is averaged.
struct Averaging {
  double keeps = 0;  // the weight of a chunk beside that of the next
  bool by_block = false;
};

/// A row of samples, real and imaginary parts, from position `first` on.
struct Row {
  const float* x;
  std::int64_t first;

  const float* at(std::int64_t n) const noexcept { return x + 2 * (n - first); }
};
/// y has the positions first … end-1. `state`: before `first`; becomes that before `end_new`.
void run_cpu(const Averaging& averaging, const Row& x, cf32* y, std::int64_t first, std::int64_t end,
             std::int64_t end_new, State& state) noexcept;
/// With the means of the positions `first_new` … `end_new`-1. Returns the correction.
Correction run_block_cpu(const Row& x, cf32* y, std::int64_t first, std::int64_t end, std::int64_t first_new,
                         std::int64_t end_new) noexcept;

/// The CUDA half.
using CudaHalf = std::unique_ptr<StageRun>(const Averaging& averaging, std::int64_t rows, std::int64_t most_new);

}  // namespace iqd::iq_correct
