// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/bench/convolution_trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <span>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace iqd {
namespace {

using Complex = std::complex<double>;

constexpr std::int64_t kSetsBytes = 128 << 20;  // more than any second-level cache
constexpr std::int64_t kMostSets = 1000;
constexpr std::size_t kSample = sizeof(cf32);
constexpr int kLeastCalls = 5;  // minimum number of timed calls
/// Relative to a packet's rms: products are summed in single precision, in any order.
constexpr double kTolerance = 2e-5;
constexpr std::int64_t kCheckedSamples = 40'000'000;  // products in double precision, about a tenth of a second

std::span<cf32> samples(const Buffer& buffer) {
  return {reinterpret_cast<cf32*>(buffer.data()), buffer.size() / kSample};
}

Buffer random_samples(Backend& backend, std::int64_t count, std::mt19937_64& generator) {
  Buffer buffer = backend.allocate_shared(static_cast<std::size_t>(count) * kSample);
  const auto uniform = [](std::uint64_t bits) {
    return static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f;
  };
  for (cf32& v : samples(buffer)) {
    const std::uint64_t bits = generator();
    v = {uniform(bits), uniform(bits >> 32)};
  }
  return buffer;
}

const cf32* row(const Buffer& buffer, std::int64_t r, std::int64_t length) {
  return samples(buffer).data() + r * length;
}

Complex bin(const cf32* x, std::int64_t length, const std::vector<Complex>& phasors) {
  double re = 0, im = 0;
  for (std::int64_t n = 0; n < length; ++n) {
    const Complex w = phasors[static_cast<std::size_t>(n)];
    re += x[n].real() * w.real() - x[n].imag() * w.imag();
    im += x[n].real() * w.imag() + x[n].imag() * w.real();
  }
  return {re, im};
}

std::vector<Complex> convolve(const std::vector<Complex>& x, const cf32* h, std::int64_t taps) {
  std::vector<Complex> y(x.size() + static_cast<std::size_t>(taps) - 1);
  for (std::size_t n = 0; n < x.size(); ++n)
    for (std::int64_t k = 0; k < taps; ++k) {
      const double re = h[k].real(), im = h[k].imag();
      y[n + static_cast<std::size_t>(k)] +=
          Complex(x[n].real() * re - x[n].imag() * im, x[n].real() * im + x[n].imag() * re);
    }
  return y;
}

}  // namespace

/// Rows of all sets on the device, and their copies on the host.
struct ConvolutionTrial::Rows {
  Rows(Backend& backend, std::byte* of, std::int64_t sets, std::int64_t count, std::int64_t length_of,
       std::int64_t pitch_of)
      : host(of),
        rows(count),
        length(length_of),
        pitch(std::max(length_of, pitch_of)),
        memory(backend.allocate(static_cast<std::size_t>(sets * rows * pitch) * kSample)) {}

  cf32* of_set(std::int64_t set) const { return samples(memory).data() + set * rows * pitch; }
  View<cf32, 2> view(std::int64_t set) const { return {of_set(set), {rows, length}, pitch}; }
  std::size_t row_bytes() const { return static_cast<std::size_t>(length) * kSample; }
  std::size_t pitch_bytes() const { return static_cast<std::size_t>(pitch) * kSample; }
  void bring(Backend& backend, std::int64_t set, StreamView stream) const {
    const std::byte* from = host + static_cast<std::size_t>(set * rows) * row_bytes();
    copy(backend, reinterpret_cast<std::byte*>(of_set(set)), pitch_bytes(), from, row_bytes(), stream);
  }
  /// Into the host's first set.
  void fetch(Backend& backend, std::int64_t set, StreamView stream) const {
    copy(backend, host, row_bytes(), reinterpret_cast<const std::byte*>(of_set(set)), pitch_bytes(), stream);
  }
  /// Copies rows without padding as one, which is faster.
  void copy(Backend& backend, std::byte* to, std::size_t to_pitch, const std::byte* from, std::size_t from_pitch,
            StreamView stream) const {
    const auto count = static_cast<std::size_t>(rows);
    if (to_pitch == from_pitch)
      backend.copy(to, count * to_pitch, from, count * to_pitch, count * to_pitch, 1, stream);
    else
      backend.copy(to, to_pitch, from, from_pitch, row_bytes(), count, stream);
  }

  std::byte* host;
  std::int64_t rows;  // of a set
  std::int64_t length;
  std::int64_t pitch;
  Buffer memory;
};

/// One call: the convolution, with transfers in and out if `transfers`. Without a convolver, a copy from x to y.
class ConvolutionTrial::Step final : public Work {
 public:
  Step(ConvolutionTrial& trial, const Convolver* convolver)
      : trial_(trial),
        convolver_(convolver),
        x_(rows(trial.x_, trial.shape_.batch, trial.shape_.signal)),
        h_(rows(trial.h_, trial.shape_.filters(), trial.shape_.taps)),
        g_(rows(trial.g_, trial.shape_.second > 0 ? trial.shape_.filters() : 0, trial.shape_.second)),
        y_(rows(trial.y_, trial.shape_.batch, trial.shape_.outputs())),
        scratch_(trial.backend_.allocate(convolver ? convolver->scratch_bytes() : 0)) {
    QueueOptions options;
    options.wait = Wait::spin;
    options.time_every = 1;
    options.timed_steps = 3;
    queue_ = trial.backend_.make_queue(options);
  }

  /// Throws SetupError if the device fails.
  void call(bool transfers) {
    transfers_ = transfers;
    mark_pending();
    queue_->submit(*this);
    queue_->wait(*this);
    if (!good()) throw SetupError(trial_.backend_.failure());
    set_ = (set_ + 1) % trial_.sets_;
  }
  std::span<const double> us() const { return us_; }

  void enqueue(StreamView stream, StepClock* clock) noexcept override {
    Backend& backend = trial_.backend_;
    if (clock) clock->mark(0, stream);
    if (transfers_)
      for (const Rows* in : {&x_, &h_, &g_})
        if (in->rows > 0) in->bring(backend, set_, stream);
    if (clock) clock->mark(1, stream);
    if (convolver_)
      convolver_->run({x_.view(set_), h_.view(set_), g_.view(set_), y_.view(set_)}, scratch_.data(), stream);
    else
      backend.copy(y_.of_set(set_), 0, x_.of_set(set_), 0, static_cast<std::size_t>(x_.rows) * x_.row_bytes(), 1,
                   stream);
    if (clock) clock->mark(2, stream);
    if (transfers_) y_.fetch(backend, set_, stream);
    if (clock) clock->mark(3, stream);
  }
  std::size_t timed_steps() const noexcept override { return 3; }
  void timed(std::span<const std::int64_t> steps_ns) noexcept override {
    for (std::size_t s = 0; s < 3; ++s) us_[s] = static_cast<double>(steps_ns[s]) / 1e3;
  }
  void finished(bool good) noexcept override { mark_done(good); }

 private:
  std::int64_t padded() const { return convolver_ ? convolver_->padded_row() : 0; }
  Rows rows(const Buffer& from, std::int64_t count, std::int64_t length) const {
    return Rows(trial_.backend_, from.data(), trial_.sets_, count, length, padded());
  }

  ConvolutionTrial& trial_;
  const Convolver* convolver_;
  Rows x_, h_, g_, y_;
  Buffer scratch_;
  std::unique_ptr<Queue> queue_;
  std::int64_t set_ = 0;
  bool transfers_ = false;
  double us_[3] = {};
};

ConvolutionTrial::ConvolutionTrial(Backend& backend, const ConvolutionShape& shape) : backend_(backend), shape_(shape) {
  backend.use();
  std::mt19937_64 generator(std::random_device{}());
  const std::int64_t bytes = shape.batch * (shape.signal + shape.outputs()) * static_cast<std::int64_t>(kSample);
  sets_ = std::clamp<std::int64_t>(kSetsBytes / bytes, 1, kMostSets);
  x_ = random_samples(backend, sets_ * shape.batch * shape.signal, generator);
  h_ = random_samples(backend, sets_ * shape.filters() * shape.taps, generator);
  g_ = random_samples(backend, sets_ * shape.filters() * shape.second, generator);
  y_ = backend.allocate_shared(static_cast<std::size_t>(shape.batch * shape.outputs()) * kSample);
}

ConvolutionTimes ConvolutionTrial::measure(const ConvolutionTable& table, const ConvolutionChoice& choice,
                                           double seconds) {
  backend_.use();
  const std::unique_ptr<Convolver> convolver = table.make(shape_, choice);
  Step step(*this, convolver.get());
  step.call(true);
  check(text_of(choice));
  ConvolutionTimes times;
  times.flops = convolver->flops();
  // The call above has transferred only the first set.
  for (std::int64_t call = 1; call < std::max<std::int64_t>(sets_, kLeastCalls + 1); ++call) {
    step.call(true);
    times.in_us.push_back(step.us()[0]);
    times.out_us.push_back(step.us()[2]);
  }
  const std::int64_t end = steady_ns() + static_cast<std::int64_t>(seconds * 1e9);
  while (std::ssize(times.run_us) < kLeastCalls || steady_ns() < end) {
    step.call(false);
    times.run_us.push_back(step.us()[1]);
  }
  return times;
}

double ConvolutionTrial::copy_us() {
  backend_.use();
  Step step(*this, nullptr);
  std::vector<double> us;
  for (int i = 0; i < 4 * kLeastCalls; ++i) {
    step.call(false);
    us.push_back(step.us()[1]);
  }
  const double copied = 2 * static_cast<double>(shape_.batch * shape_.signal);
  const double moved = static_cast<double>(shape_.batch * (shape_.signal + shape_.outputs()) +
                                           shape_.filters() * (shape_.taps + shape_.second));
  return median(us) * moved / copied;
}

void ConvolutionTrial::check(const std::string& what) const {
  std::mt19937_64 generator(std::random_device{}());
  const double turn = std::uniform_real_distribution<double>(0, 1)(generator);
  std::vector<Complex> phasors;
  for (std::int64_t n = 0; n < shape_.outputs(); ++n)
    phasors.push_back(std::polar(1.0, 2 * std::numbers::pi * std::fmod(turn * static_cast<double>(n), 1.0)));
  for (std::int64_t b = 0; b < shape_.batch; ++b) check_bin(b, phasors, what);
  const std::int64_t each = shape_.outputs() * (shape_.taps + shape_.second);
  const std::int64_t packets = std::clamp<std::int64_t>(kCheckedSamples / each, 1, 4);
  for (std::int64_t p = 0; p < packets; ++p)
    check_samples(p == 0 ? shape_.batch - 1 : static_cast<std::int64_t>(generator() >> 1) % shape_.batch, what);
}

void ConvolutionTrial::check_bin(std::int64_t b, const std::vector<Complex>& phasors, const std::string& what) const {
  const std::int64_t f = shape_.one_filter ? 0 : b;
  Complex due =
      bin(row(x_, b, shape_.signal), shape_.signal, phasors) * bin(row(h_, f, shape_.taps), shape_.taps, phasors);
  if (shape_.second > 0) due *= bin(row(g_, f, shape_.second), shape_.second, phasors);
  const cf32* const y = row(y_, b, shape_.outputs());
  double square = 0;
  for (std::int64_t i = 0; i < shape_.outputs(); ++i) square += std::norm(Complex(y[i]));
  if (!(std::abs(bin(y, shape_.outputs(), phasors) - due) <= kTolerance * std::sqrt(square)))
    throw SetupError(fmt::format("`{}` of {} is wrong in packet {}: report this", what, text_of(shape_), b));
}

void ConvolutionTrial::check_samples(std::int64_t b, const std::string& what) const {
  const std::int64_t f = shape_.one_filter ? 0 : b;
  const cf32* const x = row(x_, b, shape_.signal);
  std::vector<Complex> due = convolve({x, x + shape_.signal}, row(h_, f, shape_.taps), shape_.taps);
  if (shape_.second > 0) due = convolve(due, row(g_, f, shape_.second), shape_.second);
  const cf32* const y = row(y_, b, shape_.outputs());
  double square = 0, worst = 0;
  std::int64_t at = 0;
  for (std::int64_t i = 0; i < shape_.outputs(); ++i) {
    const double error = std::abs(Complex(y[i]) - due[static_cast<std::size_t>(i)]);
    square += std::norm(due[static_cast<std::size_t>(i)]);
    if (error > worst || std::isnan(error)) worst = error, at = i;
  }
  if (!(worst <= kTolerance * std::sqrt(square / static_cast<double>(shape_.outputs()))))
    throw SetupError(fmt::format("`{}` of {} is wrong in packet {}, sample {}: {}+{}j instead of {}+{}j; report this",
                                 what, text_of(shape_), b, at, y[at].real(), y[at].imag(),
                                 due[static_cast<std::size_t>(at)].real(), due[static_cast<std::size_t>(at)].imag()));
}

std::vector<ConvolutionChoice> choices_to_try(const ConvolutionTable& table, const ConvolutionShape& shape,
                                              const std::string& method, bool all_sizes) {
  std::vector<ConvolutionChoice> chosen;
  for (const ConvolutionChoice& choice : table.choices(shape)) {
    const bool first = chosen.empty() || chosen.back().method != choice.method;
    if ((method.empty() || method == choice.method) && (first || all_sizes)) chosen.push_back(choice);
  }
  return chosen;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace iqd
