// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/driver.hpp"
#include "base/log.hpp"
#include "pipeline/engine/engine.hpp"
#include "pipeline/intake/arrival_watch.hpp"
#include "pipeline/intake/calibration_watch.hpp"
#include "pipeline/meters/level_meter.hpp"
#include "pipeline/spec/overrun.hpp"

namespace iqd {

struct IntakeOptions {
  std::string name;  // of the source, for the log
  Overrun overrun = Overrun::drop;
  std::int64_t stalled_ns = 0;                      // no sample for so long: stalled; 0: two blocks, at least 50 ms
  std::int64_t silent_ns = 5'000'000'000;           // no sample for so long: close and open again
  std::int64_t backoff_ns = 1'000'000'000;          // before the first try, doubled from try to try…
  std::int64_t longest_backoff_ns = 8'000'000'000;  // …up to this
  int priority = 0;
  std::vector<int> cpus;
  std::shared_ptr<CalibrationWatch> calibration;  // of a source that has one
};

/// A change to a stream that goes on, carried out by the radio thread. What it points to belongs to whoever asks, and
/// has to stay after it was done.
struct StreamChange {
  const SourceOptions* source = nullptr;  // whose live keys the radio takes over
  const SourceOptions* reopen = nullptr;  // opens it again from now on
  Engine* engine = nullptr;               // takes the blocks from here on
  IntakeOptions options;                  // with `engine`
  std::unique_ptr<Plan> plan;             // or: what the engine computes from here on
};

/// The radio thread: receives into the ring, cuts blocks, keeps count of what is missing, opens the source again when
/// it failed. Block boundaries are multiples of the block's length, whatever was lost.
class Intake {
 public:
  Intake(const SourceOptions& source, std::unique_ptr<Source> opened, Engine& engine, IntakeOptions options,
         Counters& counters);
  ~Intake();
  /// What it takes itself, for a stream of this kind.
  static std::size_t aside_bytes(const StreamInfo& info) noexcept;

  void start();
  enum class Answer : std::uint8_t { done, refused, too_late };
  /// Has the change made and waits for it: between two calls of the driver, and losing nothing. `why` says what the
  /// driver refused, and then nothing has changed; so it is where the radio thread did not come to it in time.
  Answer change(StreamChange change, std::int64_t patience_ns, std::string& why);
  /// Receives no more; what has arrived is still processed.
  void stop() noexcept;
  /// The thread has closed the engine's entrance and is about to end.
  bool ended() const noexcept { return ended_.load(std::memory_order_acquire); }
  /// Waits until the source is closed, too, which is in the driver's hands.
  void join_closed() const noexcept { closed_.wait(false, std::memory_order_acquire); }
  /// Nanoseconds that the call into the driver at work has taken so far.
  std::int64_t in_driver_ns() const noexcept;
  /// What the source is doing. A call into the driver that has not returned brings no samples either. Any thread.
  SourceState state() const noexcept;
  /// Why the stream ended before its time; read after `ended`.
  const std::string& failure() const noexcept { return failure_; }
  /// What went wrong last, while it is not streaming.
  std::string trouble() const;
  /// Lets a thread go that hangs in a driver, for a process that is about to end.
  void abandon() noexcept;

 private:
  void run();
  enum class Outcome : std::uint8_t { stopped, ended, failed };
  Outcome stream();
  void lost_some(Counter& count) noexcept;
  bool reopen();
  bool try_open();
  void close_source() noexcept;
  bool pause(std::int64_t ns);
  bool is_there();
  template <class F> auto in_driver(F call, std::int64_t grace_ns = 0);
  Received receive(std::int64_t most);
  std::string doubt(Received& received, std::int64_t most);
  void take_change();
  void retune(const SourceOptions& to);
  void tuned_from(SampleIndex sample, const SourceOptions& set);
  SampleIndex first_tuned(std::optional<std::int64_t> time_ns) const noexcept;
  std::int64_t hand_over(Engine& next);
  bool look_at_calibration(const SourceOptions& set);
  bool changing() const noexcept { return change_state_.load(std::memory_order_acquire) == ChangeState::asked; }
  bool make_room();
  std::int64_t writable() const noexcept;
  void all_is_well() noexcept;
  void take(Received received);
  std::int64_t missing_before(Received& received);
  std::int64_t missing_by_host(const Received& received, std::int64_t now) noexcept;
  bool was_set(const Received& received, std::int64_t late_ns, std::int64_t now) const noexcept;
  void note_jump(std::int64_t by_ns);
  bool is_jitter(std::int64_t late_ns) noexcept;
  std::int64_t within_reach(std::int64_t missing) noexcept;
  void set_clock(const Received& received) noexcept;
  void skip(std::int64_t samples);
  void end_piece();
  void put_back(std::int64_t samples);
  void arrived(std::int64_t samples);
  void discard(std::int64_t samples);
  void cut_block();
  void mark_tuning(SampleBlock& block) noexcept;
  void show_tunings_again();
  void watch_clock(SampleIndex end) noexcept;
  void offer_held(bool all);
  void expect_nothing() noexcept;
  void expect_more(std::int64_t now, std::int64_t samples) noexcept;
  bool is_overdue(std::int64_t now) const noexcept;
  void note_silence(std::int64_t now);
  void in_trouble(std::string why);
  SampleIndex place_of(SampleIndex sample) const noexcept { return sample - skipped_; }
  std::byte* in_ring(std::size_t channel, SampleIndex sample) const noexcept {
    return engine_->ring_at(channel, place_of(sample));
  }
  void leave_out(std::int64_t samples) noexcept;
  void find_place() noexcept;
  SampleIndex oldest_needed() const noexcept;
  std::int64_t time_of(SampleIndex sample) const noexcept;
  std::int64_t ns_of(std::int64_t samples) const noexcept;
  std::int64_t samples_in(std::int64_t ns) const noexcept;

  const SourceOptions* source_options_;
  std::unique_ptr<Source> source_;
  StreamInfo info_;
  Engine* engine_;                          // the radio thread's
  std::atomic<Engine*> engine_for_others_;  // the same
  IntakeOptions options_;
  Counters& counters_;
  LevelMeter meter_;
  std::int64_t block_;
  Reach reach_;
  SampleIndex most_position_;  // no gap leads further

  SampleIndex position_ = 0;     // of the next sample
  SampleIndex block_first_ = 0;  // of the block at work
  SampleIndex block_end_ = 0;
  SampleIndex valid_from_ = 0;  // since here nothing is missing
  SampleIndex ring_from_ = 0;   // since here the ring holds what came
  SampleIndex skipped_ = 0;     // samples that have no place in the ring: whole blocks
  SampleIndex ring_end_ = 0;    // the place behind the last sample that has one
  std::int64_t gap_ = 0;        // lost just before block_first_
  std::int64_t missing_ = 0;    // lost since the start
  bool dropping_ = false;
  bool is_there_ = true;           // as far as is known, while it is waited for
  bool uncertain_ = false;         // samples were lost, how many is not known yet
  std::vector<SampleBlock> held_;  // whole, but their future has not arrived
  std::vector<std::byte*> into_;
  std::vector<std::vector<std::byte>> aside_;  // a channel each: samples that are dropped, or not yet in their place

  struct Tuning {
    SampleIndex from;  // this sample on
    double frequency_hz;
    bool calibrated;  // the source's calibration holds
  };
  std::vector<Tuning> tunings_;  // that no block has shown yet
  double frequency_hz_ = 0;      // of what blocks have shown
  bool calibrated_ = true;       // the same

  std::int64_t jitter_ns_ = 0;  // of time stamps that were seen to go back and forth
  int in_step_ = 0;             // time stamps in a row that agree with the samples before
  bool timed_ = false;
  SampleIndex time_index_ = 0;  // the sample that…
  std::int64_t time_ns_ = 0;    // …belongs to this time
  ArrivalWatch arrivals_;
  std::int64_t last_data_ns_ = 0;
  std::int64_t opened_ns_ = 0;
  std::int64_t ahead_ns_ = 0;  // at the last samples: of how much longer a time they were than had passed
  std::atomic<std::int64_t> due_ns_{std::numeric_limits<std::int64_t>::max()};  // later the next samples are overdue

  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};
  std::atomic<bool> closed_{false};
  std::atomic<std::int64_t> call_began_ns_{0};
  enum class ChangeState : std::uint8_t { none, asked, at_work, done };
  std::atomic<ChangeState> change_state_{ChangeState::none};
  StreamChange change_;  // whoever moved the state on may touch these two
  std::string change_refused_;
  std::string failure_;
  mutable std::mutex trouble_mutex_;
  std::string trouble_;
  log::RateLimit jump_lines_;
  log::RateLimit reconnect_lines_;
  log::RateLimit failure_lines_;
  std::thread thread_;
};

/// What is done in the driver is watched: it may never return. Its time counts when `grace_ns` are over.
template <class F> auto Intake::in_driver(F call, std::int64_t grace_ns) {
  struct Watch {
    Watch(std::atomic<std::int64_t>& began, std::int64_t grace_ns) : began_ns(began) {
      began_ns.store(steady_ns() + grace_ns);
    }
    ~Watch() { began_ns.store(0); }
    std::atomic<std::int64_t>& began_ns;
  };
  const Watch watch(call_began_ns_, grace_ns);
  return call();
}

}  // namespace iqd
