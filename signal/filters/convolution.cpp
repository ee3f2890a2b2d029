// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "signal/filters/convolution.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "signal/filters/fft_plan.hpp"
#include "signal/filters/filter_kernel.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kLeastSize = 256;
constexpr std::int64_t kMostSize = 16'384;

/// A packet's row of filters; one row may serve all packets.
View<const cf32, 1> row_of(View<const cf32, 2> filters, std::int64_t packet) {
  return filters.row(filters.extent(0) == 1 ? 0 : packet);
}

/// Joins two filters into one: from `h` and `g` to `all`.
void join_filters(View<const cf32, 1> h, View<const cf32, 1> g, cf32* all) {
  std::fill_n(all, h.extent(0) + std::max<std::int64_t>(g.extent(0), 1) - 1, cf32());
  if (g.extent(0) == 0) return static_cast<void>(std::copy_n(h.data(), h.extent(0), all));
  for (std::int64_t k = 0; k < g.extent(0); ++k)
    for (std::int64_t i = 0; i < h.extent(0); ++i) all[i + k] += g(k) * h(i);
}

/// x(first …) of a packet, zero outside of it.
void load(View<const cf32, 1> x, std::int64_t first, std::int64_t count, cf32* to) {
  const std::int64_t begin = std::clamp<std::int64_t>(-first, 0, count);
  const std::int64_t end = std::clamp<std::int64_t>(x.extent(0) - first, begin, count);
  std::fill(to, to + begin, cf32());
  std::copy(x.data() + first + begin, x.data() + first + end, to + begin);
  std::fill(to + end, to + count, cf32());
}

class Direct final : public Convolver {
 public:
  explicit Direct(const ConvolutionShape& shape) : shape_(shape) {}

  std::size_t scratch_bytes() const noexcept override { return Work{shape_, Scratch(nullptr)}.scratch.bytes(); }
  double flops() const noexcept override { return direct_flops(shape_, shape_.all_taps()); }

  void run(const ConvolutionIo& io, std::byte* memory, StreamView) const noexcept override {
    const Work work{shape_, Scratch(memory)};
    const FilterPhase all{work.re, work.im, shape_.all_taps(), reinterpret_cast<const float*>(work.x + work.past)};
    for (std::int64_t b = 0; b < io.x.extent(0); ++b) {
      if (b == 0 || io.h.extent(0) > 1) split_filter(row_of(io.h, b), row_of(io.g, b), work);
      load(io.x.row(b), -work.past, work.past + shape_.outputs() + kFilterMargin, work.x);
      filter_tile({&all, 1}, true, reinterpret_cast<float*>(&io.y(b, 0)), shape_.outputs());
    }
  }

 private:
  struct Work {
    const ConvolutionShape& shape;
    Scratch scratch;
    std::int64_t past = shape.all_taps() - 1 + kFilterMargin;
    cf32* taps = scratch.take<cf32>(shape.all_taps());
    float* re = scratch.take<float>(shape.all_taps());
    float* im = scratch.take<float>(shape.all_taps());
    cf32* x = scratch.take<cf32>(past + shape.outputs() + kFilterMargin);  // padded with zeros on both sides
  };

  void split_filter(View<const cf32, 1> h, View<const cf32, 1> g, const Work& work) const noexcept {
    join_filters(h, g, work.taps);
    for (std::int64_t k = 0; k < shape_.all_taps(); ++k) {
      work.re[k] = work.taps[k].real();
      work.im[k] = work.taps[k].imag();
    }
  }

  ConvolutionShape shape_;
};

/// Circular convolutions by transforms, one or several per packet.
class Transforms final : public Convolver {
 public:
  Transforms(const ConvolutionShape& shape, std::int64_t size)
      : shape_(shape),
        segments_(segments_of(shape, size)),
        forward_(size),
        inverse_(size, FftPlan::Direction::inverse) {}

  std::size_t scratch_bytes() const noexcept override {
    return Work{{segments_.size, Scratch(nullptr)}}.scratch.bytes();
  }
  double flops() const noexcept override { return segment_flops(shape_, segments_); }

  void run(const ConvolutionIo& io, std::byte* memory, StreamView) const noexcept override {
    const Work work{{segments_.size, Scratch(memory)}};
    for (std::int64_t b = 0; b < io.x.extent(0); ++b) {
      if (b == 0 || io.h.extent(0) > 1) respond(row_of(io.h, b), row_of(io.g, b), work);
      for (std::int64_t s = 0; s < segments_.count; ++s) convolve(io.x.row(b), s, work, &io.y(b, 0));
    }
  }

 private:
  struct Work : FftRoom {
    cf32* response = scratch.take<cf32>(size);
  };

  /// The filters' transform, with the 1/size that the inverse transform omits.
  void respond(View<const cf32, 1> h, View<const cf32, 1> g, const Work& work) const noexcept {
    join_filters(h, g, work.time);
    std::fill(work.time + shape_.all_taps(), work.time + segments_.size, cf32());
    forward_.run(work.time, work.response);
    const float scale = 1.0f / static_cast<float>(segments_.size);
    for (std::int64_t n = 0; n < segments_.size; ++n) work.response[n] *= scale;
  }

  void convolve(View<const cf32, 1> x, std::int64_t s, const Work& work, cf32* y) const noexcept {
    const std::int64_t first = s * segments_.step - segments_.skip;
    load(x, first, segments_.size, work.time);
    forward_.run(work.time, work.bins);
    // Written out: std::complex's product checks for infinities, which prevents vectorisation.
    for (std::int64_t n = 0; n < segments_.size; ++n) {
      const cf32 a = work.bins[n], h = work.response[n];
      work.bins[n] = {a.real() * h.real() - a.imag() * h.imag(), a.real() * h.imag() + a.imag() * h.real()};
    }
    inverse_.run(work.bins, work.time);
    const std::int64_t end = std::min(segments_.size, shape_.outputs() - first);
    std::copy(work.time + segments_.skip, work.time + end, y + first + segments_.skip);
  }

  ConvolutionShape shape_;
  Segments segments_;
  FftPlan forward_;
  FftPlan inverse_;
};

/// The next size for which FFTW has fast code: 2^a 3^b 5^c.
std::int64_t quick_size(std::int64_t least) {
  for (std::int64_t size = least;; ++size) {
    std::int64_t rest = size;
    for (const std::int64_t factor : {2, 3, 5})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return size;
  }
}

/// Of these, the size whose transforms need the fewest operations.
std::int64_t best_overlap(const ConvolutionShape& shape, const std::vector<std::int64_t>& sizes) {
  return *std::min_element(sizes.begin(), sizes.end(), [&](std::int64_t a, std::int64_t b) {
    return segment_flops(shape, segments_of(shape, a)) < segment_flops(shape, segments_of(shape, b));
  });
}

std::vector<std::int64_t> overlap_sizes(const ConvolutionShape& shape) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = kLeastSize; size <= kMostSize && size < shape.outputs(); size *= 2)
    if (size >= 2 * shape.all_taps()) sizes.push_back(size);
  return sizes;
}

std::vector<ConvolutionChoice> choices(const ConvolutionShape& shape) {
  std::vector<ConvolutionChoice> all{{"direct", 0}};
  const std::int64_t whole = quick_size(shape.outputs());
  all.push_back({"fft", whole});
  const auto power = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(shape.outputs())));
  if (power != whole) all.push_back({"fft", power});
  const std::vector<std::int64_t> sizes = overlap_sizes(shape);
  if (sizes.empty()) return all;
  const std::int64_t best = best_overlap(shape, sizes);
  all.push_back({"overlap", best});
  for (const std::int64_t size : sizes)
    if (size != best) all.push_back({"overlap", size});
  return all;
}

/// Up to this many taps per lane of a vector `direct` is faster: packets of 12,672 samples break even at some 65 taps
/// with 16 lanes (AVX-512).
constexpr std::int64_t kDirectUpTo = 4;

ConvolutionChoice rule(const ConvolutionShape& shape) {
  if (shape.all_taps() <= kDirectUpTo * filter_lanes()) return {"direct", 0};
  const std::vector<std::int64_t> sizes = overlap_sizes(shape);
  if (sizes.empty()) return {"fft", quick_size(shape.outputs())};
  return {"overlap", best_overlap(shape, sizes)};
}

std::unique_ptr<Convolver> make(const ConvolutionShape& shape, const ConvolutionChoice& choice) {
  check_choice(choices(shape), shape, choice);
  if (choice.method == "direct") return std::make_unique<Direct>(shape);
  return std::make_unique<Transforms>(shape, choice.size);
}

}  // namespace

const ConvolutionTable& cpu_convolution() {
  static constexpr ConvolutionTable table{choices, rule, make};
  return table;
}

}  // namespace iqd
