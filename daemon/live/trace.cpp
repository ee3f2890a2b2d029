// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/live/trace.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace iqd::live {

Trace::Trace(std::shared_ptr<WatchOutlet> outlet, std::uint64_t needs, nlohmann::json description)
    : outlet_(std::move(outlet)), needs_(needs), description_(std::move(description)) {}

std::string Trace::key() const {
  std::string key;
  for (const char* part : {"pipeline", "port", "kind", "name"}) key += description_.value(part, std::string()) + '\n';
  return key;
}

void Trace::set_number(int number) {
  number_ = number;
  description_["trace"] = number;
}

Head Trace::next_head(Head::Kind kind, const WatchCopy& copy) {
  Head head;
  head.kind = kind;
  head.trace = static_cast<std::uint8_t>(number_);
  head.seq = next_seq();
  head.time_s = static_cast<double>(copy.time_ns) / 1e9;
  if (copy.gap > 0) head.flags |= Head::after_gap;
  if (copy.retuned) head.flags |= Head::retuned;
  return head;
}

void Trace::put(LiveHub& hub, const Head& head, std::string_view payload) const {
  hub.put({false, number_, message_of(head, payload)});
}

void Trace::put_text(LiveHub& hub, const nlohmann::json& text) const {
  hub.put({true, number_, text_of(text)});
}

std::string text_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json number_or_null(double x) {
  return std::isfinite(x) ? nlohmann::json(x) : nlohmann::json();
}

nlohmann::json describe(const WatchOutlet& outlet, std::string_view kind, std::int64_t entry) {
  const PortFormat& format = outlet.format();
  nlohmann::json of = nlohmann::json::object();
  std::string name;
  for (std::size_t i = 0; i < outlet.grid().picked().size(); ++i) {
    const Dim& dim = format.dims[outlet.grid().picked()[i]];
    const std::int64_t at = outlet.grid().entry(entry, i);
    const bool has_label = at < std::ssize(dim.labels);
    const std::string label = has_label ? dim.labels[static_cast<std::size_t>(at)] : std::to_string(at);
    name += fmt::format("{}{} {}", name.empty() ? "" : ", ", dim.name, label);
    if (has_label)
      of[dim.name] = label;
    else
      of[dim.name] = at;
  }
  return {
      {"pipeline", format.pipeline}, {"port", format.port}, {"kind", kind}, {"name", name}, {"of", of}, {"unit", ""}};
}

}  // namespace iqd::live
