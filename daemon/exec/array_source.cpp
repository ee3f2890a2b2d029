// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/exec/array_source.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace iqd {
namespace {

using Array = std::shared_ptr<const StageInput>;

StreamInfo info_of(const StageInput& array) {
  StreamInfo info;
  info.element = array.shape.element;
  info.channels = static_cast<int>(array.shape.row_count());
  info.rate_hz = array.shape.rate_hz;
  info.frequency_hz = array.shape.frequency_hz;
  info.can_wait = true;
  return info;
}

class ArraySource final : public Source {
 public:
  explicit ArraySource(Array array) : array_(std::move(array)) {}
  StreamInfo info() const override { return info_of(*array_); }

  Received receive(std::span<std::byte* const> into, std::int64_t most) override {
    const std::int64_t samples = std::min(most, array_->length - next_);
    if (samples <= 0) return {.event = Received::Event::end};
    const std::int64_t size = array_->shape.item_bytes();
    for (std::size_t c = 0; c < into.size(); ++c) {
      const std::byte* const row = array_->data.data() + static_cast<std::int64_t>(c) * array_->row_bytes();
      std::memcpy(into[c], row + next_ * size, static_cast<std::size_t>(samples * size));
    }
    const double time_ns = static_cast<double>(next_) * 1e9 / array_->shape.rate_hz;
    const bool has_time = time_ns < 9e18;  // false if the rate is 0, too
    const std::int64_t rounded_ns = has_time ? std::llround(time_ns) : 0;
    next_ += samples;
    return {.event = Received::Event::samples, .samples = samples, .has_time = has_time, .time_ns = rounded_ns};
  }

 private:
  const Array array_;
  std::int64_t next_ = 0;
};

class ArraySourceOptions final : public SourceOptions {
 public:
  explicit ArraySourceOptions(Array array) : array_(std::move(array)) {}
  void fields(FieldVisitor&) override {}
  StreamInfo describe(const Section&) const override { return info_of(*array_); }
  std::unique_ptr<Source> open() const override { return std::make_unique<ArraySource>(array_); }

 private:
  const Array array_;
};

}  // namespace

std::unique_ptr<SourceOptions> array_source(StageInput array) {
  return std::make_unique<ArraySourceOptions>(std::make_shared<const StageInput>(std::move(array)));
}

}  // namespace iqd
