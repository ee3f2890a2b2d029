// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "base/driver.hpp"
#include "pipeline/engine/engine.hpp"
#include "pipeline/intake/intake_options.hpp"

namespace iqd {

/// A change to a running stream, made by the radio thread. The sender owns what it points to, and keeps it after the
/// change.
struct StreamChange {
  const SourceOptions* source = nullptr;  // the radio gets its live keys
  const SourceOptions* reopen = nullptr;  // opens the source from the next reconnect on
  Engine* engine = nullptr;               // gets the blocks from here on
  IntakeOptions options;                  // with `engine`
  std::unique_ptr<Plan> plan;             // or: the engine's plan from here on
};

/// What became of a change. If it was not made, nothing has changed.
struct ChangeOutcome {
  enum class Answer : std::uint8_t {
    done,
    refused,  // it will always be
    not_now,  // it may succeed later
  };
  Answer answer = Answer::done;
  std::string why{};  // it was not made
  bool is_done() const noexcept { return answer == Answer::done; }
};

/// A mailbox for one change at a time, between one sender and one receiver. Nothing here waits.
class ChangeBox {
 public:
  // The sender.
  void post(StreamChange change) {
    change_ = std::move(change);
    outcome_ = {};
    state_.store(State::posted, std::memory_order_release);
  }
  bool is_done() const noexcept { return state_.load(std::memory_order_acquire) == State::done; }
  /// Returns false if the receiver was quicker: then the change will be made.
  bool withdraw() noexcept { return move(State::posted, State::empty); }
  /// When it is done.
  ChangeOutcome collect() {
    ChangeOutcome outcome = std::move(outcome_);
    state_.store(State::empty, std::memory_order_release);
    return outcome;
  }

  // The receiver.
  bool is_posted() const noexcept { return state_.load(std::memory_order_acquire) == State::posted; }
  /// The change to be made now, or null. It stays here until `done`.
  StreamChange* take() noexcept { return is_posted() && move(State::posted, State::taken) ? &change_ : nullptr; }
  void done(ChangeOutcome outcome) {
    outcome_ = std::move(outcome);
    state_.store(State::done, std::memory_order_release);
  }

 private:
  enum class State : std::uint8_t { empty, posted, taken, done };
  bool move(State from, State to) noexcept {
    return state_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
  }

  std::atomic<State> state_{State::empty};
  StreamChange change_;  // belongs to the side that moved the state last, like `outcome_`
  ChangeOutcome outcome_;
};

}  // namespace iqd
