// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/plan/port_names.hpp"

namespace iqd {

void PortNames::add_port(const std::string& name, PortIndex port) {
  ports_.emplace(name, port);
  if (name.front() != '~') listed_.push_back(name);
  const auto dot = name.rfind('.');
  if (dot != name.npos && name.front() != '~') outputs_[name.substr(dot + 1)].push_back(port);
}

void PortNames::rename_port(const std::string& before, const std::string& name, PortIndex port) {
  ports_.erase(before);
  ports_.emplace(name, port);
}

PortIndex PortNames::port(std::string_view name) const {
  if (unknown_.contains(name) || unknown_.contains(name.substr(0, name.rfind('.')))) return kUnknownPort;
  const auto at = ports_.find(name);
  return at == ports_.end() ? kNoPort : at->second;
}

StepIndex PortNames::step(std::string_view name) const {
  const auto at = steps_.find(name);
  return at == steps_.end() ? kNoStep : at->second;
}

std::span<const PortIndex> PortNames::outputs_called(std::string_view name) const {
  const auto at = outputs_.find(name);
  return at == outputs_.end() ? std::span<const PortIndex>() : at->second;
}

}  // namespace iqd
