// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "config/reader.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/plan/positions.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/stages.hpp"

/// For the tests of stages: a stage configured by YAML, fed with a stream in blocks of any lengths.
namespace iqd::testing {

inline PortShape stream_of(Element element, std::int64_t channels = 1, double rate_hz = 1e6) {
  PortShape s;
  s.element = element;
  if (channels > 1) s.rows = {{"channel", channels}};
  s.rate_hz = s.source_rate_hz = rate_hz;
  return s;
}

class StageUnderTest {
 public:
  /// `yaml`: the stage's keys. Not usable if there are problems. Inputs that are not given are left out.
  StageUnderTest(const StageEntry& entry, const std::string& yaml, std::vector<PortShape> in,
                 std::int64_t most_new = 1 << 20)
      : in_(std::move(in)), out_(entry.outputs.size(), in_.front()), stage_(entry.make()) {
    in_.resize(std::max(in_.size(), entry.inputs.size()));
    footprint_.resize(in_.size());
    const Document document = parse_document(yaml, "test.yaml", problems_);
    const Section section = read_fields(
        document.root, [&](FieldVisitor& v) { stage_->fields(v); }, problems_);
    if (!problems_.empty()) return;
    ShapeContext context{.in = in_, .out = out_, .footprint = footprint_, .most_new = most_new, .section = section};
    stage_->shape(context);
    scratch_.resize(context.scratch_bytes);
    chunk_exempt_ = context.chunk_exempt;
    if (problems_.empty()) run_ = stage_->make(*backend_);
  }

  const Problems& problems() const { return problems_; }
  /// All problems, one line each.
  std::string complaints() const {
    std::string text;
    for (const Problem& p : problems_) text += p.text() + "\n";
    return text;
  }
  const PortShape& out(std::size_t o = 0) const { return out_[o]; }
  const Footprint& footprint() const { return footprint_[0]; }
  bool chunk_exempt() const { return chunk_exempt_; }

  /// A stream in, a stream out: rows one after the other, cut into blocks of these new lengths (the last one repeats).
  /// Each window is a separate copy, at any alignment, so that an address checker sees every stray read.
  template <class Out, class In>
  std::vector<Out> stream(const std::vector<In>& x, const std::vector<std::int64_t>& lengths = {1 << 30}) {
    return streams<Out>(std::vector<std::vector<In>>{x}, lengths);
  }
  template <class Out, class In>
  std::vector<Out> streams(const std::vector<std::vector<In>>& x, const std::vector<std::int64_t>& lengths) {
    const std::int64_t n = per_row(x[0], in_[0]);
    std::vector<std::vector<Out>> rows(static_cast<std::size_t>(out_[0].row_count()));
    std::size_t turn = 0;
    for (std::int64_t at = 0; at < n;) {
      const std::int64_t length = std::min(lengths[std::min(turn++, lengths.size() - 1)], n - at);
      block(x, at, at + length, n, rows);
      at += length;
    }
    std::vector<Out> all;
    for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
    return all;
  }

  /// One block of positions begin … end of a stream, or a whole item if the input has one per block; returns the output
  /// of a stage that makes one or several items per block, or none.
  template <class Out, class In>
  std::vector<Out> once(const std::vector<In>& x, std::int64_t begin, std::int64_t end, std::int32_t in_count = 1) {
    const bool one = in_[0].axis != Axis::stream;
    const std::int64_t n = one ? std::max<std::int64_t>(in_[0].most, 1) : per_row(x, in_[0]);
    Window<In> in(x, in_[0], one ? 0 : std::max<std::int64_t>(0, begin - footprint_[0].past),
                  one ? n : std::min(n, end + footprint_[0].future), n);
    if (one) in.count = in_count;
    const std::int64_t most = out_[0].axis == Axis::stream ? end - begin : out_[0].most;
    std::vector<Out> y(static_cast<std::size_t>(most * out_[0].item_size() * out_[0].row_count()));
    count_ = 0;
    const PortIo to{.data = reinterpret_cast<std::byte*>(y.data()),
                    .length = most,
                    .pitch = most * out_[0].item_bytes(),
                    .rows = out_[0].row_count(),
                    .item = out_[0].item_size(),
                    .count = &count_};
    const std::vector<PortIo> from{in.io()};
    run_->enqueue({.in = from, .out = {&to, 1}, .first_new = begin, .end_new = end, .scratch = scratch_.data()}, {});
    if (out_[0].row_count() == 1) y.resize(static_cast<std::size_t>(count_ * out_[0].item_size()));
    return y;
  }
  std::int32_t count() const { return count_; }

 private:
  /// Some positions of rows of samples, in the form that a stage gets.
  template <class T> struct Window {
    Window(const std::vector<T>& x, const PortShape& shape, std::int64_t first, std::int64_t end, std::int64_t n)
        : first_(first), length_(end - first), rows_(shape.row_count()), item_(shape.item_size()) {
      for (std::int64_t r = 0; r < rows_; ++r)
        memory_.insert(memory_.end(), x.begin() + (r * n + first) * item_, x.begin() + (r * n + end) * item_);
      memory_.shrink_to_fit();
      count = static_cast<std::int32_t>(length_);
    }
    PortIo io() {
      return {.data = reinterpret_cast<std::byte*>(memory_.data()),
              .first = first_,
              .length = length_,
              .pitch = length_ * item_ * static_cast<std::int64_t>(sizeof(T)),
              .rows = rows_,
              .item = item_,
              .count = &count};
    }
    std::int32_t count = 0;

   private:
    std::int64_t first_, length_, rows_, item_;
    std::vector<T> memory_;
  };

  template <class T> static std::int64_t per_row(const std::vector<T>& x, const PortShape& shape) {
    return std::ssize(x) / shape.row_count() / shape.item_size();
  }

  template <class Out, class In> void block(const std::vector<std::vector<In>>& x, std::int64_t begin, std::int64_t end,
                                            std::int64_t n, std::vector<std::vector<Out>>& rows) {
    const Footprint& f = footprint_[0];
    const std::int64_t future = f.future + (f.whole ? f.granule - 1 : 0);
    std::vector<Window<In>> windows;
    for (std::size_t i = 0; i < x.size(); ++i)
      windows.emplace_back(x[i], in_[i], std::max<std::int64_t>(0, begin - f.past), std::min(n, end + future), n);
    std::vector<PortIo> in;
    for (Window<In>& w : windows) in.push_back(w.io());
    const std::int64_t first = first_from(f, begin);
    const std::int64_t last = std::min(first_from(f, end), makeable_before(f, in[0].end()));
    if (last <= first) return;
    const std::int64_t item = out_[0].item_size();
    std::vector<Out> y(static_cast<std::size_t>((last - first) * item * out_[0].row_count()));
    std::int32_t count = 0;
    const PortIo to{.data = reinterpret_cast<std::byte*>(y.data()),
                    .first = first,
                    .length = last - first,
                    .pitch = (last - first) * out_[0].item_bytes(),
                    .rows = out_[0].row_count(),
                    .item = item,
                    .count = &count};
    run_->enqueue({.in = in, .out = {&to, 1}, .first_new = begin, .end_new = end, .scratch = scratch_.data()}, {});
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto row = y.begin() + static_cast<std::int64_t>(r) * (last - first) * item;
      rows[r].insert(rows[r].end(), row, row + (last - first) * item);
    }
  }

  std::vector<PortShape> in_;
  std::vector<PortShape> out_;
  std::unique_ptr<Stage> stage_;
  std::vector<Footprint> footprint_;
  Problems problems_;
  std::vector<std::byte> scratch_;
  bool chunk_exempt_ = false;
  std::unique_ptr<Backend> backend_ = make_cpu_backend();
  std::unique_ptr<StageRun> run_;
  std::int32_t count_ = 0;
};

/// Seeded noise of variance 1/6 per part.
inline std::vector<cf32> complex_noise(std::int64_t n, unsigned seed = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> part(-0.707f, 0.707f);
  std::vector<cf32> x(static_cast<std::size_t>(n));
  for (cf32& v : x) v = {part(engine), part(engine)};
  return x;
}
inline std::vector<float> real_noise(std::int64_t n, unsigned seed = 1) {
  std::vector<float> x;
  for (const cf32 v : complex_noise(n, seed)) x.push_back(v.real());
  return x;
}

/// Bit-identical; NaN equals NaN with the same bits.
template <class T> bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace iqd::testing
