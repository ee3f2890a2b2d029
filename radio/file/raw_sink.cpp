// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/raw_sink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"

namespace iqd::radio {
namespace {

const std::string& free_raw_path(const std::string& path, bool overwrite) {
  if (!overwrite && ::access(path.c_str(), F_OK) == 0)
    throw SetupError(fmt::format("{}: already exists; set overwrite: true or choose another path", path));
  return path;
}

}  // namespace

void log_clipped(const std::string& path, std::int64_t clipped) {
  if (clipped > 0) log::warn("{}: {} numbers were beyond full scale and are clipped", path, clipped);
}

RawSink::RawSink(const std::string& path, bool overwrite, const PortFormat& port, const DiskFormat& format)
    : path_(free_raw_path(path, overwrite)),
      encoder_(port, &format),
      file_(path, encoder_.frame_bytes()),
      period_(port.rate_hz > 0 && port.item_rate_hz > 0 ? port.rate_hz / port.item_rate_hz : 1) {
  file_.cut(0);
}

RawSink::~RawSink() {
  finish();
}

bool RawSink::send(const Message& message) {
  if (stopped_) return false;
  if (file_.frames() > 0 && message.gap > 0) {
    missing_ += static_cast<double>(message.gap) / period_;
    ++gaps_;
  }
  if (encoder_.encode(message, 0, message.extent, [this](auto frames) { return file_.append(frames); })) return true;
  stopped_ = true;
  log::error("{}: write failed: {}; recording has stopped after {} samples", path_, std::strerror(errno),
             file_.frames());
  return false;
}

void RawSink::finish() {
  if (std::exchange(finished_, true)) return;
  log_clipped(path_, encoder_.clipped());
  if (gaps_ > 0)
    log::warn("{}: {:.0f} samples are missing in {} places, which such a file cannot show", path_, missing_, gaps_);
}

}  // namespace iqd::radio
