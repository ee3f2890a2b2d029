// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/intake/source_link.hpp"

#include <fmt/format.h>

#include <utility>

#include "pipeline/intake/thrown_text.hpp"

namespace iqd {

SourceLink::SourceLink(std::string name, const SourceOptions& options, std::unique_ptr<Source> opened,
                       const BlockNeeds& needs)
    : name_(std::move(name)), options_(&options), source_(std::move(opened)), info_(source_->info()) {
  excerpt_ = calls_.call([&] { return source_->excerpt(needs); });
  read_keys();
}

Received SourceLink::receive(std::span<std::byte* const> into, std::int64_t most) {
  try {
    return calls_.call([&] { return source_->receive(into, most); });
  } catch (...) {
    return failed(thrown_text());
  }
}

Received SourceLink::failed(std::string why) {
  if (std::uint64_t more = 0; failure_lines_.allow(more)) log::error("{}: {}", name_, why);
  set_trouble(std::move(why));
  Received received;
  received.event = Received::Event::failed;
  return received;
}

std::optional<std::int64_t> SourceLink::retune(const SourceOptions& to) {
  const std::optional<std::int64_t> from = calls_.call([&] { return source_->retune(to); });
  read_keys();
  return from;
}

bool SourceLink::open_again() {
  try {
    source_ =
        calls_.call([this] { return options_->open(); }, static_cast<std::int64_t>(options_->opening_wait_s() * 1e9));
    const StreamInfo now = source_->info();
    if (now.element == info_.element && now.channels == info_.channels && now.rate_hz == info_.rate_hz) {
      info_.time = now.time;
      read_keys();
      return true;
    }
    set_trouble("it came back with another format or rate");
    log::error("{}: {}", name_, trouble());
    close();
    return false;
  } catch (const std::exception& e) {
    set_trouble(fmt::format("it cannot be opened again yet: {}", e.what()));
  } catch (...) {
    set_trouble("it cannot be opened again yet");
  }
  close();
  log::warn("{}: {}", name_, trouble());
  return false;
}

void SourceLink::close() noexcept {
  set_device_keys({});
  calls_.call([this] { source_.reset(); });
}

/// If the driver's check fails, the previous answer stays.
bool SourceLink::came_back() noexcept {
  const bool was_there = is_there_;
  try {
    is_there_ = calls_.call([this] { return options_->is_there(); });
  } catch (...) {
    return false;
  }
  return is_there_ && !was_there;
}

void SourceLink::set_trouble(std::string why) {
  const std::lock_guard lock(told_mutex_);
  trouble_ = std::move(why);
}

void SourceLink::clear_trouble() {
  const std::lock_guard lock(told_mutex_);
  trouble_.clear();
}

void SourceLink::read_keys() {
  DeviceKeys keys = source_->device_keys();
  if (keys.empty()) {
    const StreamInfo now = source_->info();
    if (now.rate_hz > 0) keys.push_back({"rate", now.rate_hz});
    if (now.frequency_hz != 0) keys.push_back({"frequency", now.frequency_hz});
  }
  set_device_keys(std::move(keys));
}

void SourceLink::set_device_keys(DeviceKeys keys) {
  const std::lock_guard lock(told_mutex_);
  device_keys_ = std::move(keys);
}

DeviceKeys SourceLink::device_keys() const {
  const std::lock_guard lock(told_mutex_);
  return device_keys_;
}

std::string SourceLink::trouble() const {
  const std::lock_guard lock(told_mutex_);
  return trouble_;
}

}  // namespace iqd
