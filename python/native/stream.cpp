// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "python/native/stream.hpp"

#include <algorithm>
#include <cstring>

#include "python/native/binding.hpp"
#include "python/native/errors.hpp"
#include "python/native/given_arrays.hpp"
#include "python/native/unlocked.hpp"

namespace iqd::native {
void Stream::open(const InputArray& samples) {
  if (samples.shape.empty()) raise_config({"blocks takes arrays [n] or [channel][n]"});
  prepared_ = chain_->prepare_stream(samples, options_);
  shape_ = samples.shape;
  rows_ = 1;
  for (std::size_t d = 0; d < prepared_->axis; ++d) rows_ *= static_cast<std::size_t>(shape_[d]);
  run_ = std::make_unique<ResultMemory>(prepared_->program);
}

/// Raises ConfigError if the array does not continue the stream.
void Stream::check(const InputArray& samples) const {
  std::vector<std::int64_t> expected = shape_;
  if (samples.shape.size() == expected.size()) expected[prepared_->axis] = samples.shape[prepared_->axis];
  if (samples.shape != expected) raise_config({"all arrays of a stream need the same channels and dimensions"});
}

/// Drops what no later block reads, and grows if the rest and the new positions need it.
void Stream::make_room(std::int64_t positions) {
  const ArrayPlan& plan = prepared_->program->plan();
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

/// Appends so many positions of the array, from `first` on.
void Stream::append(const InputArray& samples, std::int64_t first, std::int64_t positions) {
  make_room(positions);
  const std::int64_t item = prepared_->program->plan().item_bytes(0);
  const ArrayMemory from = memory_of(samples, prepared_->rows.front(), item * samples.shape[prepared_->axis], {});
  for (std::size_t r = 0; r < rows_; ++r)
    std::memcpy(memory_.data() + (static_cast<std::int64_t>(r) * capacity_ + there_.length()) * item,
                from.data + static_cast<std::int64_t>(r) * from.pitch + first * item,
                static_cast<std::size_t>(positions * item));
  there_.end += positions;
}

py::tuple Stream::run_block(std::int64_t samples) {
  const ArrayPlan& plan = prepared_->program->plan();
  const CallInput input{{memory_.data(), capacity_ * plan.item_bytes(0), there_}};
  {
    const Unlocked unlocked;
    run_->compute(next_, samples, {&input, 1});
  }
  next_ += samples;
  return prepared_->formats->copies(run_->run());
}

py::list Stream::push(const py::array& array) {
  const std::string_view name = chain_->first().inputs.front().name;
  InputArray given = numpy_input(array);
  if (given.dtype.empty()) given = plain(given, name);
  if (!run_) open(given);
  check(given);
  const bool fits = is_readable(given, prepared_->elements.front(), prepared_->rows.front());
  const InputArray samples = fits ? given : converted(given, prepared_->elements.front(), name);
  const Plan& plan = prepared_->program->plan().plan();
  py::list results;
  const std::int64_t positions = samples.shape[prepared_->axis];
  for (std::int64_t at = 0; at < positions; at += plan.block) {  // so that long arrays are not copied at once
    append(samples, at, std::min(plan.block, positions - at));
    while (next_ + plan.block + plan.reach().future <= there_.end) {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      results.append(run_block(plan.block));
    }
  }
  return results;
}

py::list Stream::finish() {
  py::list results;
  while (run_ && next_ < there_.end)
    results.append(run_block(std::min(prepared_->program->plan().plan().block, there_.end - next_)));
  return results;
}

}  // namespace iqd::native
