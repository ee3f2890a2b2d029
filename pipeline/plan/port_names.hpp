// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/plan/plan.hpp"

namespace iqd {

/// The numbers of a plan's ports and steps by name. Names of ports and steps that the planner has inserted begin with
/// `~`. One thread.
class PortNames {
 public:
  /// If two ports have the same name, a search finds the first.
  void add_port(const std::string& name, PortIndex port);
  /// The port is no longer found under its previous name.
  void rename_port(const std::string& before, const std::string& name, PortIndex port);
  void add_step(const std::string& name, StepIndex step) { steps_.emplace(name, step); }

  /// kNoPort if there is none.
  PortIndex port(std::string_view name) const;
  /// kNoStep if there is none.
  StepIndex step(std::string_view name) const;
  /// All ports that are an output of this name, in order; none that the planner has inserted.
  std::span<const PortIndex> outputs_called(std::string_view name) const;

 private:
  std::map<std::string, PortIndex, std::less<>> ports_;
  std::map<std::string, StepIndex, std::less<>> steps_;
  std::map<std::string, std::vector<PortIndex>, std::less<>> outputs_;
};

}  // namespace iqd
