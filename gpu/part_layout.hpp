// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/backend.hpp"

namespace iqd::gpu {

/// Numbers of groups of multiprocessors, ascending.
using Groups = std::vector<int>;

/// How a driver splits a device: into equal groups, and a remainder, which is the last group.
struct DeviceSplit {
  int group_size = 1;  // multiprocessors
  int groups = 0;
  int remainder = 0;  // multiprocessors

  int all() const noexcept { return group_size * groups + remainder; }
  /// Groups that are large enough for a part. A small remainder only goes along with others.
  int usable() const noexcept { return groups + (remainder >= group_size ? 1 : 0); }
  int processors_of(const Groups& some) const noexcept;
  /// A number of multiprocessors is rounded up. A percentage is rounded to the nearest number of groups, at least one,
  /// and halves are rounded down, so that two shares of 100 % fit together.
  int groups_for(const PartSize& size) const noexcept;
};

struct PartLayout {
  std::vector<Groups> parts;  // in the order of the wanted ones; empty: it does not fit
  Groups rest;                // empty: too little is left for a part, or not all fit
};
/// Gives groups to parts in order. Parts are disjoint. `kept`: the groups that each has now, or none; it keeps them if
/// their number is right, so that a part stays where it is while others change.
PartLayout lay_out(const DeviceSplit& split, std::span<const DeviceShare::Part> wanted, std::span<const Groups> kept);

/// `shares of 64 SM, 12 % (16 SM): 80 SM of 132 SM`
std::string sum_text(const DeviceSplit& split, std::span<const DeviceShare::Part> wanted);

}  // namespace iqd::gpu
