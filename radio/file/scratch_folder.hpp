// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/driver.hpp"

namespace iqd::radio {

/// For tests: a folder that goes away with its owner.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "iqd-file-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::filesystem::filesystem_error("mkdtemp", name, {});
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
  }
  template <class T> void write(const std::string& name, const std::vector<T>& items) const {
    std::ofstream(path_ / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(items.data()), static_cast<std::streamsize>(items.size() * sizeof(T)));
  }
  std::string text(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  template <class T> std::vector<T> items(const std::string& name) const {
    const std::string bytes = text(name);
    std::vector<T> all(bytes.size() / sizeof(T));
    if (!all.empty()) std::memcpy(all.data(), bytes.data(), all.size() * sizeof(T));
    return all;
  }

 private:
  std::filesystem::path path_;
};

/// A stream port of one or more channels at 1 MS/s.
inline PortFormat stream_format(Element element, std::int64_t channels = 1, std::int64_t most = 4096) {
  PortFormat format;
  format.pipeline = "test";
  format.port = "source.out";
  format.element = element;
  if (channels > 1) format.dims.push_back({"channel", channels});
  format.dims.push_back({"n", most});
  format.varying = static_cast<int>(format.dims.size()) - 1;
  format.rate_hz = format.item_rate_hz = 1e6;
  format.frequency_hz = 1.4515e9;
  return format;
}

/// A message that starts at a source sample; its payload is [channel][n].
template <class T>
Message message_of(const PortFormat& format, SampleIndex sample, std::span<const T> payload, std::int64_t gap = 0) {
  Message message;
  message.format = &format;
  message.sample = sample;
  message.time_ns = 1'743'422'400'000'000'000 + sample * 1000;
  message.time = TimeSource::radio;
  message.gap = gap;
  message.payload = std::as_bytes(payload);
  message.extent = static_cast<std::int64_t>(message.payload.size()) / format.bytes(1);
  return message;
}

}  // namespace iqd::radio
