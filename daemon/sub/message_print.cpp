// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/sub/message_print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.hpp"
#include "daemon/sub/message_text.hpp"
#include "radio/file/iso_time.hpp"

namespace iqd {
namespace {

using nlohmann::json;

std::string time_text(const MessageView& m) {
  if (!m.time_ns || *m.time_ns <= 0) return "-";
  const auto source = m.header.find("time");
  const bool radio = source != m.header.end() && *source == "radio";
  return fmt::format("{} {}", radio::format_iso_time(*m.time_ns), radio ? "radio" : "host");
}

template <class T> std::string or_dash(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

/// Retunes and calibration; empty unless the header mentions them.
std::string setting_text(const json& header) {
  std::string text;
  if (const auto tuned = header.find("tuned"); tuned != header.end() && tuned->is_number_integer()) {
    text += fmt::format("  tuned from sample {}", tuned->dump());
    if (const auto f = header.find("frequency"); f != header.end() && f->is_number())
      text += fmt::format(" to {} Hz", f->dump());
  }
  if (const auto c = header.find("calibrated"); c != header.end() && c->is_boolean())
    text += c->get<bool>() ? "  calibrated" : "  not calibrated";
  return text;
}

void print_line(const MessageView& m, const PrintOptions& o) {
  if (o.with_topic) fmt::print("{}  ", printable(m.topic));
  fmt::print("seq {}  sample {}  {}  {} {}{}  gap {}", or_dash(m.seq), or_dash(m.sample), time_text(m), shape_text(m),
             m.dtype, m.pairs ? " iq" : "", m.gap);
  fmt::print("{}", setting_text(m.header));
  const std::int64_t shown = std::min(m.values(), o.values);
  for (std::int64_t i = 0; i < shown; ++i) fmt::print("{}{}", i == 0 ? "  " : " ", text_of(value_at(m, i)));
  fmt::print("{}\n", shown > 0 && shown < m.values() ? " …" : "");
}

void print_json(MessageView& m, const PrintOptions& o) {
  json line = std::move(m.header);
  line["topic"] = m.topic;
  json& values = line["values"] = json::array();
  for (std::int64_t i = 0; i < std::min(m.values(), o.values); ++i) values.push_back(json_of(value_at(m, i)));
  fmt::print("{}\n", line.dump(-1, ' ', false, json::error_handler_t::replace));
}

json summary_json(const MessageTally::Totals& t) {
  return {{"messages", t.messages},
          {"bytes", t.bytes},
          {"seconds", t.seconds},
          {"megabytes_per_second", t.bytes_per_second / 1e6},
          {"messages_per_second", t.messages_per_second},
          {"gap_samples", t.gap},
          {"lost_messages", t.lost},
          {"out_of_order", t.out_of_order},
          {"restarts", t.restarts},
          {"malformed", t.malformed},
          {"topics", t.topics}};
}

}  // namespace

void print_message(MessageView& message, const PrintOptions& o) {
  if (o.as_text && message.dtype == "<u1")
    for (const std::string& line : text_lines(message)) fmt::print("{}\n", line);
  else if (o.as_json)
    print_json(message, o);
  else
    print_line(message, o);
}

void print_summary(const MessageTally::Totals& t, const std::string& why, bool as_json) {
  if (as_json) {
    json all = {{"summary", summary_json(t)}};
    if (!why.empty()) all["summary"]["malformed_why"] = why;
    fmt::print("{}\n", all.dump(-1, ' ', false, json::error_handler_t::replace));
    return;
  }
  fmt::print("{} messages, {} bytes in {:.3f} s: {:.3f} MB/s, {:.1f} messages/s\n", t.messages, t.bytes, t.seconds,
             t.bytes_per_second / 1e6, t.messages_per_second);
  fmt::print(
      "lost: {} samples by the headers' gaps, {} messages by seq; out of order: {}; restarts: {}; malformed: {}\n",
      t.gap, t.lost, t.out_of_order, t.restarts, t.malformed);
  if (!why.empty()) fmt::print("last malformed message: {}\n", printable(why));
}

}  // namespace iqd
