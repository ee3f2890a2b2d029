// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "python/native/stream.hpp"

#include <algorithm>
#include <cstring>

#include "python/native/errors.hpp"
#include "python/native/given_arrays.hpp"

namespace iqd::native {
namespace py = pybind11;

void Stream::open(const InputArray& samples) {
  if (samples.shape.empty()) raise_config({"blocks takes arrays [n] or [channel][n]"});
  prepared_ = chain_->prepare_stream(samples, options_);
  rows_ = prepared_.rows.front() > 0 ? static_cast<std::size_t>(samples.shape[0]) : 1;
  run_ = std::make_unique<ResultMemory>(prepared_.program);
}

/// Drops what no later block reads, and grows if the rest and the new positions need it.
void Stream::make_room(std::int64_t positions) {
  const ArrayPlan& plan = prepared_.program->plan();
  const auto item = static_cast<std::size_t>(plan.item_bytes(0));
  const SampleIndex keep = std::clamp(next_ - plan.plan().reach().past, there_.first, there_.end);
  const std::int64_t kept = there_.end - keep;
  if (there_.end - there_.first + positions <= capacity_) return;
  const std::int64_t capacity = std::max(capacity_, 2 * (kept + positions));
  std::vector<std::byte> moved(capacity > capacity_ ? rows_ * static_cast<std::size_t>(capacity) * item : 0);
  std::vector<std::byte>& to = moved.empty() ? memory_ : moved;
  for (std::size_t r = 0; r < rows_ && kept > 0; ++r) {
    const std::byte* from =
        memory_.data() +
        (r * static_cast<std::size_t>(capacity_) + static_cast<std::size_t>(keep - there_.first)) * item;
    std::memmove(to.data() + r * static_cast<std::size_t>(capacity) * item, from,
                 static_cast<std::size_t>(kept) * item);
  }
  if (!moved.empty()) memory_ = std::move(moved);
  capacity_ = capacity;
  there_.first = keep;
}

void Stream::append(const InputArray& samples) {
  const std::size_t rows = prepared_.rows.front();
  const auto given_rows = rows > 0 ? static_cast<std::size_t>(samples.shape[0]) : 1;
  if (samples.shape.size() != prepared_.dimensions || given_rows != rows_)
    raise_config({"all arrays of a stream need the same channels and dimensions"});
  const std::int64_t positions = samples.shape[rows];
  make_room(positions);
  const ArrayMemory from = memory_of(samples, rows, prepared_.program->plan().item_bytes(0) * positions, {});
  const auto item = static_cast<std::size_t>(prepared_.program->plan().item_bytes(0));
  for (std::size_t r = 0; r < rows_; ++r)
    std::memcpy(
        memory_.data() + (r * static_cast<std::size_t>(capacity_) + static_cast<std::size_t>(there_.length())) * item,
        from.data + static_cast<std::int64_t>(r) * from.pitch, static_cast<std::size_t>(positions) * item);
  there_.end += positions;
}

py::tuple Stream::run_block(std::int64_t samples) {
  const ArrayPlan& plan = prepared_.program->plan();
  const CallInput input{{memory_.data(), capacity_ * plan.item_bytes(0), there_}};
  {
    const py::gil_scoped_release release;
    run_->compute(next_, samples, {&input, 1});
  }
  next_ += samples;
  return prepared_.formats->copies(run_->run());
}

py::list Stream::push(const py::array& array) {
  py::list results;
  const InputArray given = numpy_input(array);
  if (!run_) open(given);
  const InputArray samples = is_readable(given, prepared_.elements.front(), prepared_.rows.front())
                                 ? given
                                 : converted(given, prepared_.elements.front(), chain_->first().inputs.front().name);
  append(samples);
  const Plan& plan = prepared_.program->plan().plan();
  while (next_ + plan.block + plan.reach().future <= there_.end) {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    results.append(run_block(plan.block));
  }
  return results;
}

py::list Stream::finish() {
  py::list results;
  while (run_ && next_ < there_.end)
    results.append(run_block(std::min(prepared_.program->plan().plan().block, there_.end - next_)));
  return results;
}

}  // namespace iqd::native
