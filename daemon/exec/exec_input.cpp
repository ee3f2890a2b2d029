// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/exec/exec_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "config/reader.hpp"
#include "daemon/command/array_port.hpp"
#include "daemon/exec/array_source.hpp"
#include "daemon/exec/counted_time.hpp"
#include "radio/drivers.hpp"
#include "radio/file/array_notes.hpp"
#include "radio/file/recording.hpp"
#include "radio/file/recording_names.hpp"

namespace iqd {
namespace {

ExecInput open_array(const std::string& path, const InputSpec& reader, const ExecHints& hints) {
  const NpyArray array = read_npy(path);
  StageInput input;
  try {
    input = as_input(array, reader, hints.rate_hz.value_or(hints.usual_rate_hz));
  } catch (const UsageError& e) {
    throw UsageError(fmt::format("{}: {}", path, e.what()));
  }
  if (input.shape.rows.size() > 1 || input.shape.axis != Axis::stream || !input.shape.item.empty())
    throw UsageError(fmt::format("{}: expected samples [n] or [channel][n], found {}", path, input.shape.text()));
  input.shape.frequency_hz = hints.frequency_hz.value_or(hints.usual_frequency_hz);
  ExecInput opened{nullptr, input.length, input.shape.rows.size() == 1 && input.shape.rows.front().extent == 1};
  opened.source = array_source(std::move(input));
  return opened;
}

/// What a file says about its samples, with what the command line adds; nothing if it cannot be read.
std::optional<radio::Recording> look_at(const std::string& path, const ExecHints& hints, double rate_hz) {
  std::vector<std::string> problems;
  const radio::RecordingKeys keys{
      .format = hints.format, .rate_hz = rate_hz, .frequency_hz = hints.frequency_hz, .channels = hints.channels};
  radio::Recording recording = radio::read_recording(path, problems, keys);
  return problems.empty() ? std::optional(std::move(recording)) : std::nullopt;
}

/// Whether iqd wrote the array without knowing a rate: 1 stands for it.
bool has_no_rate(const std::string& array) {
  const radio::ArrayNotes notes = radio::read_array_notes(array);
  return std::fabs(notes.rate_hz * notes.period - 1) < 1e-9;
}

/// Whether an array is a recording, with rate, gaps and retunes in the files beside it, whose numbers the stage takes
/// as they are. Others are read into memory, which converts them.
bool is_recording(const std::string& array, const InputSpec& reader) {
  const auto r = look_at(array, {}, 0);
  if (!r || has_no_rate(array)) return false;
  const bool is_integer = r->format->number != radio::Number::f32 && r->format->number != radio::Number::f64 &&
                          r->format->number != radio::Number::f16;
  if (is_integer && !r->format->complex) return false;  // the array's values count, not parts of full scale
  const Element element = r->format->element;
  return reader.takes(element) || (element == Element::sc16 && reader.takes(Element::cf32));
}

}  // namespace

bool says_rate(const std::string& path, const ExecHints& hints) {
  return look_at(path, hints, 0) && !(radio::is_npy(path) && has_no_rate(path));
}

bool is_stream_of_samples(const std::string& array, bool with_rate) {
  if (!with_rate) return says_rate(array, {});
  try {
    const npy::Header header = read_npy_layout(array).header;
    const std::vector<std::int64_t> shape = header.shape.value_or(std::vector<std::int64_t>());
    const bool pairs = shape.size() > 1 && shape.back() == 2 && header.descr.value_or("").ends_with("i2");
    const std::ptrdiff_t dims = std::ssize(shape) - (pairs ? 1 : 0);
    return dims == 1 || dims == 2;
  } catch (const UsageError&) {
    return false;
  }
}

bool takes_samples(const InputSpec& input) {
  const auto dimensions = std::ranges::count(input.dims, '[');
  return dimensions == 0 || (dimensions == 1 && input.axis_name() == "n");
}

ExecInput open_recording(const std::string& path, const InputSpec& reader, const ExecHints& hints,
                         const Section& section) {
  if (radio::is_npy(path) && !is_recording(path, reader)) return open_array(path, reader, hints);
  nlohmann::ordered_json keys = {{"path", path}};
  auto recording = look_at(path, hints, hints.rate_hz.value_or(0));
  const bool has_rate = recording && recording->rate_hz > 0;
  if (!has_rate) recording = look_at(path, hints, hints.rate_hz.value_or(hints.usual_rate_hz));
  if (hints.rate_hz || (!has_rate && recording)) keys["rate"] = hints.rate_hz.value_or(hints.usual_rate_hz);
  if (hints.frequency_hz) keys["frequency"] = *hints.frequency_hz;
  if (!hints.format.empty()) keys["format"] = hints.format;
  if (hints.channels > 0) keys["channels"] = hints.channels;
  ExecInput opened;
  const auto drivers = all_drivers();
  opened.source = std::ranges::find(drivers, "file", &DriverEntry::name)->make_source();
  Problems found;
  const Document document = parse_document(keys.dump(), section.place().file, found);
  read_fields(
      document.root, [&](FieldVisitor& v) { opened.source->fields(v); }, found);
  for (const Problem& p : found) section.problem(p.path, p.what);
  if (recording) opened.samples = recording->samples();
  if (recording && !recording->has_time) opened.source = counted_time(std::move(opened.source));
  return opened;
}

}  // namespace iqd
