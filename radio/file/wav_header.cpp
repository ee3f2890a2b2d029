// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/wav_header.hpp"

#include <cassert>
#include <cstring>
#include <string_view>

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

}  // namespace

std::array<std::byte, kWavHeaderBytes> wav_header(const WavFormat& f, std::int64_t data) noexcept {
  const std::int64_t riff = data + static_cast<std::int64_t>(kWavHeaderBytes) - 8;
  const std::int64_t frames = data / f.frame_bytes();
  const bool large = riff > kMost32;
  std::array<std::byte, kWavHeaderBytes> header{};
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
  w.number(f.floats ? 32 : 16, 2);
  w.number(0, 2);
  w.chunk("fact", 4);
  w.number(large ? kMost32 : frames, 4);
  w.chunk("data", large ? kMost32 : data);
  assert(w.at() == header.data() + header.size());
  return header;
}

}  // namespace iqd::radio
