// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "daemon/live/live_head.hpp"
#include "daemon/live/live_hub.hpp"
#include "pipeline/watch/watches.hpp"

namespace iqd::live {

/// One picture that viewers can choose, and what makes messages of it. One thread.
class Trace {
 public:
  virtual ~Trace() = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// What `hello` says about it.
  const nlohmann::json& description() const noexcept { return description_; }
  /// The same for a trace that continues after a reload.
  std::string key() const;
  int number() const noexcept { return number_; }
  void set_number(int number);
  /// Of its next message.
  std::uint32_t seq() const noexcept { return seq_; }
  void set_seq(std::uint32_t seq) noexcept { seq_ = seq; }
  /// Where it gets its copies from; null: from elsewhere.
  const std::shared_ptr<WatchOutlet>& outlet() const noexcept { return outlet_; }
  /// The traces of the outlet that it needs, as bits.
  std::uint64_t needs() const noexcept { return needs_; }
  /// Makes messages of a copy that has what it needs.
  virtual void show(const WatchCopy& copy, LiveHub& hub) = 0;
  /// Continues one with the same key.
  virtual void succeed(const Trace& before) { seq_ = before.seq_; }

 protected:
  Trace(std::shared_ptr<WatchOutlet> outlet, std::uint64_t needs, nlohmann::json description);
  /// The head of the next message, with the facts of the copy.
  Head next_head(Head::Kind kind, const WatchCopy& copy);
  std::uint32_t next_seq() noexcept { return seq_++; }
  void put(LiveHub& hub, const Head& head, std::string_view payload) const;
  void put_text(LiveHub& hub, const nlohmann::json& text) const;

 private:
  std::shared_ptr<WatchOutlet> outlet_;
  std::uint64_t needs_;
  nlohmann::json description_;
  int number_ = 0;
  std::uint32_t seq_ = 0;
};

/// JSON as the page gets it. Names come from files: invalid UTF-8 is replaced.
std::string text_of(const nlohmann::json& json);

/// A number for JSON; null if it is not finite.
nlohmann::json number_or_null(double x);

/// What all traces of a port say about themselves. `entry`: which trace of the outlet.
nlohmann::json describe(const WatchOutlet& outlet, std::string_view kind, std::int64_t entry);

}  // namespace iqd::live
