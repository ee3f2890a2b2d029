// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/record/recording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "radio/file/file_driver.hpp"
#include "radio/message_part.hpp"

namespace iqd {
namespace {

class LimitedSink final : public Sink {
 public:
  LimitedSink(std::unique_ptr<Sink> sink, std::shared_ptr<RecordingLimit> limit, const PortFormat& format)
      : sink_(std::move(sink)), limit_(std::move(limit)), left_(limit_->at_rate(format.item_rate_hz)) {
    if (!radio::is_stream(format))
      limit_->item = format.varying < 0 ? "array" : format.dims[static_cast<std::size_t>(format.varying)].name;
  }

  bool send(const Message& message) override {
    if (left_ == 0) return true;
    const std::int64_t taken = std::min(message.extent, left_);
    const bool kept =
        taken < message.extent ? sink_->send(radio::part_of(message, 0, taken, start_)) : sink_->send(message);
    if (!kept) {
      limit_->refused = true;
      return false;
    }
    limit_->recorded += taken;
    limit_->messages += taken > 0 ? 1 : 0;
    limit_->gaps += message.gap > 0 ? 1 : 0;
    limit_->missing += message.gap;
    left_ -= taken;
    if (left_ == 0) limit_->reached = true;
    return true;
  }
  void finish() override {
    try {
      sink_->finish();
    } catch (const SetupError&) {
      limit_->refused = true;
      throw;
    }
  }
  void interrupt() noexcept override { sink_->interrupt(); }

 private:
  std::unique_ptr<Sink> sink_;
  std::shared_ptr<RecordingLimit> limit_;
  std::int64_t left_;
  std::vector<std::byte> start_;
};

class LimitedSinkOptions final : public SinkOptions {
 public:
  LimitedSinkOptions(std::shared_ptr<SinkOptions> sink, std::shared_ptr<RecordingLimit> limit,
                     const radio::trigger::Settings& trigger)
      : sink_(std::move(sink)), limit_(std::move(limit)), trigger_(trigger) {}
  void fields(FieldVisitor& visitor) override { sink_->fields(visitor); }
  void check(const PortFormat& format, const Section& section) const override {
    sink_->check(format, section);
    if (trigger_.given()) trigger_.check(format, section);
  }
  std::unique_ptr<Sink> open(const PortFormat& format) const override {
    return trigger_.put_before(std::make_unique<LimitedSink>(sink_->open(format), limit_, format), format,
                               [limit = limit_] { limit->reached = true; });
  }
  std::int64_t buffer_bytes() const override { return sink_->buffer_bytes(); }
  std::optional<RadioRequest> radio() const override { return sink_->radio(); }
  std::string path() const override { return sink_->path(); }

 private:
  std::shared_ptr<SinkOptions> sink_;
  std::shared_ptr<RecordingLimit> limit_;
  radio::trigger::Settings trigger_;
};

class LimitedSource final : public Source {
 public:
  LimitedSource(std::unique_ptr<Source> source, std::shared_ptr<RecordingLimit> limit)
      : source_(std::move(source)), limit_(std::move(limit)) {}
  StreamInfo info() const override { return source_->info(); }
  Excerpt excerpt(const BlockNeeds& needs) override { return source_->excerpt(needs); }
  Received receive(std::span<std::byte* const> into, std::int64_t most) override {
    if (!limit_->reached && !limit_->refused) return source_->receive(into, most);
    Received ended;
    ended.event = Received::Event::end;
    return ended;
  }
  void interrupt() noexcept override { source_->interrupt(); }

 private:
  std::unique_ptr<Source> source_;
  std::shared_ptr<RecordingLimit> limit_;
};

class LimitedSourceOptions final : public SourceOptions {
 public:
  LimitedSourceOptions(std::unique_ptr<SourceOptions> source, std::shared_ptr<RecordingLimit> limit)
      : source_(std::move(source)), limit_(std::move(limit)) {}
  void fields(FieldVisitor& visitor) override { source_->fields(visitor); }
  StreamInfo describe(const Section& section) const override { return source_->describe(section); }
  std::unique_ptr<Source> open() const override { return std::make_unique<LimitedSource>(source_->open(), limit_); }
  double opening_wait_s() const override { return source_->opening_wait_s(); }
  std::optional<RadioRequest> radio() const override { return source_->radio(); }
  std::string path() const override { return source_->path(); }
  std::string calibration() const override { return source_->calibration(); }

 private:
  std::unique_ptr<SourceOptions> source_;
  std::shared_ptr<RecordingLimit> limit_;
};

}  // namespace

void refuse_existing(const char* command, const std::string& path, bool overwrite) {
  if (const std::string there = overwrite ? "" : radio::existing_file(path); !there.empty())
    throw UsageError(fmt::format("{}: {} already exists; use --overwrite, or choose another path", command, there));
}

std::int64_t RecordingLimit::at_rate(double rate_hz) const noexcept {
  std::int64_t most = samples > 0 ? samples : std::numeric_limits<std::int64_t>::max();
  const double by_time = std::round(seconds * rate_hz);
  if (seconds > 0 && by_time < 9e18) most = std::min(most, std::max<std::int64_t>(std::llround(by_time), 1));
  return most;
}

std::string RecordingLimit::summary() const {
  const auto counted = [](std::int64_t count, std::string_view what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  std::string text = counted(recorded, item) + " recorded";
  if (item != "sample") text += " in " + counted(messages, "message");
  if (gaps > 0) text += fmt::format(", {} with {}", counted(gaps, "gap"), counted(missing, "missing sample"));
  return text;
}

std::unique_ptr<SinkOptions> limit_sink(std::shared_ptr<SinkOptions> sink, std::shared_ptr<RecordingLimit> limit,
                                        const radio::trigger::Settings& trigger) {
  return std::make_unique<LimitedSinkOptions>(std::move(sink), std::move(limit), trigger);
}

std::unique_ptr<SourceOptions> limit_source(std::unique_ptr<SourceOptions> source,
                                            std::shared_ptr<RecordingLimit> limit) {
  return std::make_unique<LimitedSourceOptions>(std::move(source), std::move(limit));
}

}  // namespace iqd
