// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "daemon/command/commands.hpp"
#include "daemon/http/service.hpp"
#include "daemon/run/recordings.hpp"
#include "pipeline/spec/key_origins.hpp"

namespace iqd {

/// A change could neither be completed nor undone.
class Stranded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The running pipelines, and changes to them. One thread uses it; functions for any thread are marked.
class PipelineSet {
 public:
  /// A pipeline that stops waits this long for its subscribers, and a little longer for its radio.
  static constexpr std::int64_t kDrainNs = 3'000'000'000;
  static constexpr std::int64_t kRetireNs = 3'500'000'000;

  explicit PipelineSet(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}

  /// Opens everything. False if there were problems, which it has reported. Throws SetupError.
  bool set_up();
  void start();
  const Spec& spec() const noexcept { return loaded_->spec; }
  const std::vector<std::shared_ptr<Pipeline>>& list() const noexcept { return pipelines_; }

  // A change throws Stranded if it can neither be completed nor undone; the process should then end. If it throws
  // anything else, nothing has changed.

  /// Reads the file again and applies it: all of it, or nothing if something is wrong.
  ChangeReport reload();
  /// Sets live keys of a stage, or any keys of the source, until the next reload. Keys of the source that are not live
  /// restart the pipeline.
  ChangeReport set(const std::string& pipeline, const std::string& stage, const std::string& keys, SetBy by);
  /// Writes a port into a file for so long, beside the sinks of the file; it continues through reloads.
  ChangeReport record(const RecordingRequest& request);
  bool is_recording_over(std::int64_t now_ns) const { return recordings_.over(now_ns) != nullptr; }
  /// Closes one that is over. `tidy` reports it when its file is complete.
  ChangeReport end_recording(std::int64_t now_ns);
  /// Any thread.
  std::vector<RunningRecording> recording() const { return recordings_.running(); }
  /// The `apply` outlets, whose values become keys.
  std::vector<std::shared_ptr<ApplyOutlet>> applies() const;
  void tidy();

  /// Any thread: the current pipelines; they stay alive while held.
  std::vector<std::shared_ptr<Pipeline>> look() const;
  /// Any thread: each part of the current pipelines that has keys.
  void visit_parts(const std::function<void(const AskedPart&)>& visit) const;
  /// Any thread: the call into a driver that blocks the opening and changing thread for too long; empty: none.
  std::string hung() const;

 private:
  struct Reload;
  struct Renewal;
  struct Exchange;
  struct Steps;
  struct Done;
  void close(std::vector<std::shared_ptr<Pipeline>>& opened);
  enum class Scope : std::uint8_t { all, named };  // named: pipelines that are not named keep running
  ChangeReport go_over(Loaded& next, Scope scope);
  void tidy_recordings();
  ChangeReport change_sinks(const std::string& pipeline, std::vector<AddedSink> sinks);
  ChangeReport try_over(Loaded& next, Scope scope, Done& done);
  void undo(const std::vector<std::string>& changed, ChangeReport& report);
  Allowance allowance_of(const Spec& next, Scope scope) const;
  Steps steps_to(Loaded& next, Scope scope);
  ChangeReport carry_out(Steps& steps, Done& done);
  ChangeReport exchange(Exchange& step, Done& done);
  ChangeReport restart(Renewal& step, Done& done);
  ChangeReport add_all(Steps& steps, Done& done);
  void restore(std::vector<PipelineSpec> ended, ChangeReport& report);
  void put_in_order(const std::vector<std::string>& names);
  void add(std::shared_ptr<Pipeline> opened);
  PipelineSpec retire(std::shared_ptr<Pipeline>&& pipeline);
  std::shared_ptr<Pipeline> find(const std::string& name) const;
  std::shared_ptr<Pipeline> open(PipelineSpec spec);
  std::shared_ptr<Pipeline> open_whole(PipelineSpec spec);
  void grant(const PipelineSpec& spec);

  /// Why a pipeline may not change while it runs; nothing if it may.
  static std::optional<ChangeReport> refusal_in_window(const Pipeline& pipeline);

  std::unique_ptr<Loaded> loaded_;
  std::vector<Override> overrides_;
  KeyOrigins origins_;
  Recordings recordings_;
  bool is_memory_locked_ = false;
  std::shared_ptr<OpeningWatch> watch_ = std::make_shared<OpeningWatch>();
  mutable std::mutex list_;  // guards `pipelines_` between the changing thread and readers
  std::vector<std::shared_ptr<Pipeline>> pipelines_;
};

}  // namespace iqd
