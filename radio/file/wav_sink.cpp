// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/wav_sink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/file/iso_time.hpp"
#include "radio/file/raw_sink.hpp"
#include "radio/file/sample_conversion.hpp"
#include "radio/file/staging.hpp"
#include "radio/message_part.hpp"

namespace iqd::radio {
namespace {

static_assert(std::endian::native == std::endian::little, "samples are written unchanged");

constexpr std::int64_t kHeaderNs = 1'000'000'000;
constexpr std::int64_t kMostSilence = 10;  // seconds
constexpr std::int64_t kMostFrameBytes = 0xffff;
constexpr std::int64_t kMostBytesPerSecond = 0xffffffff;

/// The format of the numbers; null if a WAV file cannot have it.
const DiskFormat* stored_numbers(Element element, const DiskFormat* wanted) {
  const bool complex = traits(element).complex;
  if (!wanted) {
    const bool floats = element == Element::f32 || element == Element::cf32;
    const bool integers = element == Element::i16 || element == Element::sc16;
    return floats || integers ? find_disk_format(floats ? Number::f32 : Number::i16, complex) : nullptr;
  }
  if (wanted->big_endian || !can_write(*wanted, element)) return nullptr;
  switch (wanted->number) {
    case Number::u8: return find_disk_format(Number::wav8, complex);
    case Number::i16:
    case Number::i24:
    case Number::i32:
    case Number::f32:
    case Number::f64: return wanted;
    default: return nullptr;
  }
}

WavFormat wav_format(const PortFormat& port, const DiskFormat* wanted) {
  const DiskFormat& stored = *stored_numbers(port.element, wanted);
  const std::int64_t streams = port.dims.size() == 2 ? port.dims.front().extent : 1;
  WavFormat format{.floats = stored.number == Number::f32 || stored.number == Number::f64,
                   .channels = streams * (stored.complex ? 2 : 1),
                   .rate = std::llround(port.item_rate_hz),
                   .bits = 8 * stored.bytes / (stored.complex ? 2 : 1),
                   .complex = stored.complex};
  format.notes = format.channels % 2 == 0;  // without, real channels would be taken for I and Q
  return format;
}

const std::string& free_path(const std::string& path, bool overwrite, const PortFormat& format,
                             const DiskFormat* wanted) {
  if (const std::string why = unplayable(format, wanted); !why.empty()) throw SetupError(why);
  if (!overwrite && ::access(path.c_str(), F_OK) == 0)
    throw SetupError(fmt::format("{}: already exists; set overwrite: true or choose another path", path));
  return path;
}

}  // namespace

std::string unplayable(const PortFormat& format, const DiskFormat* wanted) {
  if (!is_stream(format) || !stored_numbers(format.element, nullptr))
    return fmt::format("{} is {} {}; a WAV file takes f32 or i16, cf32 or sc16, [n] or [channel][n]", format.port,
                       name_of(format.element), to_string(format.dims));
  if (!stored_numbers(format.element, wanted))
    return fmt::format(
        "{} is {}, which a WAV file cannot hold as {}; it takes {}", format.port, name_of(format.element), wanted->name,
        traits(format.element).complex ? "cu8, cs16, cs24, cs32, cf32 and cf64" : "u8, s16, s24, s32, f32 and f64");
  const double rate = format.item_rate_hz;
  // Rates are computed in floating point: a deviation of a millionth is rounding.
  if (rate < 1 || std::fabs(rate - std::round(rate)) > 1e-6 * rate)
    return fmt::format("{} has {} samples a second; a WAV file needs a whole number", format.port, rate);
  const WavFormat wav = wav_format(format, wanted);
  if (wav.frame_bytes() <= kMostFrameBytes && wav.rate * wav.frame_bytes() <= kMostBytesPerSecond) return {};
  return fmt::format("{} has {} channels of {} samples a second, too much for a WAV file", format.port, wav.channels,
                     rate);
}

WavSink::WavSink(const std::string& path, bool overwrite, const PortFormat& format, const DiskFormat* stored)
    : path_(free_path(path, overwrite, format, stored)),
      format_(wav_format(format, stored)),
      period_(format.rate_hz > 0 ? format.rate_hz / format.item_rate_hz : 1),
      file_(path, 1),
      encoder_(format, stored_numbers(format.element, stored)) {
  format_.frequency_hz = format.frequency_hz;
  file_.cut(0);
  if (!file_.append(wav_header(format_, 0)))
    throw SetupError(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

Need WavSink::need(const std::string& path) {
  return {.what = "sound " + path, .bytes = kStagingBytes, .files = 1, .shared = true};
}

WavSink::~WavSink() {
  close();
}

bool WavSink::send(const Message& message) {
  if (stopped_) return false;
  note_tuning(message);
  const auto lost = static_cast<double>(message.gap) / period_;
  const double most = static_cast<double>(kMostSilence * format_.rate);
  if (started_ && !append_silence(std::llround(std::clamp(lost, 0.0, most)))) return false;
  started_ = true;
  if (!encoder_.encode(message, 0, message.extent, [this](auto frames) { return file_.append(frames); })) return stop();
  if (steady_ns() < next_header_ns_) return true;
  next_header_ns_ = steady_ns() + kHeaderNs;
  return write_header();
}

void WavSink::finish() {
  if (!close()) throw SetupError(path_ + ": its end cannot be written");
}

/// False if it cannot be written, which is logged.
bool WavSink::close() {
  if (stopped_ || std::exchange(finished_, true)) return true;
  const bool written = write_header();
  log_clipped(path_, encoder_.clipped());
  if (retunes_ > 0) log::warn("{}: the frequency changed {} times, which a WAV file cannot show", path_, retunes_);
  return written;
}

void WavSink::note_tuning(const Message& message) {
  if (!started_) {
    format_.frequency_hz = message.frequency_hz();
    format_.time_ns = is_date(message.time_ns) ? message.time_ns : 0;
  } else if (format_.complex && message.tuned >= 0) {
    ++retunes_;
  }
}

bool WavSink::append_silence(std::int64_t frames) {
  if (frames == 0) return true;
  if (format_.bits > 8) return file_.append_zeros(frames * format_.frame_bytes()) || stop();
  const std::vector<std::byte> second(static_cast<std::size_t>(format_.rate * format_.frame_bytes()), std::byte{128});
  for (; frames > 0; frames -= format_.rate)
    if (!file_.append(
            std::span(second).first(static_cast<std::size_t>(std::min(frames, format_.rate) * format_.frame_bytes()))))
      return stop();
  return true;
}

/// Counts whole frames only: a full disk may have cut the last one.
bool WavSink::write_header() {
  const std::vector<std::byte> empty = wav_header(format_, 0);
  const std::int64_t data = file_.frames() - std::ssize(empty);
  return file_.rewrite(0, wav_header(format_, data - data % format_.frame_bytes())) || stop();
}

/// Always returns false.
bool WavSink::stop() {
  if (stopped_) return false;
  stopped_ = true;
  log::error("{}: write failed: {}; recording has stopped", path_, std::strerror(errno));
  write_header();
  return false;
}

}  // namespace iqd::radio
