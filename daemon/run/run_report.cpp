// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/run_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "daemon/run/status_table.hpp"

namespace iqd {
namespace {

using terminal::Paint;
using terminal::Tone;

constexpr std::size_t kMostNamed = 12;  // topics in a line of the journal

/// Finds where a sink writes, in its keys.
class SinkPlace final : public FieldVisitor {
 public:
  void visit(std::string_view key, FieldRef field, const FieldInfo&) override {
    const auto* const text = std::get_if<std::string*>(&field);
    const bool is_place = key == "path" || key == "bind" || key == "connect" || key == "args";
    if (text && is_place && place_.empty()) place_ = **text;
  }
  const std::string& place() const noexcept { return place_; }

 private:
  std::string place_;
};

void add_to(std::vector<Served>& all, const std::string& where, std::string what) {
  auto at = std::ranges::find(all, where, &Served::where);
  if (at == all.end()) at = all.insert(all.end(), {where, {}});
  at->what.push_back(std::move(what));
}

std::uint64_t messages_in_all(const PipelineStatus& s) {
  std::uint64_t n = 0;
  for (const auto& port : s.ports) n += port.messages;
  return n;
}

std::string latency_text(const Histogram::Snapshot& h) {
  if (h.count == 0) return "-";
  return fmt::format("p50 {}, p99 {}, max {}", duration_text(h.quantile_ns(0.5)), duration_text(h.quantile_ns(0.99)),
                     duration_text(static_cast<double>(h.worst_ns)));
}

/// What was lost, by reason.
std::vector<Phrase> losses_of(const PipelineStatus& s) {
  std::vector<Phrase> all;
  if (s.lost > 0) all.push_back({fmt::format("{} lost by the radio", s.lost), Tone::bad});
  for (std::size_t d = 0; d < s.dropped.size(); ++d)
    if (s.dropped[d] > 0) all.push_back({fmt::format("{} dropped: {}", s.dropped[d], kDropNames[d]), Tone::bad});
  if (all.empty()) all.push_back({"none lost", Tone::good});
  return all;
}

std::string joined(const std::vector<Phrase>& items) {
  std::string text;
  for (const Phrase& item : items) text += (text.empty() ? "" : ", ") + item.text;
  return text;
}

}  // namespace

std::vector<Served> served_by(const std::vector<std::shared_ptr<Pipeline>>& pipelines, const std::string& monitor,
                              bool has_page) {
  std::vector<Served> all;
  for (const auto& p : pipelines)
    for (const auto& port : p->status().ports)
      if (!port.endpoint.empty()) add_to(all, port.endpoint, fmt::format("{} ({})", port.to, port.port));
  for (const auto& p : pipelines)
    for (const SinkSpec& sink : p->spec().sinks) {
      SinkPlace place;
      sink.options->fields(place);
      add_to(all, fmt::format("{} sink {}", sink.driver->name, place.place()), sink.port);
    }
  if (!monitor.empty())
    all.push_back({"http://" + monitor, {has_page ? "/ (live page), /metrics, /api/status" : "/metrics, /api/status"}});
  return all;
}

std::vector<std::string> served_lines(const std::vector<Served>& served, int columns, Paint paint) {
  std::vector<std::string> lines;
  std::size_t widest = 0;
  for (const Served& s : served) widest = std::max(widest, s.where.size());
  for (const Served& s : served) {
    if (columns == 0) {
      const auto shown = std::min(s.what.size(), kMostNamed);
      const std::string more = shown < s.what.size() ? fmt::format(" and {} more", s.what.size() - shown) : "";
      lines.push_back(fmt::format("serving {}: {}{}", s.where,
                                  fmt::join(s.what.begin(), s.what.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                                  more));
      continue;
    }
    std::vector<Phrase> items;
    for (const std::string& what : s.what) items.push_back({what});
    for (std::string& line : detail_lines(fmt::format("  {:<{}}", s.where, widest), items, columns, paint))
      lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> summary_block(const PipelineStatus& s, double seconds, int columns, Paint paint) {
  std::vector<std::string> lines{paint(Tone::strong, s.name) + fmt::format(" ran for {:.1f} s", seconds)};
  const auto add = [&](std::string_view label, const std::vector<Phrase>& items) {
    for (std::string& line : detail_lines(fmt::format("  {:<9}", label), items, columns, paint))
      lines.push_back(std::move(line));
  };
  std::vector<Phrase> samples{{fmt::format("{} received", s.received)}, {fmt::format("{} published", s.published)}};
  for (Phrase& loss : losses_of(s)) samples.push_back(std::move(loss));
  add("samples", samples);
  std::vector<Phrase> messages;
  for (const auto& port : s.ports) messages.push_back({fmt::format("{} {}", port.to, port.messages)});
  if (!messages.empty()) add("messages", messages);
  const std::vector<Detail> totals = totals_of(s);
  bool has_errors = false;
  for (const Detail& d : totals) {
    const bool is_event = d.kind == Detail::Kind::events;
    has_errors = has_errors || !is_event;
    std::vector<Phrase> items{{d.subject + ":"}};
    items.insert(items.end(), d.items.begin(), d.items.end());
    add(is_event ? "events" : "errors", items);
  }
  if (!has_errors) add("errors", {{"none", Tone::good}});
  add("latency", {{latency_text(s.latency)}});
  return lines;
}

std::vector<std::string> summary_lines(const PipelineStatus& s, double seconds) {
  const std::vector<Detail> totals = totals_of(s);
  const bool has_errors = std::ranges::any_of(totals, [](const Detail& d) { return d.kind != Detail::Kind::events; });
  std::vector<std::string> lines{
      fmt::format("{}: ended after {:.1f} s: {} samples received, {} published, {}; {} messages; {}latency {}", s.name,
                  seconds, s.received, s.published, joined(losses_of(s)), messages_in_all(s),
                  has_errors ? "" : "no errors; ", latency_text(s.latency))};
  for (const Detail& d : totals)
    lines.push_back(fmt::format("{}: {} of {}: {}", s.name, d.kind == Detail::Kind::events ? "events" : "errors",
                                d.subject, joined(d.items)));
  return lines;
}

}  // namespace iqd
