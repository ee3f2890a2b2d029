// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/wire.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/item_start.hpp"

namespace iqd {
namespace {

constexpr std::size_t kNumberMost = 24;                     // -1.7976931348623157e+308
constexpr std::size_t kEscapeMost = 6;                      // \u001f
constexpr std::size_t kAxisMost = 3 * kNumberMost + 60;     // an axis without its name and its values
constexpr std::size_t kFixedMost = 16 * kNumberMost + 420;  // the keys of every header, and their numbers

/// Appends to a span; after something did not fit, writes nothing more.
class Writer {
 public:
  explicit Writer(std::span<char> into) : begin_(into.data()), at_(begin_), end_(begin_ + into.size()) {}

  void raw(std::string_view text) noexcept {
    if (!room(text.size())) return;
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void string(std::string_view text) noexcept {
    raw("\"");
    for (const char c : text) escaped(c);
    raw("\"");
  }
  void key(std::string_view name) noexcept {
    raw(first_ ? "" : ",");
    first_ = false;
    string(name);
    raw(":");
  }
  void open(std::string_view bracket) noexcept {
    raw(bracket);
    first_ = true;
  }
  void close(std::string_view bracket) noexcept {
    raw(bracket);
    first_ = false;
  }
  void comma() noexcept {
    raw(first_ ? "" : ",");
    first_ = false;
  }
  template <class T> void number(T value) noexcept {
    if constexpr (std::is_floating_point_v<T>)
      if (!std::isfinite(value)) return raw("null");
    const auto [end, error] = std::to_chars(at_, end_, value);
    if (error != std::errc{}) return fail();
    at_ = end;
  }
  std::size_t written() const noexcept { return failed_ ? 0 : static_cast<std::size_t>(at_ - begin_); }

 private:
  bool room(std::size_t bytes) noexcept {
    if (static_cast<std::size_t>(end_ - at_) < bytes) fail();
    return !failed_;
  }
  void fail() noexcept {
    failed_ = true;
    end_ = at_;
  }
  void escaped(char c) noexcept {
    static constexpr char kHex[] = "0123456789abcdef";
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      const char pair[] = {'\\', c};
      raw({pair, 2});
    } else if (code < 0x20 || code == 0x7f) {
      const char text[] = {'\\', 'u', '0', '0', kHex[code >> 4], kHex[code & 15]};
      raw({text, 6});
    } else {
      raw({&c, 1});
    }
  }

  char* begin_;
  char* at_;
  char* end_;
  bool first_ = true;
  bool failed_ = false;
};

template <class T> void write_value(Writer& out, T x) noexcept {
  if constexpr (std::is_same_v<T, cf32>) {
    out.raw("[");
    out.number(x.real());
    out.raw(",");
    out.number(x.imag());
    out.raw("]");
  } else if constexpr (std::is_same_v<T, sc16>) {
    out.raw("[");
    out.number(x.re);
    out.raw(",");
    out.number(x.im);
    out.raw("]");
  } else if constexpr (std::is_same_v<T, f16>) {
    out.number(to_float(x));
  } else {
    out.number(x);
  }
}

void write_fact(Writer& out, const FactColumn& column, std::int64_t item) noexcept {
  with_element(column.element, [&]<class T>(T x) {
    std::memcpy(static_cast<void*>(&x), column.values + static_cast<std::size_t>(item) * sizeof(T), sizeof(T));
    write_value(out, x);
  });
}

/// `"packets":[`, written without a temporary string.
void open_plural(Writer& out, const Dim& dim) noexcept {
  out.comma();
  out.raw("\"");
  out.raw(dim.name);
  out.raw("s\":");
  out.open("[");
}

/// A position in the stream as a source sample, and its time.
void write_start(Writer& out, const Message& m, const FactColumn& starts, std::int64_t item) noexcept {
  const SampleIndex start = start_of(starts, item);
  out.key(starts.key);
  out.number(start);
  if (!(m.format->rate_hz > 0)) return;
  out.key("time_ns");
  out.number(time_of(m, start));
}

void write_facts(Writer& out, const Message& m) noexcept {
  if (m.facts.empty() || m.format->varying < 0) return;
  open_plural(out, m.format->dims[static_cast<std::size_t>(m.format->varying)]);
  for (std::int64_t item = 0; item < m.extent; ++item) {
    out.comma();
    out.open("{");
    for (const FactColumn& column : m.facts) {
      if (has_starts(column)) {
        write_start(out, m, column, item);
        continue;
      }
      out.key(column.key);
      write_fact(out, column, item);
    }
    out.close("}");
  }
  out.close("]");
}

/// `"kinds":["zf","mmse"]`
void write_labels(Writer& out, const Dim& dim) noexcept {
  if (dim.labels.empty()) return;
  open_plural(out, dim);
  for (const std::string& label : dim.labels) {
    out.comma();
    out.string(label);
  }
  out.close("]");
}

void write_shape(Writer& out, const Message& m) noexcept {
  const PortFormat& format = *m.format;
  const bool pairs = format.element == Element::sc16;
  out.key("shape");
  out.open("[");
  for (std::size_t d = 0; d < format.dims.size(); ++d) {
    out.comma();
    out.number(static_cast<int>(d) == format.varying ? m.extent : format.dims[d].extent);
  }
  if (pairs) out.comma(), out.number(2);
  out.close("]");
  out.key("dims");
  out.open("[");
  for (const Dim& dim : format.dims) {
    out.comma();
    out.string(dim.name);
  }
  if (pairs) out.comma(), out.string("iq");
  out.close("]");
  for (const Dim& dim : format.dims) write_labels(out, dim);
}

template <class T> void number_key(Writer& out, std::string_view key, T value) noexcept {
  out.key(key);
  out.number(value);
}
void string_key(Writer& out, std::string_view key, std::string_view value) noexcept {
  out.key(key);
  out.string(value);
}

/// `"bin":{"first":99500000,"step":1000,"unit":"Hz"}`
void write_axis(Writer& out, const Dim& dim, double frequency_hz) noexcept {
  const Frequencies& of = dim.frequencies;
  out.key(dim.name);
  out.open("{");
  if (of.values_hz.empty()) {
    number_key(out, "first", frequency_hz + of.first_hz);
    number_key(out, "step", of.step_hz);
    if (of.wrap > 0) number_key(out, "wrap", of.wrap);
  } else {
    out.key("values");
    out.open("[");
    for (const double value : of.values_hz) {
      out.comma();
      out.number(frequency_hz + value);
    }
    out.close("]");
  }
  string_key(out, "unit", "Hz");
  out.close("}");
}

void write_band(Writer& out, const Message& m) noexcept {
  const PortFormat& format = *m.format;
  number_key(out, "frequency", m.frequency_hz());
  if (m.span_hz() > 0 && m.span_hz() != format.item_rate_hz) number_key(out, "span", m.span_hz());
  if (format.mirrored) {
    out.key("mirrored");
    out.raw("true");
  }
  if (std::ranges::none_of(format.dims, [](const Dim& dim) { return dim.frequencies.known(); })) return;
  out.key("axes");
  out.open("{");
  for (const Dim& dim : format.dims)
    if (dim.frequencies.known()) write_axis(out, dim, m.frequency_hz());
  out.close("}");
}

}  // namespace

std::size_t write_header(const Message& m, std::string_view topic, std::span<char> into) noexcept {
  const PortFormat& format = *m.format;
  Writer out(into);
  out.raw(topic);
  out.raw(" ");
  out.open("{");
  number_key(out, "v", 1);
  string_key(out, "pipeline", format.pipeline);
  string_key(out, "port", format.port);
  number_key(out, "seq", m.seq);
  number_key(out, "sample", m.sample);
  number_key(out, "time_ns", m.time_ns);
  string_key(out, "time", m.time == TimeSource::radio ? "radio" : "host");
  string_key(out, "datatype", traits(format.element).sigmf);
  string_key(out, "dtype", traits(format.element).dtype);
  write_shape(out, m);
  number_key(out, "sample_rate", format.rate_hz);
  if (format.item_rate_hz > 0 && format.item_rate_hz != format.rate_hz)
    number_key(out, "item_rate", format.item_rate_hz);
  write_band(out, m);
  number_key(out, "gap", m.gap);
  number_key(out, "dropped", m.dropped);
  number_key(out, "halo", m.halo);
  if (m.tuned >= 0) number_key(out, "tuned", m.tuned);
  if (format.calibrated) {
    out.key("calibrated");
    out.raw(m.calibrated ? "true" : "false");
  }
  if (format.llr_scale > 0) number_key(out, "llr_scale", format.llr_scale);
  write_facts(out, m);
  out.close("}");
  return out.written();
}

std::size_t header_bound(const PortFormat& format, std::size_t topic_bytes, std::size_t fact_columns,
                         std::int64_t items) noexcept {
  std::size_t bytes = topic_bytes + kFixedMost + kEscapeMost * (format.pipeline.size() + format.port.size());
  for (const Dim& dim : format.dims) {
    bytes += kNumberMost + kEscapeMost * dim.name.size() + 4;
    if (!dim.labels.empty()) bytes += dim.name.size() + 8;
    for (const std::string& label : dim.labels) bytes += kEscapeMost * label.size() + 3;
    if (dim.frequencies.known())
      bytes += kEscapeMost * dim.name.size() + kAxisMost + dim.frequencies.values_hz.size() * (kNumberMost + 1);
  }
  if (fact_columns == 0 || format.varying < 0) return bytes;
  const std::size_t column = kFactKeyMost + 2 * kNumberMost + 7;
  bytes += format.dims[static_cast<std::size_t>(format.varying)].name.size() + 8;
  // One more column, for the time of a start.
  return bytes + static_cast<std::size_t>(items < 0 ? 0 : items) * ((fact_columns + 1) * column + 3);
}

}  // namespace iqd
