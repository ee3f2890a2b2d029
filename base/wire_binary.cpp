// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/wire.hpp"

namespace iqd {
namespace {

static_assert(std::endian::native == std::endian::little, "payloads are sent as they are in memory");

/// Appends to a span; after something did not fit, writes nothing more.
class Bytes {
 public:
  explicit Bytes(std::span<char> into) : into_(into) {}

  void raw(const void* data, std::size_t n) noexcept {
    if (failed_ || into_.size() - at_ < n) {
      failed_ = true;
      return;
    }
    if (n > 0) std::memcpy(into_.data() + at_, data, n);
    at_ += n;
  }
  void text(std::string_view s) noexcept { raw(s.data(), s.size()); }
  template <class T> void little(T value) noexcept { raw(&value, sizeof value); }
  template <class T> void big(T value) noexcept {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    std::reverse(bytes, bytes + sizeof value);
    raw(bytes, sizeof value);
  }
  std::size_t written() const noexcept { return failed_ ? 0 : at_; }

 private:
  std::span<char> into_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

/// The types of GNU Radio's serialised PMTs used in a tag. Unlike the header around them, they are big-endian.
enum class Pmt : std::uint8_t { symbol = 2, real = 4, u64 = 11, tuple = 12 };
constexpr std::size_t kSymbolMost = std::numeric_limits<std::uint16_t>::max();

void pmt_symbol(Bytes& out, std::string_view name) noexcept {
  name = name.substr(0, kSymbolMost);
  out.little(Pmt::symbol);
  out.big(static_cast<std::uint16_t>(name.size()));
  out.text(name);
}
void pmt_real(Bytes& out, double value) noexcept {
  out.little(Pmt::real);
  out.big(value);
}
/// Whole seconds and the fraction, as UHD's blocks write it.
void pmt_time(Bytes& out, std::int64_t time_ns) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t ns = std::max<std::int64_t>(time_ns, 0);
  out.little(Pmt::tuple);
  out.big(std::uint32_t{2});
  out.little(Pmt::u64);
  out.big(static_cast<std::uint64_t>(ns / kSecond));
  pmt_real(out, static_cast<double>(ns % kSecond) / 1e9);
}

template <class F> void tag(Bytes& out, const Message& m, std::string_view key, F value) noexcept {
  out.little(static_cast<std::uint64_t>(m.position));
  pmt_symbol(out, key);
  value();
  pmt_symbol(out, m.format->port);
}

void tags(Bytes& out, const Message& m) noexcept {
  const PortFormat& f = *m.format;
  tag(out, m, "rx_time", [&] { pmt_time(out, m.time_ns); });
  tag(out, m, "rx_rate", [&] { pmt_real(out, f.item_rate_hz > 0 ? f.item_rate_hz : f.rate_hz); });
  tag(out, m, "rx_freq", [&] { pmt_real(out, m.frequency_hz()); });
}

constexpr std::uint64_t kTags = 3;
constexpr std::size_t kGnuRadioFixed = 2 + 1 + 8 + 8;  // magic, version, offset, count
constexpr std::size_t kTagFixed = 8 + 3 + 7 + 3;       // offset, key, source without its name
constexpr std::size_t kTagValues = (5 + 9 + 9) + 9 + 9;

template <class T> T at_most(std::int64_t value) noexcept {
  return static_cast<T>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<T>::max()));
}

/// Elements after the varying dimension; of the whole message if there is none.
std::int64_t elements_of_item(const PortFormat& f) noexcept {
  std::int64_t n = 1;
  for (auto d = static_cast<std::size_t>(f.varying) + 1; d < f.dims.size(); ++d) n *= f.dims[d].extent;
  return n;
}

}  // namespace

std::size_t write_struct_header(const Message& m, std::string_view topic, std::span<char> into) noexcept {
  const PortFormat& f = *m.format;
  Bytes out(into);
  out.text(topic);
  out.text(" iqd1");
  out.little(static_cast<std::uint8_t>(f.element));
  out.little(static_cast<std::uint8_t>(f.dims.size()));
  out.little(static_cast<std::int8_t>(f.varying));
  out.little(static_cast<std::uint8_t>(m.time == TimeSource::radio ? 1 : 0));
  out.little(m.seq);
  out.little(m.sample);
  out.little(m.time_ns);
  out.little(f.varying < 0 ? std::int64_t{1} : m.extent);
  out.little(m.gap);
  out.little(m.dropped);
  out.little(at_most<std::uint32_t>(m.halo));
  out.little(at_most<std::uint32_t>(elements_of_item(f)));
  return out.written();
}

std::size_t write_gnuradio_header(const Message& m, bool tagged, std::span<char> into) noexcept {
  Bytes out(into);
  out.little(std::uint16_t{0x5ff0});
  out.little(std::uint8_t{1});
  out.little(static_cast<std::uint64_t>(m.position));
  out.little(tagged ? kTags : std::uint64_t{0});
  if (tagged) tags(out, m);
  out.raw(m.payload.data(), std::min(m.payload.size(), size_of(m.format->element)));
  return out.written();
}

std::size_t gnuradio_header_bound(const PortFormat& f) noexcept {
  return kGnuRadioFixed + kTags * (kTagFixed + std::min(f.port.size(), kSymbolMost)) + kTagValues + size_of(f.element);
}

}  // namespace iqd
