// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/npy_recording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/files/npy.hpp"
#include "radio/file/array_notes.hpp"
#include "radio/file/name_hints.hpp"

namespace iqd::radio {
namespace {

struct NumberType {
  std::string_view name;  // in a dtype, without its byte order
  Number number;
  bool complex;
};
constexpr NumberType kTypes[] = {{"c8", Number::f32, true},  {"c16", Number::f64, true}, {"f2", Number::f16, false},
                                 {"f4", Number::f32, false}, {"f8", Number::f64, false}, {"i1", Number::i8, false},
                                 {"i2", Number::i16, false}, {"i4", Number::i32, false}, {"u1", Number::u8, false},
                                 {"u2", Number::u16, false}, {"u4", Number::u32, false}};

const DiskFormat* format_of(std::string_view dtype, bool pairs) {
  if (dtype.size() < 3) return nullptr;
  for (const NumberType& t : kTypes)
    if (dtype.substr(1) == t.name && !(pairs && t.complex))
      return find_disk_format(t.number, t.complex || pairs, dtype.front() == '>');
  return nullptr;
}

/// The array's dimensions by meaning: time, channels, and whether the last two numbers are I and Q.
struct Axes {
  std::size_t time = 0;
  std::optional<std::size_t> channel;
  bool pairs = false;
};

std::string shape_text(const npy::Header& header) {
  return fmt::format("({})", fmt::join(*header.shape, ", "));
}

/// By the names that iqd gave them.
std::optional<Axes> named_axes(const std::vector<std::string>& names, std::string& why) {
  Axes axes;
  for (std::size_t d = 0; d < names.size(); ++d) {
    if (names[d] == "n")
      axes.time = d;
    else if (names[d] == "channel")
      axes.channel = d;
    else if (names[d] == "iq" && d + 1 == names.size())
      axes.pairs = true;
    else
      why =
          fmt::format("its dimensions are {}, not samples of channels, so it cannot be played", fmt::join(names, ", "));
  }
  return why.empty() ? std::optional(axes) : std::nullopt;
}

std::optional<Axes> axes_of(const npy::Header& header, const ArrayNotes& notes, std::string& why) {
  const auto& shape = *header.shape;
  if (!notes.dims.empty() && notes.dims.size() == shape.size()) return named_axes(notes.dims, why);
  Axes axes;
  std::size_t dims = shape.size();
  const bool is_complex = header.descr && header.descr->find('c') != std::string::npos;
  axes.pairs = header.fields.empty() && !is_complex && dims > 1 && shape.back() == 2;
  if (axes.pairs) --dims;
  if (dims < 1 || dims > 2) {
    why = fmt::format("its shape is {}; samples have one dimension, or two with the channels", shape_text(header));
    return std::nullopt;
  }
  if (dims == 1) return axes;
  axes.channel = shape[0] <= shape[1] ? 0 : 1;
  axes.time = 1 - *axes.channel;
  return axes;
}

/// One after the other, or interleaved; I and Q together.
bool lay_out_array(const npy::Header& header, const Axes& axes, Recording& r) {
  const auto& shape = *header.shape;
  const bool fortran = *header.fortran && shape.size() > 1;
  if (fortran && axes.pairs) return false;
  r.channels = axes.channel ? shape[*axes.channel] : 1;
  const bool channel_first = axes.channel && *axes.channel < axes.time;
  const bool in_rows = r.channels > 1 && channel_first != fortran;
  if (in_rows && __builtin_mul_overflow(shape[axes.time], r.format->bytes, &r.row_bytes)) return false;
  return true;
}

const DiskFormat* stored_as(const npy::Header& header, bool pairs) {
  if (header.fields.empty()) return format_of(*header.descr, pairs);
  const auto& fields = header.fields;
  return fields.size() == 2 && fields[0].second == fields[1].second ? format_of(fields[0].second, true) : nullptr;
}

void note_tuning(const ArrayNotes& notes, const NameHints& hints, Recording& r) {
  r.rate_hz = notes.rate_hz > 0 ? notes.rate_hz : hints.rate_hz;
  r.hardware = notes.hardware;
  r.author = notes.author;
  r.description = notes.description;
  Segment& first = r.segments.front();
  first.frequency_hz = notes.frequency_hz ? notes.frequency_hz : hints.frequency_hz;
  const std::optional<std::int64_t> time = notes.time_ns ? notes.time_ns
                                           : hints.time  ? std::optional(hints.time->ns)
                                                         : std::nullopt;
  r.has_time = time.has_value();
  if (time) first.time_ns = *time;
}

}  // namespace

bool is_npy_start(std::string_view start) noexcept {
  return start.starts_with("\x93NUMPY");
}

Recording read_npy_recording(const std::string& path, const RecordingKeys& keys, std::vector<std::string>& problems) {
  Recording r;
  r.path = r.data = path;
  const auto refuse = [&](const std::string& why) {
    problems.push_back(path + ": " + why);
    r.format = nullptr;
    return r;
  };
  NpyLayout layout;
  try {
    layout = read_npy_layout(path);
  } catch (const UsageError& e) {
    problems.emplace_back(e.what());
    return r;
  }
  if (!keys.format.empty() || keys.channels > 0)
    return refuse("an array says its own format and channels; leave out `format` and `channels`");
  const ArrayNotes notes = read_array_notes(path);
  std::string why;
  const auto axes = axes_of(layout.header, notes, why);
  if (!axes) return refuse(why);
  r.format = stored_as(layout.header, axes->pairs);
  if (!r.format)
    return refuse(
        fmt::format("an array of {} cannot be played; iqd plays complex64, complex128, float and int of up to "
                    "32 bits, or pairs of these; convert it with numpy's astype",
                    layout.header.fields.empty() ? *layout.header.descr : "such records"));
  if (!lay_out_array(layout.header, *axes, r))
    return refuse("I and Q do not lie together: save it in C order (numpy.ascontiguousarray)");
  if (r.channels < 1 || r.channels > 1000) return refuse(fmt::format("its shape is {}", shape_text(layout.header)));
  const std::int64_t samples = (*layout.header.shape)[axes->time];
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(samples, r.format->bytes * r.channels, &bytes) || bytes > layout.bytes)
    return refuse(fmt::format("is cut short: {} samples do not fit {} bytes", samples, layout.bytes));
  r.segments.push_back({.byte = layout.begin, .samples = samples});
  note_tuning(notes, hints_in(path), r);
  if (r.rate_hz > 0) cut_by_notes(notes, r);
  return r;
}

}  // namespace iqd::radio
