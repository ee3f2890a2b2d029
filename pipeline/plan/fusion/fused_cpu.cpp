// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include "pipeline/plan/fusion/element_program.hpp"

namespace iqd::fusion {
namespace {

/// Elements of a piece. The values between calls are a few pieces with 8 bytes per element, and should fit in the
/// first-level cache; a call's own cost is small compared with its loop.
constexpr std::int64_t kPiece = 1024;
constexpr std::size_t kShelfBytes = kPiece * 8;
constexpr std::size_t kMostValues = kMostInputs + kMostCalls * kMostOfCall;
constexpr std::size_t kNoShelf = std::numeric_limits<std::size_t>::max();

/// Intermediate values of a piece are kept on shelves of the scratch; a shelf is reused when its value has no more
/// readers. A call may overwrite an input of the same size.
class Shelves {
 public:
  explicit Shelves(const ElementProgram& program) : program_(program), shelf_of_(program.values.size(), kNoShelf) {
    for (std::size_t c = 0; c < program.calls.size(); ++c) place(c);
  }
  /// kNoShelf: it is at a port.
  std::size_t shelf_of(std::size_t value) const { return shelf_of_[value]; }
  std::size_t count() const { return until_.size(); }

 private:
  void place(std::size_t call) {
    for (const std::size_t out : program_.calls[call].out) {
      if (leaves(out)) continue;
      const std::size_t shelf = shelf_of_[out] = free_shelf(out, call);
      until_[shelf] = last_reader(out, call);
      size_[shelf] = size_of_value(out);
    }
  }
  std::size_t free_shelf(std::size_t value, std::size_t call) {
    for (std::size_t s = 0; s < until_.size(); ++s)
      if (until_[s] < call || (until_[s] == call && made_before(s, call) && size_[s] == size_of_value(value))) return s;
    until_.push_back(0);
    size_.push_back(0);
    return until_.size() - 1;
  }
  /// Whether the shelf holds none of this call's own outputs.
  bool made_before(std::size_t shelf, std::size_t call) const {
    return std::ranges::none_of(program_.calls[call].out, [&](std::size_t out) { return shelf_of_[out] == shelf; });
  }
  bool leaves(std::size_t value) const { return std::ranges::find(program_.outputs, value) != program_.outputs.end(); }
  std::size_t size_of_value(std::size_t value) const { return size_of(program_.values[value]); }
  std::size_t last_reader(std::size_t value, std::size_t maker) const {
    std::size_t last = maker;
    for (std::size_t c = maker; c < program_.calls.size(); ++c)
      if (std::ranges::find(program_.calls[c].in, value) != program_.calls[c].in.end()) last = c;
    return last;
  }

  const ElementProgram& program_;
  std::vector<std::size_t> shelf_of_;  // of each value
  std::vector<std::size_t> until_;     // of each shelf: the last call that reads it
  std::vector<std::size_t> size_;      // of the elements on it
};

class CpuRun final : public StageRun {
 public:
  explicit CpuRun(const ElementProgram& program) : program_(program) {
    assert(program.values.size() <= kMostValues);
    const Shelves shelves(program);
    for (std::size_t v = 0; v < program.values.size(); ++v) shelf_of_.push_back(shelves.shelf_of(v));
  }

  void enqueue(const StageIo& io, StreamView) const noexcept override {
    const std::int64_t positions = program_.varies ? hand_on_count(io) : io.out[0].length;
    const std::int64_t item = io.out[0].item;
    for (std::int64_t row = 0; row < io.out[0].rows; ++row)
      for (std::int64_t done = 0; done < positions * item; done += kPiece)
        run_piece(io, row, done, std::min(kPiece, positions * item - done));
  }

 private:
  using Places = std::array<std::byte*, kMostValues>;

  /// The smallest count of the inputs holds.
  static std::int64_t hand_on_count(const StageIo& io) noexcept {
    std::int32_t count = *io.in[0].count;
    for (const PortIo& in : io.in) count = std::min(count, *in.count);
    for (const PortIo& out : io.out) *out.count = count;
    return count;
  }
  void run_piece(const StageIo& io, std::int64_t row, std::int64_t done, std::int64_t n) const noexcept {
    Places at;
    for (std::size_t v = 0; v < shelf_of_.size(); ++v)
      if (shelf_of_[v] != kNoShelf) at[v] = io.scratch + shelf_of_[v] * kShelfBytes;
    for (std::size_t i = 0; i < io.in.size(); ++i) at[i] = place(io, io.in[i], i, row, done);
    for (std::size_t o = 0; o < io.out.size(); ++o) {
      const std::size_t value = program_.outputs[o];
      at[value] = place(io, io.out[o], value, row, done);
    }
    const std::int64_t first = io.out[0].first * io.out[0].item + done;
    for (const ElementProgram::Call& call : program_.calls) {
      std::array<const void*, kMostOfCall> in{};
      std::array<void*, kMostOfCall> out{};
      for (std::size_t i = 0; i < call.in.size(); ++i) in[i] = at[call.in[i]];
      for (std::size_t o = 0; o < call.out.size(); ++o) out[o] = at[call.out[o]];
      call.code->apply({in.data(), call.in.size()}, {out.data(), call.out.size()}, first, n);
    }
  }
  std::byte* place(const StageIo& io, const PortIo& port, std::size_t value, std::int64_t row,
                   std::int64_t done) const noexcept {
    const std::int64_t element = (io.out[0].first - port.first) * port.item + done;
    return port.data + row * port.pitch + element * static_cast<std::int64_t>(size_of(program_.values[value]));
  }

  ElementProgram program_;
  std::vector<std::size_t> shelf_of_;  // of each value
};

}  // namespace

std::unique_ptr<StageRun> make_cpu_run(const ElementProgram& program) {
  return std::make_unique<CpuRun>(program);
}
std::size_t cpu_scratch_bytes(const ElementProgram& program) {
  return Shelves(program).count() * kShelfBytes;
}

}  // namespace iqd::fusion
