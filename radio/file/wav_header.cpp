// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/wav_header.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "radio/file/iso_time.hpp"
#include "radio/file/wav_chunks.hpp"

namespace iqd::radio {
namespace {

constexpr std::int64_t kMost32 = 0xffffffff;
constexpr int kPcm = 1, kFloat = 3;

/// Little-endian on any machine.
class Writer {
 public:
  explicit Writer(std::byte* to) : to_(to) {}

  void name(std::string_view four) {
    std::memcpy(to_, four.data(), 4);
    to_ += 4;
  }
  void number(std::int64_t value, int bytes) {
    for (int b = 0; b < bytes; ++b) *to_++ = static_cast<std::byte>(value >> 8 * b & 0xff);
  }
  void chunk(std::string_view four, std::int64_t bytes) {
    name(four);
    number(bytes, 4);
  }
  const std::byte* at() const { return to_; }

 private:
  std::byte* to_;
};

constexpr std::int64_t kAuxiBytes = 68, kNoteBytes = 24;

/// A SYSTEMTIME of Windows.
void write_time(Writer& w, std::int64_t ns) {
  if (ns == 0) return w.number(0, 8), w.number(0, 8);
  const std::string text = format_iso_time(ns);  // 2025-03-31T12:00:00.123456789Z
  const auto part = [&](std::size_t at, std::size_t digits) { w.number(std::stoi(text.substr(at, digits)), 2); };
  part(0, 4);
  part(5, 2);
  w.number((ns / 86'400'000'000'000 + 4) % 7, 2);  // day of the week: 1970 began on a Thursday
  part(8, 2);
  for (const std::size_t at : {11, 14, 17}) part(at, 2);
  part(20, 3);
}

void write_notes(Writer& w, const WavFormat& f, std::int64_t frames) {
  w.chunk("auxi", kAuxiBytes);
  write_time(w, f.time_ns);
  const double seconds = static_cast<double>(frames) / static_cast<double>(f.rate);
  write_time(w, f.time_ns == 0 ? 0 : f.time_ns + std::llround(std::min(seconds, 1e9) * 1e9));
  const bool fits = f.frequency_hz > 0 && f.frequency_hz < static_cast<double>(kMost32);
  w.number(fits ? std::llround(f.frequency_hz) : 0, 4);
  w.number(f.rate, 4);
  for (int unused = 0; unused < 7; ++unused) w.number(0, 4);
  w.chunk(kWavNote, kNoteBytes);
  w.number(f.complex ? 1 : 0, 8);
  w.number(std::bit_cast<std::int64_t>(f.frequency_hz), 8);
  w.number(f.time_ns, 8);
}

}  // namespace

std::vector<std::byte> wav_header(const WavFormat& f, std::int64_t data) {
  const std::size_t bytes = kWavHeaderBytes + (f.notes ? 16 + kAuxiBytes + kNoteBytes : 0);
  const std::int64_t riff = data + static_cast<std::int64_t>(bytes) - 8;
  const std::int64_t frames = data / f.frame_bytes();
  const bool large = riff > kMost32;
  std::vector<std::byte> header(bytes);
  Writer w(header.data());
  w.chunk(large ? "RF64" : "RIFF", large ? kMost32 : riff);
  w.name("WAVE");
  // Room for the sizes of a large file; readers skip the chunk under this other name.
  w.chunk(large ? "ds64" : "JUNK", 28);
  for (const std::int64_t size : {riff, data, frames}) w.number(large ? size : 0, 8);
  w.number(0, 4);
  w.chunk("fmt ", 18);
  w.number(f.floats ? kFloat : kPcm, 2);
  w.number(f.channels, 2);
  w.number(f.rate, 4);
  w.number(f.rate * f.frame_bytes(), 4);
  w.number(f.frame_bytes(), 2);
  w.number(f.bits, 2);
  w.number(0, 2);
  w.chunk("fact", 4);
  w.number(large ? kMost32 : frames, 4);
  if (f.notes) write_notes(w, f, frames);
  w.chunk("data", large ? kMost32 : data);
  assert(w.at() == header.data() + header.size());
  return header;
}

}  // namespace iqd::radio
