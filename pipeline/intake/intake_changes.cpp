// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Changes to a stream that goes on: another engine, a radio that is set otherwise.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "base/clock.hpp"
#include "pipeline/backend/cpu_backend.hpp"
#include "pipeline/intake/intake.hpp"

namespace iqd {
namespace {

/// Of the past, more than is needed goes along to another engine, for a third one that needs more.
constexpr std::int64_t kSpare = 65536;

}  // namespace

Intake::Answer Intake::change(StreamChange change, std::int64_t patience_ns, std::string& why) {
  change_ = std::move(change);
  change_refused_.clear();
  change_state_.store(ChangeState::asked, std::memory_order_release);
  const std::int64_t until = steady_ns() + patience_ns;
  while (change_state_.load(std::memory_order_acquire) != ChangeState::done) {
    engine_for_others_.load()->room().ring();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    ChangeState expected = ChangeState::asked;
    const bool late = steady_ns() > until || ended();
    if (late && change_state_.compare_exchange_strong(expected, ChangeState::none, std::memory_order_acq_rel))
      return Answer::too_late;
  }
  change_state_.store(ChangeState::none, std::memory_order_release);
  why = change_refused_;
  return why.empty() ? Answer::done : Answer::refused;
}

/// In the radio thread.
void Intake::take_change() {
  ChangeState expected = ChangeState::asked;
  if (!changing() || !change_state_.compare_exchange_strong(expected, ChangeState::at_work, std::memory_order_acq_rel))
    return;
  try {
    if (change_.source && source_) retune(*change_.source);
  } catch (const std::exception& e) {
    change_refused_ = e.what();
  } catch (...) {
    change_refused_ = "the driver does not say why";
  }
  std::int64_t rest = 0;
  const auto table_before = options_.calibration;
  if (change_refused_.empty()) {
    if (change_.reopen) source_options_ = change_.reopen;
    if (change_.plan) engine_->retune(std::move(change_.plan));
    if (change_.engine) rest = hand_over(*change_.engine);
    if (change_.engine && options_.calibration != table_before) calibrated_ = look_at_calibration(*source_options_);
  }
  change_state_.store(ChangeState::done, std::memory_order_release);
  // May wait for room, and so for the engine before: whoever asked does not.
  if (rest > 0) arrived(rest);
}

void Intake::retune(const SourceOptions& to) {
  const std::optional<std::int64_t> time_ns = in_driver([&] { return source_->retune(to); });
  // What can be read late is no radio.
  if (info_.can_wait) return;
  counters_.retunes.add();
  tuned_from(first_tuned(time_ns), to);
}

/// Everything from the first sample that was not offered yet, and as much of the past as there is, goes to the other
/// engine's ring; the one before gets no more. Says how many samples lie there, to be taken as if they came now.
std::int64_t Intake::hand_over(Engine& next) {
  const SampleIndex from = held_.empty() ? block_first_ : held_.front().first;
  const SampleIndex end = position_;
  gap_ = held_.empty() ? gap_ : held_.front().gap;
  show_tunings_again();
  held_.clear();
  assert(end - from + next.plan().window().past <= next.ring_samples());
  Engine& before = *std::exchange(engine_, &next);
  engine_for_others_ = &next;
  block_ = next.plan().block;
  reach_ = next.plan().window();
  most_position_ = next.plan().most_position();
  const SampleIndex kept =
      std::max({valid_from_, ring_from_, end - std::min(before.ring_samples(), next.ring_samples()),
                from - reach_.past - kSpare});
  const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(end - kept, 0)) * size_of(info_.element);
  for (std::size_t c = 0; c < into_.size() && bytes > 0; ++c)
    std::memcpy(next.ring_at(c, kept), before.ring_at(c, place_of(kept)), bytes);
  ring_from_ = kept;
  if (kept > from - reach_.past) valid_from_ = kept;
  if (options_.priority != change_.options.priority || options_.cpus != change_.options.cpus)
    prepare_thread({"iqd-radio", change_.options.priority, change_.options.cpus});
  options_ = change_.options;
  dropping_ = false;
  position_ = block_first_ = ring_end_ = from;
  skipped_ = 0;
  block_end_ = (from / block_ + 1) * block_;
  before.close_for_successor();
  held_.reserve(static_cast<std::size_t>(next.offers_left()));
  return end - from;
}

/// Whether it holds for a radio that is set so.
bool Intake::look_at_calibration(const SourceOptions& set) {
  if (!options_.calibration || !source_) return true;
  const bool holds = options_.calibration->look(set, source_->info());
  counters_.calibrated.set(holds ? 1 : 0);
  return holds;
}

/// The radio is set as it is now for all samples from this one on.
void Intake::tuned_from(SampleIndex sample, const SourceOptions& set) {
  const double frequency_hz = source_->info().frequency_hz;
  const SampleIndex from = tunings_.empty() ? sample : std::max(sample, tunings_.back().from);
  tunings_.push_back({from, frequency_hz, look_at_calibration(set)});
  counters_.tuned = tunings_.back().from;
  counters_.frequency_hz.set(frequency_hz);
}

/// Where the driver cannot tell, the samples that may have been taken since the last ones came are as before.
SampleIndex Intake::first_tuned(std::optional<std::int64_t> time_ns) const noexcept {
  constexpr double kMostAheadSeconds = 10;
  if (info_.rate_hz <= 0 || !timed_) return position_;
  std::int64_t ahead_ns = steady_ns() - last_data_ns_;
  if (time_ns && __builtin_sub_overflow(*time_ns, time_of(position_), &ahead_ns)) ahead_ns = 0;
  const double ahead_s = std::clamp(static_cast<double>(ahead_ns) / 1e9, 0.0, kMostAheadSeconds);
  return position_ + static_cast<SampleIndex>(std::ceil(ahead_s * info_.rate_hz));
}

/// A block tells where in it the radio was set otherwise, and what it is set to at its end.
void Intake::mark_tuning(SampleBlock& block) noexcept {
  auto next = tunings_.begin();
  block.was_calibrated = calibrated_;
  for (; next != tunings_.end() && next->from < block.end(); ++next) {
    block.tuned = std::max(next->from, block.first);
    frequency_hz_ = next->frequency_hz;
    block.was_calibrated = block.was_calibrated && calibrated_;
    calibrated_ = next->calibrated;
  }
  block.calibrated = calibrated_;
  tunings_.erase(tunings_.begin(), next);
  block.retuned_hz = frequency_hz_ - engine_->plan().ports.front().shape.frequency_hz;
}

/// What blocks would have shown that do not go out, others show that hold their samples.
void Intake::show_tunings_again() {
  const double planned_hz = engine_->plan().ports.front().shape.frequency_hz;
  auto at = tunings_.begin();
  for (const SampleBlock& block : held_)
    if (block.tuned >= 0) at = tunings_.insert(at, {block.tuned, planned_hz + block.retuned_hz, block.calibrated}) + 1;
  if (held_.empty()) return;
  frequency_hz_ = planned_hz + held_.front().retuned_hz;
  calibrated_ = held_.front().was_calibrated;
}

}  // namespace iqd
