// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/run/status_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "config/quantity.hpp"

namespace iqd {
namespace {

using terminal::Tone;
using Kind = Detail::Kind;

/// A counter since the start: bad if it has just grown.
Phrase count_phrase(std::string_view name, std::uint64_t now, std::uint64_t then) {
  return {fmt::format("{} {}", name, now), now > then ? Tone::bad : now > 0 ? Tone::warning : Tone::faint};
}

/// Whether an event with this name says that something was lost.
bool is_loss(std::string_view event) {
  for (const char* part : {"bad", "error", "fail", "refused", "cut", "not_", "crowded", "untrained", "left_out",
                           "erased", "clipped", "unlocked", "lost", "raised", "unfit", "late", "died", "unserved"})
    if (event.find(part) != event.npos) return true;
  return false;
}

std::string number_name(const StageNumber& number) {
  if (number.dimension.empty()) return number.name;
  return fmt::format("{} {} {}", number.name, number.dimension, number.entry);
}

std::uint64_t dropped_in_all(const PipelineStatus& s) {
  return std::accumulate(s.dropped.begin(), s.dropped.end(), std::uint64_t{0});
}

Phrase state_phrase(const PipelineStatus& s) {
  const std::string text(kSourceStateNames[static_cast<std::size_t>(s.state)]);
  switch (s.state) {
    case SourceState::streaming: return {text, Tone::good};
    case SourceState::closed:
    case SourceState::ended: return {text, Tone::plain};
    case SourceState::opening: return {text, Tone::warning};
    case SourceState::stalled:
    case SourceState::reconnecting:
    case SourceState::failed: break;
  }
  return {text, Tone::bad};
}

void add(std::vector<Detail>& to, Kind kind, std::string subject, std::vector<Phrase> items) {
  if (!items.empty()) to.push_back({kind, std::move(subject), std::move(items)});
}

void add_dropped(std::vector<Detail>& to, const PipelineStatus& now, const PipelineStatus& then) {
  std::vector<Phrase> items;
  for (std::size_t d = 0; d < now.dropped.size(); ++d)
    if (now.dropped[d] > 0) items.push_back(count_phrase(kDropNames[d], now.dropped[d], then.dropped[d]));
  add(to, Kind::dropped, "samples", std::move(items));
}

/// What the driver and the peers did wrong, of what happened at all.
void add_faults(std::vector<Detail>& to, const PipelineStatus& now, const PipelineStatus& then) {
  std::vector<Phrase> radio;
  for (const CounterEntry& c : kCounterEntries) {
    const bool is_fault = c.of == CounterEntry::Of::radio || std::string_view(c.name) == "deadline_misses";
    if (is_fault && std::string_view(c.name) != "lost" && now.*c.value > 0)
      radio.push_back(count_phrase(c.name, now.*c.value, then.*c.value));
  }
  add(to, Kind::faults, now.radio, std::move(radio));
  for (std::size_t i = 0; i < now.ports.size(); ++i) {
    const auto& port = now.ports[i];
    const auto& before = i < then.ports.size() ? then.ports[i] : PipelineStatus::Port{};
    std::vector<Phrase> items;
    const auto count = [&](const char* name, std::uint64_t n, std::uint64_t was) {
      if (n > 0) items.push_back(count_phrase(name, n, was));
    };
    count("refused", port.refused, before.refused);
    count("underflows", port.sink.underflows, before.sink.underflows);
    count("late", port.sink.late, before.sink.late);
    count("sequence_errors", port.sink.sequence_errors, before.sink.sequence_errors);
    add(to, Kind::faults, port.to, std::move(items));
  }
}

void add_events(std::vector<Detail>& to, const PipelineStatus& now, const PipelineStatus& then) {
  std::map<StageNumber, std::uint64_t> before;
  for (const auto& [name, count] : then.tallies) before[name] = count;
  for (const auto& [name, count] : now.tallies) {
    const std::uint64_t was = before.contains(name) ? before[name] : 0;
    Phrase phrase{fmt::format("{} {}", number_name(name), count), count > 0 ? Tone::plain : Tone::faint};
    if (is_loss(name.name) && count > 0) phrase.tone = count > was ? Tone::bad : Tone::warning;
    if (to.empty() || to.back().kind != Kind::events || to.back().subject != name.stage)
      to.push_back({Kind::events, name.stage, {}});
    to.back().items.push_back(std::move(phrase));
  }
}

void add_levels(std::vector<Detail>& to, const PipelineStatus& now) {
  for (const auto& [name, value] : now.levels) {
    if (to.empty() || to.back().kind != Kind::levels || to.back().subject != name.stage)
      to.push_back({Kind::levels, name.stage, {}});
    const bool is_known = std::isfinite(value);
    to.back().items.push_back({is_known ? fmt::format("{} {:.4g}", number_name(name), value) : number_name(name) + " -",
                               is_known ? Tone::plain : Tone::faint});
  }
}

std::string level_text(double db) {
  return fmt::format("{:.1f} dBFS", db);
}

void add_input(std::vector<Detail>& to, const PipelineStatus& now) {
  for (std::size_t c = 0; c < now.channels.size(); ++c) {
    const PipelineStatus::Channel& channel = now.channels[c];
    std::vector<Phrase> items;
    if (std::isfinite(channel.rms_dbfs))
      items = {{"rms " + level_text(channel.rms_dbfs)}, {"peak " + level_text(channel.peak_dbfs)}};
    if (channel.clipped > 0) items.push_back({fmt::format("clipped {}", channel.clipped), Tone::warning});
    if (channel.overloaded) items.push_back({"OVERLOADED", Tone::bad});
    add(to, Kind::input, fmt::format("channel {}", c), std::move(items));
  }
}

void add_readers(std::vector<Detail>& to, const PipelineStatus& now, const PipelineStatus& then) {
  for (std::size_t i = 0; i < now.endpoints.size(); ++i) {
    const PeerCounts& e = now.endpoints[i];
    const PeerCounts& before = i < then.endpoints.size() ? then.endpoints[i] : PeerCounts{};
    std::vector<Phrase> items{{fmt::format("{} connected", e.connected), e.connected > 0 ? Tone::plain : Tone::faint}};
    if (e.handshake_failures > 0)
      items.push_back(count_phrase("handshake_failures", e.handshake_failures, before.handshake_failures));
    if (e.cut_off > 0) items.push_back(count_phrase("cut_off", e.cut_off, before.cut_off));
    add(to, Kind::readers, e.endpoint, std::move(items));
  }
}

std::string per_second(std::uint64_t now, std::uint64_t then, double seconds) {
  return fmt::format("{:.1f}/s", static_cast<double>(now - std::min(now, then)) / seconds);
}

void add_topics(std::vector<Detail>& to, const PipelineStatus& now, const PipelineStatus& then, double seconds) {
  for (std::size_t i = 0; i < now.ports.size(); ++i) {
    const auto& port = now.ports[i];
    const auto& before = i < then.ports.size() ? then.ports[i] : PipelineStatus::Port{};
    const double bytes = static_cast<double>(port.bytes - std::min(port.bytes, before.bytes)) / seconds;
    add(to, Kind::topics, port.to,
        {{fmt::format("{} messages", port.messages)},
         {per_second(port.messages, before.messages, seconds)},
         {fmt::format("{:.3f} MB/s", bytes / 1e6)}});
  }
}

/// Those that are not locked one by one, the others by name: `lo locked (8)`.
std::vector<Phrase> lock_phrases(const RadioReadings& readings) {
  std::vector<Phrase> items;
  std::map<std::string, int> locked;
  for (const RadioReading& r : readings) {
    if (!r.is_lock) continue;
    if (r.value != 0)
      ++locked[r.name];
    else
      items.push_back({(r.of.empty() ? r.name : r.name + " " + r.of) + " NOT LOCKED", Tone::bad});
  }
  for (const auto& [name, count] : locked)
    items.push_back({count > 1 ? fmt::format("{} locked ({})", name, count) : name + " locked", Tone::good});
  return items;
}

}  // namespace

std::string duration_text(double ns) {
  if (!(ns > 0)) return "-";
  if (ns < 1e6) return fmt::format("{:.0f} us", ns / 1e3);
  if (ns < 1e9) return fmt::format("{:.{}f} ms", ns / 1e6, ns < 1e7 ? 2 : ns < 1e8 ? 1 : 0);
  return fmt::format("{:.2f} s", ns / 1e9);
}

StatusFacts facts_of(const PipelineStatus& now, const PipelineStatus& then, double seconds) {
  const Histogram::Snapshot recent = now.latency.since(then.latency);
  const auto quantile = [&](double q) { return recent.count > 0 ? duration_text(recent.quantile_ns(q)) : "-"; };
  const auto losses = [](std::uint64_t n, std::uint64_t was) {
    return Phrase{fmt::format("{}", n), n > was ? Tone::bad : n > 0 ? Tone::warning : Tone::plain};
  };
  StatusFacts facts;
  facts.cells = {Phrase{now.name, Tone::strong},
                 state_phrase(now),
                 Phrase{rate_text(static_cast<double>(now.received - then.received) / seconds)},
                 Phrase{fmt::format("{}", now.blocks)},
                 Phrase{quantile(0.5)},
                 Phrase{quantile(0.99)},
                 Phrase{duration_text(static_cast<double>(now.latency.worst_ns))},
                 losses(now.lost, then.lost),
                 losses(dropped_in_all(now), dropped_in_all(then)),
                 losses(now.reconnects, then.reconnects)};
  std::vector<Detail>& all = facts.details;
  if (!now.trouble.empty()) add(all, Kind::trouble, now.radio, {{now.trouble, Tone::bad}});
  if (!now.slow_stage.empty()) add(all, Kind::trouble, now.slow_stage, {{"this stage does not return", Tone::bad}});
  add_dropped(all, now, then);
  add_faults(all, now, then);
  add_events(all, now, then);
  add_readers(all, now, then);
  add_levels(all, now);
  add_input(all, now);
  add_topics(all, now, then, seconds);
  return facts;
}

std::vector<Detail> facts_of(const std::vector<OpenRadio>& radios) {
  std::vector<Detail> all;
  for (const OpenRadio& radio : radios) {
    std::vector<Phrase> items = lock_phrases(radio.readings);
    for (const RadioReading& r : radio.readings)
      if (!r.is_lock && std::isfinite(r.value))
        items.push_back({fmt::format("{} {:.4g}", r.of.empty() ? r.name : r.name + " " + r.of, r.value)});
    add(all, Kind::radio, radio.driver + (radio.args.empty() ? "" : " " + radio.args), std::move(items));
  }
  return all;
}

std::vector<Detail> totals_of(const PipelineStatus& s) {
  std::vector<Detail> all;
  add_faults(all, s, s);
  add_readers(all, s, s);
  std::erase_if(all, [](const Detail& d) { return d.kind == Kind::readers && d.items.size() < 2; });
  for (Detail& d : all)
    if (d.kind == Kind::readers) d.items.erase(d.items.begin());  // who is connected at the end says nothing
  add_events(all, s, s);
  return all;
}

}  // namespace iqd
