// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/recall/recall_sink.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

#include "base/error.hpp"

namespace iqd::radio::recall {
namespace {

std::int64_t channels_of(const PortFormat& format) {
  return format.dims.size() == 2 ? format.dims[0].extent : 1;
}

Kept kept_of(const SinkSettings& s, const PortFormat& format) {
  constexpr double kMost = 1e15;  // more than fits any memory
  return {format.element, channels_of(format), format.item_rate_hz,
          std::llround(std::min(s.keep_s * format.item_rate_hz, kMost))};
}

std::unique_ptr<Ring> make_ring(const Kept& kept) {
  try {
    return std::make_unique<Ring>(kept);
  } catch (const std::bad_alloc&) {
    const auto channels = static_cast<double>(kept.channels) * static_cast<double>(size_of(kept.element));
    throw SetupError(fmt::format("recall: keep: not enough memory: {} samples need {:.0f} MB; keep less", kept.samples,
                                 static_cast<double>(kept.samples) * channels / 1e6));
  }
}

}  // namespace

RecallSink::RecallSink(const SinkSettings& settings, const PortFormat& format)
    : kept_(kept_of(settings, format)),
      delay_ns_(std::llround(settings.delay_s * 1e9)),
      memory_(Memory::named(settings.name)) {
  if (memory_->look().kept != kept_) ring_ = make_ring(kept_);
  memory_->open(format.pipeline);
}

bool RecallSink::send(const Message& message) {
  if (!begun_) memory_->begin(this, kept_, std::move(ring_));
  begun_ = true;
  return memory_->write(this, message.time_ns + delay_ns_, message.payload.data(), message.extent);
}

void RecallSinkOptions::fields(FieldVisitor& v) {
  SinkSettings& s = settings_;
  v.field("name", s.name, {.help = "name for the source `recall`, unique in this process", .required = true});
  v.field("keep", s.keep_s,
          {.help = "how far back samples are kept", .unit = Unit::seconds, .low = 0, .high = 3600, .required = true});
  v.field("delay", s.delay_s,
          {.help = "added to each sample's time: the transmitter's `delay`, if sent by time stamp",
           .unit = Unit::seconds,
           .low = 0,
           .high = 3600});
}

void RecallSinkOptions::check(const PortFormat& format, const Section& section) const {
  const SinkSettings& s = settings_;
  if (s.name.empty()) section.problem("name", "is empty; a source needs it to find the samples");
  if (!format.is_known()) return;
  if (format.element != Element::sc16 && format.element != Element::cf32)
    section.problem("", fmt::format("{} is {}; only sc16 or cf32 can be kept: put a `convert` stage before it",
                                    format.port, name_of(format.element)));
  const bool shaped = format.dims.size() == 1 || (format.dims.size() == 2 && format.dims[0].name == "channel");
  if (!shaped || !(format.item_rate_hz > 0))
    return section.problem("", fmt::format("{} is {}; only a stream of samples [n] or [channel][n] can be kept",
                                           format.port, to_string(format.dims)));
  if (std::llround(s.keep_s * format.item_rate_hz) < 1)
    section.problem("keep", fmt::format("{} s are not one sample at {} samples a second; keep more than the length "
                                        "of a capture",
                                        s.keep_s, format.item_rate_hz));
  else if (s.delay_s > 0 && s.keep_s <= s.delay_s)
    section.problem("keep", fmt::format("{} s end before a sample is sent, {} s after its time; keep `delay`, the "
                                        "length of a capture, and the receiver's latency",
                                        s.keep_s, s.delay_s));
}

Needs RecallSinkOptions::needs(const PortFormat& format) const {
  return {{.what = "recall of " + settings_.name, .bytes = Ring::bytes(kept_of(settings_, format)), .shared = true}};
}

std::unique_ptr<Sink> RecallSinkOptions::open(const PortFormat& format) const {
  return std::make_unique<RecallSink>(settings_, format);
}

}  // namespace iqd::radio::recall
