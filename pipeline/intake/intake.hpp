// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "base/log.hpp"
#include "pipeline/engine/engine.hpp"
#include "pipeline/intake/block_cutter.hpp"
#include "pipeline/intake/block_feed.hpp"
#include "pipeline/intake/change_box.hpp"
#include "pipeline/intake/intake_options.hpp"
#include "pipeline/intake/ring_writer.hpp"
#include "pipeline/intake/silence_watch.hpp"
#include "pipeline/intake/source_link.hpp"
#include "pipeline/intake/stream_clock.hpp"
#include "pipeline/intake/tuning_log.hpp"
#include "pipeline/meters/level_meter.hpp"

namespace iqd {

/// The radio thread: receives into the ring, offers blocks to the engine, reconnects a source that failed. Its parts
/// are: what is missing and when samples were taken (StreamClock), which blocks they make (BlockCutter), who gets these
/// (BlockFeed), where the driver writes (RingWriter), whether samples still come (SilenceWatch), what the radio is
/// tuned to (TuningLog), and the calls into the driver (SourceLink).
class Intake {
 public:
  Intake(const SourceOptions& source, std::unique_ptr<Source> opened, Engine& engine, IntakeOptions options,
         Counters& counters);
  ~Intake();

  void start();
  /// Makes the change between two calls into the driver, without losing samples, and waits until it is made or not.
  ChangeOutcome change(StreamChange change, std::int64_t patience_ns);
  /// Stops receiving; what has arrived is still processed.
  void stop() noexcept;
  /// The thread has closed the engine and is about to end.
  bool ended() const noexcept { return phase_.load(std::memory_order_acquire) != Phase::receiving; }
  /// Waits until the source is closed, too; the driver decides how long that takes.
  void join_closed() const noexcept;
  /// Nanoseconds that the running call into the driver has taken so far.
  std::int64_t in_driver_ns() const noexcept { return link_.in_call_ns(); }
  /// What the source is doing; `stalled` also if a call into the driver does not return in time. Any thread.
  SourceState state() const noexcept;
  /// Why the stream ended early; read it after `ended`.
  std::string failure() const;
  /// What went wrong last, while it is not streaming.
  std::string trouble() const;
  /// Notices silence while a call into the driver does not return; called now and then. Any thread.
  void look_for_silence();
  /// How long no samples have been taken from a source that has some or is to have some; 0: they flow.
  std::int64_t idle_ns() const noexcept;
  /// The settings of the source's device, while it is open. Any thread.
  DeviceKeys device_keys() const { return link_.device_keys(); }
  /// Detaches a thread that hangs in a driver, for a process that is about to end.
  void abandon() noexcept;

 private:
  void run();
  enum class Outcome : std::uint8_t { stopped, ended, failed };
  Outcome stream();
  bool make_room();
  Received receive();
  void take(Received received);
  void put_back(std::int64_t samples);
  void arrived(std::int64_t samples);
  bool is_silent_too_long();
  void all_is_well() noexcept;
  bool reopen();
  bool pause(std::int64_t ns);
  void take_change();
  void retune(const SourceOptions& to);
  std::int64_t hand_over(StreamChange& change);

  bool stopping() const noexcept { return stop_.load(std::memory_order_acquire); }

  IntakeOptions options_;
  Counters& counters_;
  SourceLink link_;
  LevelMeter meter_;
  StreamClock clock_;
  TuningLog tunings_;
  BlockCutter cutter_;
  BlockFeed feed_;
  RingWriter writer_;
  SilenceWatch silence_;
  ChangeBox changes_;
  std::atomic<bool> stop_{false};
  enum class Phase : std::uint8_t { receiving, ended, closed };
  std::atomic<Phase> phase_{Phase::receiving};
  log::RateLimit reconnect_lines_;
  std::thread thread_;
};

}  // namespace iqd
