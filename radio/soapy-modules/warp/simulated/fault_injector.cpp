// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/warp/simulated/fault_injector.hpp"

#include <utility>

#include "base/clock.hpp"

namespace iqd::warp_node {

FaultInjector::FaultInjector(const Faults& faults) : faults_(faults), began_ns_(steady_ns()) {}

bool FaultInjector::deaf() const {
  const double at = static_cast<double>(steady_ns() - began_ns_) / 1e9;
  return faults_.deaf_at_s >= 0 && at >= faults_.deaf_at_s && at < faults_.deaf_at_s + faults_.deaf_for_s;
}

std::vector<Datagram> FaultInjector::disturb(std::vector<Datagram> packets) {
  std::vector<Datagram> out;
  bool swap = false;
  for (Datagram& p : packets) {
    if (due(faults_.lose, lost_)) continue;
    if (due(faults_.foreign, foreign_)) {
      Datagram other = p;
      other[foreign_ % 2 ? 3 : 5] ^= 1;  // for another host, or from another node
      out.push_back(std::move(other));
    }
    if (due(faults_.cut, cut_)) p.resize(p.size() / 2);
    out.push_back(p);
    if (due(faults_.repeat, repeated_)) out.push_back(p);
    if (std::exchange(swap, due(faults_.swap, swapped_)) && out.size() > 1) std::swap(out.back(), out[out.size() - 2]);
  }
  return out;
}

}  // namespace iqd::warp_node
