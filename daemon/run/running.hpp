// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "daemon/command/commands.hpp"
#include "daemon/http/service.hpp"

namespace iqd {

/// A change has left something neither as it was nor as it should be.
class Stranded : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The pipelines at work, and the changes made to them. One thread makes changes and looks after them; what others may
/// ask is marked.
class Running {
 public:
  explicit Running(std::unique_ptr<Loaded> loaded) : loaded_(std::move(loaded)) {}

  /// Opens everything. False where there were problems, which have been reported. Throws SetupError.
  bool set_up();
  void start();
  const Spec& spec() const noexcept { return loaded_->spec; }
  const std::vector<std::shared_ptr<Pipeline>>& pipelines() const noexcept { return pipelines_; }

  // A change throws Stranded where a pipeline can go on neither as it was nor as it should be; then the process should
  // end. Whatever else it throws, nothing has changed.

  /// Reads the file again and goes over to it: all of it, or nothing where something is wrong.
  ChangeReport reload();
  /// Sets live keys of a stage, or any of the source, until the file is read again. Those of the source that are not
  /// live close it and open it anew.
  ChangeReport set(const std::string& pipeline, const std::string& stage, const std::string& keys);
  /// Ports whose values are to be set so.
  std::vector<std::shared_ptr<ApplyOutlet>> applies() const;
  void tidy();

  /// Any thread: the pipelines as they are now, which stay as long as they are held.
  std::vector<std::shared_ptr<Pipeline>> look() const;
  /// Any thread: which call into a driver keeps the thread that opens and changes, for too long; empty: none.
  std::string hung() const;

 private:
  struct Steps;
  void close(std::vector<std::shared_ptr<Pipeline>>& opened);
  enum class Scope : std::uint8_t { all, named };  // whether pipelines that are not named are to end
  ChangeReport go_over(Loaded& next, Scope scope);
  Allowance allowance_of(const Spec& next, Scope scope) const;
  Steps steps_to(Loaded& next, Scope scope);
  void carry_out(Steps& steps, ChangeReport& report);
  std::string add_all(Steps& steps, ChangeReport& report);
  bool start_anew(std::shared_ptr<Pipeline> running, PipelineSpec spec, ChangeReport& report);
  void take_up_again(std::vector<PipelineSpec> ended, const std::string& why, ChangeReport& report);
  void add(std::shared_ptr<Pipeline> opened);
  PipelineSpec retire(std::shared_ptr<Pipeline>&& pipeline);
  std::shared_ptr<Pipeline> find(const std::string& name) const;
  std::shared_ptr<Pipeline> open(PipelineSpec spec);
  std::shared_ptr<Pipeline> open_whole(PipelineSpec spec);
  void grant(const PipelineSpec& spec);

  std::unique_ptr<Loaded> loaded_;
  std::vector<Override> overrides_;
  bool is_memory_locked_ = false;
  std::shared_ptr<OpeningWatch> watch_ = std::make_shared<OpeningWatch>();
  mutable std::mutex list_;  // of `pipelines_`, between the thread that changes it and those that look
  std::vector<std::shared_ptr<Pipeline>> pipelines_;
};

}  // namespace iqd
