// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/outlets/apply_outlet.hpp"

#include <fmt/format.h>

#include <cassert>
#include <concepts>
#include <cstring>
#include <utility>

#include "base/log.hpp"

namespace iqd {
namespace {

constexpr std::int64_t kRetryNs = 1'000'000'000;

// The shortest decimal of a double reads back as that double; every float is also a double.
std::string number_text(float value) {
  return fmt::format("{}", static_cast<double>(value));
}
std::string number_text(cf32 value) {
  return fmt::format("{}{:+}j", static_cast<double>(value.real()), static_cast<double>(value.imag()));
}
std::string number_text(std::integral auto value) {
  return fmt::format("{}", value);
}

template <class T> std::string list_text(std::span<const std::byte> payload) {
  std::string text;
  for (; payload.size() >= sizeof(T); payload = payload.subspan(sizeof(T))) {
    T value;
    std::memcpy(&value, payload.data(), sizeof value);
    text += (text.empty() ? "" : ", ") + number_text(value);
  }
  return text;
}

/// Values differ from block to block, and so do the reasons that name them.
std::string without_numbers(std::string why) {
  std::erase_if(why, [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-'; });
  return why;
}

}  // namespace

std::string numbers_text(Element element, std::span<const std::byte> payload) {
  std::string list;
  switch (element) {
    case Element::cf32: list = list_text<cf32>(payload); break;
    case Element::f32: list = list_text<float>(payload); break;
    case Element::i64: list = list_text<std::int64_t>(payload); break;
    case Element::i32: list = list_text<std::int32_t>(payload); break;
    default: assert(false && "not to be applied");
  }
  return payload.size() == size_of(element) ? list : "[" + list + "]";
}

ApplyOutlet::ApplyOutlet(std::string port, LiveKey key, const PortFormat& format)
    : port_(std::move(port)), key_(std::move(key)) {
  expect(format);
}

void ApplyOutlet::expect(const PortFormat& format) {
  const auto most = static_cast<std::size_t>(format.bytes(1));
  const std::lock_guard lock(mutex_);
  arrived_.bytes.reserve(most);
  taken_.bytes.reserve(most);
}

bool ApplyOutlet::send(const Message& message, Lease, bool) {
  const std::lock_guard lock(mutex_);
  arrived_.element = message.format->element;
  arrived_.bytes.assign(message.payload.begin(), message.payload.end());
  is_new_ = true;
  return true;
}

std::optional<std::string> ApplyOutlet::take(std::int64_t now_ns) {
  {
    const std::lock_guard lock(mutex_);
    if (!is_new_ || now_ns < not_before_ns_) return std::nullopt;
    is_new_ = false;
    std::swap(arrived_, taken_);
  }
  if (last_ == taken_) return std::nullopt;
  std::string text = numbers_text(taken_.element, taken_.bytes);
  for (std::string_view path = key_.key; !path.empty();) {
    const std::size_t dot = path.rfind('.');
    text = fmt::format("{{{}: {}}}", path.substr(dot + 1), text);  // npos + 1 is 0
    path = path.substr(0, dot == path.npos ? 0 : dot);
  }
  return text;
}

void ApplyOutlet::applied() {
  last_ = taken_;
  told_.clear();
  settings_.messages.add();
  settings_.bytes.add(taken_.bytes.size());
  if (settings_.messages.value() == 1)
    log::info("apply {}: values now come from {}", key_.text(), port_);
  else
    log::debug("apply {}: new value from {}", key_.text(), port_);
}

void ApplyOutlet::refused(const std::string& why, std::int64_t now_ns) {
  not_before_ns_ = now_ns + kRetryNs;
  settings_.refused.add();
  std::string reason = without_numbers(why);
  if (reason == told_) return;
  told_ = std::move(reason);
  log::warn("apply {}: a value from {} was refused, the previous one stays: {}", key_.text(), port_, why);
}

void ApplyOutlet::forget() {
  last_.reset();
  not_before_ns_ = 0;
  told_.clear();
  const std::lock_guard lock(mutex_);
  is_new_ = false;
}

}  // namespace iqd
