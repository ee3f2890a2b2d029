// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/python/python_cpu.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/integer.hpp"

namespace iqd::python {
namespace {

using Counts = std::array<std::int64_t, std::size(kEvents)>;

Event event_of(Ending ending) noexcept {
  switch (ending) {
    case Ending::raised: return kRaised;
    case Ending::unfit: return kUnfit;
    case Ending::late: return kLate;
    default: return kDied;
  }
}

/// One block of a stage: cut into calls, each with its arrays.
class Block {
 public:
  Block(const Prepared& prepared, const StageIo& io) noexcept
      : crew_(*prepared.crew), setup_(prepared.setup), shapes_(setup_.shapes), io_(io), out_(io.out[0]) {}

  /// False if it failed.
  bool compute(Counts& counts) noexcept {
    place_ = crew_.take();
    if (!place_) ++counts[kUnserved];
    if (!place_) return false;
    prepare();
    const Ending ending = shapes_.to_stream() ? stream() : shapes_.of_stream() ? found() : items();
    crew_.give_back(*place_, ending);
    if (ending != Ending::good) ++counts[event_of(ending)];
    return ending == Ending::good;
  }

  /// Zeros, or no items.
  void blank() const noexcept {
    const std::int64_t zeros = shapes_.to_stream() ? out_.length : shapes_.each() ? *io_.in[0].count : 0;
    for (std::int64_t r = 0; r < out_.rows && zeros > 0; ++r)
      std::memset(out_.data + r * out_.pitch, 0, static_cast<std::size_t>(zeros * shapes_.out.item_bytes()));
    if (!shapes_.to_stream()) *out_.count = static_cast<std::int32_t>(zeros);
  }
  bool is_empty() const noexcept {
    if (shapes_.to_stream()) return out_.length <= 0;
    return shapes_.of_stream() ? io_.new_in_all().length() == 0 : *io_.in[0].count == 0;
  }

 private:
  /// Gives the process the setup, if it has another one.
  void prepare() noexcept {
    Request& request = place_->worker().request();
    if (place_->setup == setup_.number) return;
    place_->setup = setup_.number;
    std::memcpy(place_->worker().setup(), setup_.text.data(), setup_.text.size());
    request.setup = setup_.number;
    request.setup_bytes = std::ssize(setup_.text);
  }

  /// Whole granules, as many at a time as memory was allotted for.
  Ending stream() noexcept {
    const std::int64_t end = ceil_div(out_.end(), shapes_.interpolation);
    Ending ending = Ending::good;
    for (std::int64_t at = floor_div(out_.first, shapes_.interpolation); at < end && ending == Ending::good;
         at += setup_.most_granules) {
      const std::int64_t granules = std::min(setup_.most_granules, end - at);
      fill({at * shapes_.decimation, (at + granules) * shapes_.decimation});
      const Positions made{at * shapes_.interpolation, (at + granules) * shapes_.interpolation};
      std::int64_t count = 0;
      ending = call(made.length(), count);
      if (ending == Ending::good) take_positions(made);
    }
    return ending;
  }
  Ending found() noexcept {
    if (io_.new_in_all().length() > shapes_.most_new) return Ending::unfit;
    fill(io_.new_in_all());
    return call_for_items(shapes_.out.axis == Axis::block ? 1 : shapes_.out.most);
  }
  Ending items() noexcept {
    const bool one = shapes_.in.front().axis == Axis::block;
    const std::int64_t count = one ? 1 : *io_.in[0].count;
    if (!one && count > shapes_.in.front().most) return Ending::unfit;
    std::size_t offset = kInputsAt;
    for (std::size_t i = 0; i < io_.in.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(count * shapes_.in[i].item_bytes());
      std::memcpy(memory_at(offset), io_.in[i].data, bytes);
      place_array(i, one ? -1 : count, offset, bytes);
    }
    describe({0, count}, 0, 0);
    return call_for_items(shapes_.each() ? count : shapes_.out.axis == Axis::block ? 1 : shapes_.out.most);
  }

  /// Copies the inputs' samples at these positions and around them; 0 where there are none.
  void fill(Positions fresh) noexcept {
    const Positions all{fresh.first - shapes_.past, fresh.end + shapes_.future};
    std::size_t offset = kInputsAt;
    for (std::size_t i = 0; i < io_.in.size(); ++i) {
      const PortIo& in = io_.in[i];
      const auto item = static_cast<std::size_t>(shapes_.in[i].item_bytes());
      const std::size_t row_bytes = static_cast<std::size_t>(all.length()) * item;
      const auto before =
          static_cast<std::size_t>(std::clamp<std::int64_t>(in.first - all.first, 0, all.length())) * item;
      const auto there = static_cast<std::size_t>(all.common(in.first, in.end())) * item;
      const std::int64_t from = std::max(all.first - in.first, std::int64_t{0}) * static_cast<std::int64_t>(item);
      for (std::int64_t r = 0; r < in.rows; ++r) {
        std::byte* const row = memory_at(offset) + static_cast<std::size_t>(r) * row_bytes;
        std::memset(row, 0, before);
        if (there > 0) std::memcpy(row + before, in.data + r * in.pitch + from, there);
        std::memset(row + before + there, 0, row_bytes - before - there);
      }
      place_array(i, all.length(), offset, row_bytes * static_cast<std::size_t>(in.rows));
    }
    const PortIo& in = io_.in[0];
    describe(fresh, std::clamp<std::int64_t>(fresh.first - in.first, 0, shapes_.past),
             std::clamp<std::int64_t>(in.end() - fresh.end, 0, shapes_.future));
  }
  std::byte* memory_at(std::size_t offset) noexcept { return place_->worker().inputs() + (offset - kInputsAt); }
  void place_array(std::size_t i, std::int64_t length, std::size_t& offset, std::size_t bytes) noexcept {
    place_->worker().request().length[i] = length;
    place_->worker().request().offset[i] = static_cast<std::int64_t>(offset);
    offset += (bytes + kPage - 1) / kPage * kPage;
  }

  /// Writes what is known of these positions.
  void describe(Positions fresh, std::int64_t valid_past, std::int64_t valid_future) noexcept {
    static const SampleBlock kNone;
    const SampleBlock& block = io_.block ? *io_.block : kNone;
    Request& r = place_->worker().request();
    r.past = shapes_.of_stream() ? shapes_.past : 0;
    r.future = shapes_.of_stream() ? shapes_.future : 0;
    r.fresh_positions = fresh.length();
    r.valid_past = valid_past;
    r.valid_future = valid_future;
    r.position = fresh.first;
    r.sample = sample_of(fresh.first, block);
    r.time_ns = block.time_ns;
    if (const double rate = shapes_.in.front().source_rate_hz; rate > 0)
      r.time_ns += static_cast<std::int64_t>(static_cast<double>(r.sample - block.first) * 1e9 / rate);
    r.gap = block.gap;
    r.dropped = block.dropped;
    r.block = static_cast<std::int64_t>(block.seq);
    r.tuned = block.tuned;
    r.fresh = block.fresh ? 1 : 0;
    r.retuned_hz = shapes_.in.front().on_air ? block.retuned_hz : 0;
  }
  /// The source's sample of a position of the input. Items belong to their block.
  SampleIndex sample_of(std::int64_t position, const SampleBlock& block) const noexcept {
    const PortShape& in = shapes_.in.front();
    if (!shapes_.of_stream()) return block.first;
    if (!(in.rate_hz > 0) || in.rate_hz == in.source_rate_hz) return position;
    const long double ratio = static_cast<long double>(in.source_rate_hz) / static_cast<long double>(in.rate_hz);
    return static_cast<SampleIndex>(static_cast<long double>(position) * ratio + 1e-6L);
  }

  Ending call(std::int64_t most, std::int64_t& count) noexcept {
    place_->worker().request().most = most;
    return crew_.call(*place_, count);
  }
  Ending call_for_items(std::int64_t most) noexcept {
    std::int64_t count = 0;
    const Ending ending = call(most, count);
    if (ending != Ending::good) return ending;
    std::memcpy(out_.data, place_->worker().results(), static_cast<std::size_t>(count * shapes_.out.item_bytes()));
    *out_.count = static_cast<std::int32_t>(count);
    return ending;
  }
  void take_positions(Positions made) const noexcept {
    const std::int64_t item = shapes_.out.item_bytes();
    const std::int64_t first = std::max(made.first, out_.first);
    const auto bytes = static_cast<std::size_t>(made.common(out_.first, out_.end()) * item);
    for (std::int64_t r = 0; r < out_.rows; ++r)
      std::memcpy(out_.data + r * out_.pitch + (first - out_.first) * item,
                  place_->worker().results() + (r * made.length() + first - made.first) * item, bytes);
  }

  Crew& crew_;
  const Setup& setup_;
  const Shapes& shapes_;
  const StageIo& io_;
  const PortIo& out_;
  Crew::Place* place_ = nullptr;
};

}  // namespace

void run_cpu(const Prepared& prepared, const StageIo& io) noexcept {
  Counts counts{};
  Block block(prepared, io);
  const bool has_failed = !block.is_empty() && !block.compute(counts);
  if (has_failed || block.is_empty()) block.blank();
  if (has_failed) io.fail();
  counts[kRestarted] = prepared.crew->take_restarts();
  if (io.out.size() > 1) io.out[1].put_tally(counts);
}

}  // namespace iqd::python
