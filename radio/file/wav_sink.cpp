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

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "radio/file/staging.hpp"
#include "signal/filters/interleave.hpp"

namespace iqd::radio {
namespace {

static_assert(std::endian::native == std::endian::little, "samples are written unchanged");

constexpr std::int64_t kHeaderNs = 1'000'000'000;
constexpr std::int64_t kMostSilence = 10;  // seconds
constexpr std::int64_t kMostFrameBytes = 0xffff;
constexpr std::int64_t kMostBytesPerSecond = 0xffffffff;

WavFormat wav_format(const PortFormat& port) {
  return {.floats = port.element == Element::f32,
          .channels = port.dims.size() == 2 ? port.dims.front().extent : 1,
          .rate = std::llround(port.item_rate_hz)};
}

const std::string& free_path(const std::string& path, bool overwrite, const PortFormat& format) {
  if (const std::string why = unplayable(format); !why.empty()) throw SetupError(why);
  if (!overwrite && ::access(path.c_str(), F_OK) == 0)
    throw SetupError(fmt::format("{}: already exists; set overwrite: true or choose another path", path));
  return path;
}

}  // namespace

bool is_wav(std::string_view path) {
  return path.ends_with(".wav") || path.ends_with(".WAV");
}

std::string unplayable(const PortFormat& format) {
  const bool stream = (format.dims.size() == 1 || format.dims.size() == 2) &&
                      format.varying == static_cast<int>(format.dims.size()) - 1 && format.item_rate_hz > 0;
  if (!stream || (format.element != Element::f32 && format.element != Element::i16))
    return fmt::format("{} is {} {}; a WAV file takes f32 or i16, [n] or [channel][n]", format.port,
                       name_of(format.element), to_string(format.dims));
  const double rate = format.item_rate_hz;
  // Rates are computed in floating point: a deviation of a millionth is rounding.
  if (rate < 1 || std::fabs(rate - std::round(rate)) > 1e-6 * rate)
    return fmt::format("{} has {} samples a second; a WAV file needs a whole number", format.port, rate);
  const WavFormat wav = wav_format(format);
  if (wav.frame_bytes() <= kMostFrameBytes && wav.rate * wav.frame_bytes() <= kMostBytesPerSecond) return {};
  return fmt::format("{} has {} channels of {} samples a second, too much for a WAV file", format.port, wav.channels,
                     rate);
}

WavSink::WavSink(const std::string& path, bool overwrite, const PortFormat& format)
    : path_(free_path(path, overwrite, format)),
      format_(wav_format(format)),
      period_(format.rate_hz > 0 ? format.rate_hz / format.item_rate_hz : 1),
      file_(path, 1) {
  staging_.resize(staging_bytes(static_cast<std::size_t>(format_.frame_bytes())));
  file_.cut(0);
  if (!file_.append(wav_header(format_, 0)))
    throw SetupError(fmt::format("{}: cannot write: {}", path, std::strerror(errno)));
}

Need WavSink::need(const std::string& path) {
  return {.what = "sound " + path, .bytes = kStagingBytes, .files = 1, .shared = true};
}

WavSink::~WavSink() {
  finish();
}

bool WavSink::send(const Message& message) {
  if (stopped_) return false;
  const auto lost = static_cast<double>(message.gap) / period_;
  const double most = static_cast<double>(kMostSilence * format_.rate);
  if (started_ && !append_silence(std::llround(std::clamp(lost, 0.0, most)))) return false;
  started_ = true;
  if (!append(message.payload.data(), message.extent)) return false;
  if (steady_ns() < next_header_ns_) return true;
  next_header_ns_ = steady_ns() + kHeaderNs;
  return write_header();
}

void WavSink::finish() {
  if (!stopped_) write_header();
}

bool WavSink::append(const std::byte* samples, std::int64_t frames) {
  const std::int64_t frame = format_.frame_bytes();
  const std::int64_t size = frame / format_.channels;
  const std::int64_t piece = std::ssize(staging_) / frame;
  for (std::int64_t at = 0; at < frames; at += piece) {
    const std::int64_t n = std::min(piece, frames - at);
    const std::byte* const from = samples + at * size;
    interleave(from, static_cast<std::size_t>(size), format_.channels, frames, n, staging_.data());
    if (!file_.append(std::span(staging_).first(static_cast<std::size_t>(n * frame)))) return stop();
  }
  return true;
}

bool WavSink::append_silence(std::int64_t frames) {
  return frames == 0 || file_.append_zeros(frames * format_.frame_bytes()) || stop();
}

/// Counts whole frames only: a full disk may have cut the last one.
bool WavSink::write_header() {
  const std::int64_t data = file_.frames() - static_cast<std::int64_t>(kWavHeaderBytes);
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
