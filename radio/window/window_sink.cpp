// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/window/window_sink.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/log.hpp"
#include "radio/file/replaced_file.hpp"
#include "radio/window/message_file.hpp"

namespace iqd::radio {

WindowSink::WindowSink(const std::string& path, const std::string& entry, std::shared_ptr<PlayedWindow> window,
                       const PortFormat& format)
    : window_(std::move(window)), results_(results_path(path, window_->number, window_->count)), file_(part(), 1) {
  file_.cut(0);
  manifest_.window = window_->number;
  manifest_.windows = window_->count;
  manifest_.version = IQD_VERSION;
  manifest_.entry = entry;
  manifest_.format = format;
}

bool WindowSink::send(const Message& message) {
  if (stopped_) return false;
  bytes_.clear();
  put_message(message, bytes_);
  if (!file_.append(bytes_)) {
    log::error("{}: {}; the window will not be whole", part(), std::strerror(errno));
    stopped_ = true;
    return false;
  }
  hash_.add(bytes_);
  manifest_.rows += message.extent;
  computed_ += message.samples;
  return true;
}

void WindowSink::finish() {
  if (std::exchange(finished_, true)) return;
  if (complete()) return;
  window_->failed = true;
  ::unlink(part().c_str());
}

/// Gives the results their name, once the disk has them, and then their manifest. Logs what is wrong.
bool WindowSink::complete() {
  if (stopped_ || !window_->whole) {
    log::error("{}: the window is not whole; it has to run again", results_);
    return false;
  }
  manifest_.pipeline = window_->pipeline;
  manifest_.data = window_->data;
  manifest_.device = window_->device;
  manifest_.warmed = window_->warmed;
  manifest_.sample = window_->first;
  manifest_.samples = window_->end - window_->first;
  manifest_.missing = window_->missing;
  manifest_.blocks = window_->blocks;
  manifest_.lost = window_->received - computed_;
  manifest_.bytes = file_.frames();
  manifest_.results = hash_.hex();
  const std::filesystem::path folder = std::filesystem::path(results_).parent_path();
  for (const std::filesystem::path sink : window_->sinks)
    if (sink.parent_path() == folder) manifest_.sinks.push_back(sink.filename().string());
  const ReplacedFile manifest(manifest_path(results_));
  manifest.remove();  // first: it must not describe other results
  if (file_.sync() && std::rename(part().c_str(), results_.c_str()) == 0 && manifest.write(text_of(manifest_)))
    return true;
  log::error("{}: {}; the window has to run again", results_, std::strerror(errno));
  return false;
}

}  // namespace iqd::radio
