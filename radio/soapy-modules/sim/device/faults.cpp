// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/device/faults.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>

namespace iqd::sim {
namespace {

using Clock = std::chrono::steady_clock;

/// The faults of a serial number since the process began.
struct History {
  std::set<Fault::Kind> happened;
  Clock::time_point back_at{};
};

std::mutex history_mutex;
std::map<std::string, History>& histories() {
  static std::map<std::string, History> all;
  return all;
}

bool has_happened(const std::string& serial, Fault::Kind kind) {
  const std::lock_guard lock(history_mutex);
  return histories()[serial].happened.count(kind) > 0;
}

void note(const std::string& serial, const Fault& fault) {
  const std::lock_guard lock(history_mutex);
  History& history = histories()[serial];
  history.happened.insert(fault.kind);
  if (fault.kind != Fault::Kind::disconnect) return;
  history.back_at =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(fault.seconds));
}

}  // namespace

Faults::Faults(const Arguments& args, double rate_hz) : serial_(args.text("serial", "")) {
  using Kind = Fault::Kind;
  repeat(Kind::overflow, args, "overflow_every", "overflow_lost");
  repeat(Kind::late, args, "late_every", "late_lost");
  repeat(Kind::loss, args, "lose_every", "lose");
  repeat(Kind::disconnect, args, "disconnect_every", "");
  once(Kind::stall, args, rate_hz, "stall_at", args.number("stall_for", 1));
  once(Kind::jump, args, rate_hz, "jump_at", args.number("jump_by", 1));
  once(Kind::disconnect, args, rate_hz, "disconnect_at", args.number("disconnect_for", 0));
  once(Kind::hang, args, rate_hz, "hang_at", 0);
  once(Kind::hang_close, args, rate_hz, "hang_close_at", 0);
}

void Faults::once(Fault::Kind kind, const Arguments& args, double rate_hz, const std::string& when, double seconds) {
  const std::optional<double> at = args.number(when);
  if (!at) return;
  if (*at < 0) throw std::invalid_argument("iqdsim: " + when + " must not be negative");
  if (has_happened(serial_, kind)) return;
  events_.push_back({{kind, 0, seconds}, std::llround(*at * rate_hz), 0});
}

void Faults::repeat(Fault::Kind kind, const Arguments& args, const std::string& every, const std::string& lost) {
  const std::int64_t period = args.count(every, 0, 1, std::int64_t{1} << 50);
  const std::int64_t samples = lost.empty() ? 0 : args.count(lost, 1000, 0, std::int64_t{1} << 50);
  if (period > 0) events_.push_back({{kind, samples, 0}, period, period});
}

std::int64_t Faults::clear_until(std::int64_t next) const noexcept {
  std::int64_t clear = kNever;
  for (const Event& e : events_) clear = std::min(clear, std::max<std::int64_t>(e.at - next, 0));
  return clear;
}

Fault Faults::take(std::int64_t next) {
  const auto due = std::find_if(events_.begin(), events_.end(), [&](const Event& e) { return e.at <= next; });
  if (due == events_.end()) return {};
  const Fault fault = due->fault;
  if (due->every > 0) {
    // Counts from the end of the loss: a loss longer than its period would otherwise leave no samples.
    due->at += ((next + fault.lost - due->at) / due->every + 1) * due->every;
  } else {
    note(serial_, fault);
    events_.erase(due);
  }
  return fault;
}

bool Faults::unplugged(const std::string& serial) {
  const std::lock_guard lock(history_mutex);
  const auto found = histories().find(serial);
  return found != histories().end() && Clock::now() < found->second.back_at;
}

}  // namespace iqd::sim
