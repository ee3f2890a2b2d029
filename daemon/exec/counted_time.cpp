// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/exec/counted_time.hpp"

#include <cmath>
#include <utility>

namespace iqd {
namespace {

class CountedTime final : public Source {
 public:
  explicit CountedTime(std::unique_ptr<Source> source) : source_(std::move(source)) {}
  StreamInfo info() const override { return source_->info(); }
  Excerpt excerpt(const BlockNeeds& needs) override {
    const Excerpt excerpt = source_->excerpt(needs);
    next_ = excerpt.at;
    return excerpt;
  }
  void interrupt() noexcept override { source_->interrupt(); }

  Received receive(std::span<std::byte* const> into, std::int64_t most) override {
    Received received = source_->receive(into, most);
    if (received.event != Received::Event::samples) return received;
    next_ += received.lost;
    const double time_ns = static_cast<double>(next_) * 1e9 / source_->info().rate_hz;
    if (!received.has_time && time_ns < 9e18) {
      received.has_time = true;
      received.time_ns = std::llround(time_ns);
      received.since = next_;
      received.since_ns = 0;
    }
    next_ += received.samples;
    return received;
  }

 private:
  std::unique_ptr<Source> source_;
  std::int64_t next_ = 0;
};

class CountedTimeOptions final : public SourceOptions {
 public:
  explicit CountedTimeOptions(std::unique_ptr<SourceOptions> source) : source_(std::move(source)) {}
  void fields(FieldVisitor& visitor) override { source_->fields(visitor); }
  StreamInfo describe(const Section& section) const override { return source_->describe(section); }
  std::unique_ptr<Source> open() const override { return std::make_unique<CountedTime>(source_->open()); }
  Claims claims() const override { return source_->claims(); }
  Needs needs(const StreamInfo& stream) const override { return source_->needs(stream); }
  std::string path() const override { return source_->path(); }

 private:
  std::unique_ptr<SourceOptions> source_;
};

}  // namespace

std::unique_ptr<SourceOptions> counted_time(std::unique_ptr<SourceOptions> source) {
  return std::make_unique<CountedTimeOptions>(std::move(source));
}

}  // namespace iqd
