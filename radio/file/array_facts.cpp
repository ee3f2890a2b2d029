// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/array_facts.hpp"

#include <cerrno>
#include <utility>

#include "base/axes.hpp"
#include "base/clock.hpp"
#include "radio/file/iso_time.hpp"
#include "radio/message_part.hpp"

namespace iqd::radio {
namespace {

using Json = nlohmann::ordered_json;

/// The file is written safely, which takes a disk some time.
constexpr std::int64_t kCountsNs = 1'000'000'000;

/// Adds the names of the dimensions, and the labels of labelled dimensions.
void add_dimensions(Json& facts, const PortFormat& format, ArrayLayout layout) {
  Json names = Json::array();
  const bool in_order = layout == ArrayLayout::rows && format.varying >= 0;
  if (!in_order)
    names.push_back(format.varying < 0 ? "message" : format.dims[static_cast<std::size_t>(format.varying)].name);
  for (std::size_t d = 0; d < format.dims.size(); ++d)
    if (in_order || static_cast<int>(d) != format.varying) names.push_back(format.dims[d].name);
  if (format.element == Element::sc16) names.push_back("iq");
  facts["dims"] = std::move(names);
  for (const Dim& dim : format.dims)
    if (!dim.labels.empty()) facts[dim.name + "s"] = dim.labels;
}

void add_text(Json& facts, const char* key, const std::string& text) {
  if (!text.empty()) facts[key] = text;
}

}  // namespace

std::int64_t items_in(const Message& message) noexcept {
  if (message.payload.empty()) return 0;
  return message.format->varying < 0 ? 1 : message.extent;
}

ArrayFacts::ArrayFacts(const std::string& path, const PortFormat& format, const RecordingLabels& labels,
                       ArrayLayout layout)
    : file_(path), dims_(format.dims), bare_if_single_(layout == ArrayLayout::rows && format.varying < 0) {
  facts_["iqd"] = IQD_VERSION;
  facts_["pipeline"] = format.pipeline;
  facts_["port"] = format.port;
  facts_["datatype"] = traits(format.element).sigmf;
  facts_["dtype"] = traits(format.element).dtype;
  add_dimensions(facts_, format, layout);
  facts_["sample_rate"] = format.rate_hz;
  if (format.item_rate_hz > 0 && format.item_rate_hz != format.rate_hz) facts_["item_rate"] = format.item_rate_hz;
  set_place(format.frequency_hz, format.span_hz);
  if (format.mirrored) facts_["mirrored"] = true;
  if (format.llr_scale > 0) facts_["llr_scale"] = format.llr_scale;
  add_text(facts_, "hw", labels.hardware.empty() ? format.hardware : labels.hardware);
  add_text(facts_, "description", labels.description);
  add_text(facts_, "author", labels.author);
  for (const char* key : {"sample", "time_ns", "time", "datetime"}) facts_[key] = nullptr;
  for (const char* key : {"items", "messages", "gaps", "lost"}) facts_[key] = 0;
  facts_["tuned"] = Json::array();
}

void ArrayFacts::take(const Message& message, std::int64_t row) {
  if (!begun_ && !message.payload.empty()) begin(message);
  const bool other = message.frequency_hz() != frequency_hz_ || message.span_hz() != span_hz_;
  if (message.tuned >= 0 || other) {
    frequency_hz_ = message.frequency_hz();
    span_hz_ = message.span_hz();
    const SampleIndex from = message.tuned >= 0 ? message.tuned : message.sample;
    facts_["tuned"].push_back({{"row", row}, {"sample", from}, {"frequency", frequency_hz_}});
    if (span_hz_ > 0) facts_["tuned"].back()["span"] = span_hz_;
    stale_ = true;
  }
  if (message.format->calibrated && !message.calibrated && facts_["calibrated"] != false) {
    facts_["calibrated"] = false;
    stale_ = true;
  }
  items_ += items_in(message);
  messages_ += message.payload.empty() ? 0 : 1;
  counted_ = true;
  if (message.gap > 0) {
    ++gaps_;
    lost_ += message.gap;
    stale_ = true;
  }
}

void ArrayFacts::begin(const Message& message) {
  facts_["sample"] = message.sample;
  facts_["time_ns"] = message.time_ns;
  facts_["time"] = message.time == TimeSource::radio ? "radio" : "host";
  if (is_date(message.time_ns)) facts_["datetime"] = format_iso_time(message.time_ns);
  if (message.format->calibrated) facts_["calibrated"] = message.calibrated;
  const bool tuned_within = message.tuned > message.sample;
  set_place(tuned_within ? message.was_at_hz() : message.frequency_hz(), message.span_hz());
  begun_ = stale_ = true;
}

/// Of the first row.
void ArrayFacts::set_place(double frequency_hz, double span_hz) {
  facts_["frequency"] = frequency_hz_ = frequency_hz;
  span_hz_ = span_hz;
  if (span_hz > 0) facts_["span"] = span_hz;
  if (Json axes = axes_json<Json>(dims_, frequency_hz); !axes.empty()) facts_["axes"] = std::move(axes);
}

bool ArrayFacts::write(bool complete) {
  const std::int64_t now_ns = steady_ns();
  if (!stale_ && !complete && !(counted_ && now_ns >= next_counts_ns_)) return true;
  next_counts_ns_ = now_ns + kCountsNs;
  counted_ = false;
  facts_["items"] = items_;
  facts_["messages"] = messages_;
  facts_["gaps"] = gaps_;
  facts_["lost"] = lost_;
  facts_["complete"] = complete;
  if (complete && items_ == 1 && std::exchange(bare_if_single_, false)) facts_["dims"].erase(0);
  stale_ = !file_.write(facts_.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
  return !stale_ || (!complete && is_passing(errno));
}

}  // namespace iqd::radio
