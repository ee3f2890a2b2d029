// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/array_notes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/files/npy.hpp"
#include "radio/file/array_sink.hpp"
#include "radio/file/file_bytes.hpp"
#include "radio/file/iso_time.hpp"

namespace iqd::radio {
namespace {

using nlohmann::json;

constexpr std::size_t kMostNotes = 1 << 20;
constexpr std::size_t kMostMessages = 4 << 20;
constexpr double kMostIndex = 9e15;  // doubles count to there

double number_in(const json& object, const char* key) {
  const auto found = object.find(key);
  const double x = found != object.end() && found->is_number() ? found->get<double>() : 0;
  return std::isfinite(x) ? x : 0;
}

std::int64_t index_in(const json& object, const char* key) {
  const double x = number_in(object, key);
  return std::fabs(x) < kMostIndex ? static_cast<std::int64_t>(x) : 0;
}

std::string text_in(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void read_facts(const json& facts, ArrayNotes& notes) {
  if (const auto dims = facts.find("dims"); dims != facts.end() && dims->is_array())
    for (const json& name : *dims) notes.dims.push_back(name.is_string() ? name.get<std::string>() : "?");
  const double source_rate = number_in(facts, "sample_rate");
  const double item_rate = number_in(facts, "item_rate");
  notes.rate_hz = item_rate > 0 ? item_rate : source_rate;
  if (notes.rate_hz > 0 && source_rate > 0) notes.period = source_rate / notes.rate_hz;
  if (facts.contains("frequency") && facts["frequency"].is_number()) notes.frequency_hz = number_in(facts, "frequency");
  if (facts.contains("time_ns") && facts["time_ns"].is_number_integer())
    notes.time_ns = facts["time_ns"].get<std::int64_t>();
  const std::int64_t time_ns = notes.time_ns.value_or(0);
  if (!is_date(time_ns) || !is_plausible_time(time_ns)) notes.time_ns.reset();
  notes.hardware = text_in(facts, "hw");
  notes.author = text_in(facts, "author");
  notes.description = text_in(facts, "description");
  const auto tuned = facts.find("tuned");
  if (tuned == facts.end() || !tuned->is_array()) return;
  for (const json& t : *tuned)
    if (t.is_object()) notes.tuned.push_back({index_in(t, "row"), index_in(t, "sample"), number_in(t, "frequency")});
}

void read_messages(const std::string& path, ArrayNotes& notes) {
  NpyLayout layout;
  try {
    layout = read_npy_layout(path);
  } catch (const UsageError&) {
    return;
  }
  const std::vector<std::pair<std::string, std::string>> fields{
      {"row", "<i8"}, {"rows", "<i8"}, {"sample", "<i8"}, {"time_ns", "<i8"}, {"gap", "<i8"}};
  if (layout.header.fields != fields || layout.header.shape->size() != 1) return;
  const auto present = static_cast<std::size_t>(layout.bytes) / sizeof(ArrayNotes::Row);
  const auto named = static_cast<std::size_t>(layout.header.shape->front());
  const std::size_t count = std::min({present, named, kMostMessages});
  const std::string bytes = FileBytes(path).read(layout.begin, count * sizeof(ArrayNotes::Row));
  notes.messages.resize(bytes.size() / sizeof(ArrayNotes::Row));
  if (!notes.messages.empty())
    std::memcpy(notes.messages.data(), bytes.data(), notes.messages.size() * sizeof(ArrayNotes::Row));
}

struct Cut {
  std::int64_t lost = 0;
  std::optional<double> frequency_hz = {};
  std::optional<std::int64_t> time_ns = {};
};

/// Where segments begin, by row.
std::map<std::int64_t, Cut> cuts_of(const ArrayNotes& notes, std::int64_t samples) {
  std::map<std::int64_t, Cut> cuts;
  for (const ArrayNotes::Row& m : notes.messages) {
    if (m.gap <= 0 || m.row <= 0 || m.row >= samples) continue;
    const double lost = std::round(static_cast<double>(m.gap) / notes.period);
    Cut& cut = cuts[m.row];
    cut.lost = static_cast<std::int64_t>(std::min(lost, kMostIndex));
    if (is_date(m.time_ns) && is_plausible_time(m.time_ns)) cut.time_ns = m.time_ns;
  }
  for (const ArrayNotes::Tuned& t : notes.tuned) {
    const auto message = std::ranges::find(notes.messages, t.row, &ArrayNotes::Row::row);
    const double behind =
        message == notes.messages.end()
            ? 0
            : std::round((static_cast<double>(t.sample) - static_cast<double>(message->sample)) / notes.period);
    const double row = static_cast<double>(t.row) + std::clamp(behind, 0.0, kMostIndex);
    if (row > 0 && row < static_cast<double>(samples))
      cuts[static_cast<std::int64_t>(row)].frequency_hz = t.frequency_hz;
  }
  return cuts;
}

}  // namespace

ArrayNotes read_array_notes(const std::string& path) {
  ArrayNotes notes;
  if (!is_npy(path)) return notes;
  const FileBytes file(json_path(path));
  const json facts = json::parse(file.read(0, kMostNotes), nullptr, false);
  if (!facts.is_object()) return notes;
  read_facts(facts, notes);
  read_messages(messages_path(path), notes);
  return notes;
}

void cut_by_notes(const ArrayNotes& notes, Recording& r) {
  const Segment whole = r.segments.front();
  const std::int64_t step = r.step_bytes();
  std::int64_t from = 0;
  for (const auto& [row, cut] : cuts_of(notes, whole.samples)) {
    Segment& before = r.segments.back();
    before.samples = row - from;
    const double lasted = static_cast<double>(before.samples + cut.lost) * 1e9 / r.rate_hz;
    const double running_ns = static_cast<double>(before.time_ns) + lasted;
    const std::int64_t running = std::fabs(running_ns) < 9e18 ? before.time_ns + std::llround(lasted) : before.time_ns;
    r.segments.push_back({.byte = whole.byte + row * step,
                          .lost = cut.lost,
                          .time_ns = cut.time_ns.value_or(running),
                          .frequency_hz = cut.frequency_hz});
    from = row;
  }
  r.segments.back().samples = whole.samples - from;
}

}  // namespace iqd::radio
