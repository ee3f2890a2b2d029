// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/plan/plan.hpp"

namespace iqd {

/// A port without a shape: a problem has been reported that concerns it. What would read it is not judged.
inline constexpr PortIndex kUnknownPort = kNoPort - 1;

/// The numbers of a plan's ports and steps by name. Names of ports and steps that the planner has inserted begin with
/// `~`. One thread.
class PortNames {
 public:
  /// If two ports have the same name, a search finds the first.
  void add_port(const std::string& name, PortIndex port);
  /// Another name of a port, such as its stage's.
  void add_alias(const std::string& name, PortIndex port) { ports_.emplace(name, port); }
  /// The port is no longer found under its previous name.
  void rename_port(const std::string& before, const std::string& name, PortIndex port);
  void add_step(const std::string& name, StepIndex step) { steps_.emplace(name, step); }

  /// The ports of a stage about which nothing is known but names that it may have.
  void add_unknown(std::string name) { unknown_.insert(std::move(name)); }
  bool has_unknown() const noexcept { return !unknown_.empty(); }

  /// kNoPort if there is none; kUnknownPort for `stage` and `stage.output` of an unknown stage.
  PortIndex port(std::string_view name) const;
  /// All ports but those that the planner has inserted, in order.
  std::vector<std::string_view> listed() const { return {listed_.begin(), listed_.end()}; }
  /// kNoStep if there is none.
  StepIndex step(std::string_view name) const;
  /// All ports that are an output of this name, in order; none that the planner has inserted.
  std::span<const PortIndex> outputs_called(std::string_view name) const;

 private:
  std::map<std::string, PortIndex, std::less<>> ports_;
  std::map<std::string, StepIndex, std::less<>> steps_;
  std::map<std::string, std::vector<PortIndex>, std::less<>> outputs_;
  std::set<std::string, std::less<>> unknown_;
  std::vector<std::string> listed_;
};

}  // namespace iqd
