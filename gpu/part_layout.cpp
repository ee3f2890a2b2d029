// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/part_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace iqd::gpu {

int DeviceSplit::processors_of(const Groups& some) const noexcept {
  int sum = 0;
  for (const int g : some) sum += g < groups ? group_size : remainder;
  return sum;
}

int DeviceSplit::groups_for(const PartSize& size) const noexcept {
  if (size.processors > all()) return (size.processors + group_size - 1) / group_size;
  // All of a device may be a little more than its groups.
  const auto at_most_all = [this](int n) { return std::clamp(n, 1, std::max(usable(), 1)); };
  if (size.processors > 0) return at_most_all((size.processors + group_size - 1) / group_size);
  return at_most_all(static_cast<int>(std::ceil(size.percent / 100 * usable() - 0.5)));
}

namespace {

/// Which groups are free.
class FreeGroups {
 public:
  explicit FreeGroups(const DeviceSplit& split)
      : usable_(split.usable()),
        is_free_(static_cast<std::size_t>(split.groups + (split.remainder > 0 ? 1 : 0)), true) {}

  bool are_free(const Groups& groups) const {
    return std::ranges::all_of(groups, [this](int g) { return is_free_.at(static_cast<std::size_t>(g)); });
  }
  const Groups& take(const Groups& groups) {
    for (const int g : groups) is_free_.at(static_cast<std::size_t>(g)) = false;
    return groups;
  }
  /// The first `n` usable ones.
  Groups first(int n) const {
    Groups found = all();
    std::erase_if(found, [this](int g) { return g >= usable_; });
    found.resize(static_cast<std::size_t>(n));
    return found;
  }
  Groups all() const {
    Groups found;
    for (std::size_t g = 0; g < is_free_.size(); ++g)
      if (is_free_[g]) found.push_back(static_cast<int>(g));
    return found;
  }
  bool has_usable() const {
    const Groups left = all();
    return !left.empty() && left.front() < usable_;
  }

 private:
  int usable_;
  std::vector<bool> is_free_;
};

}  // namespace

PartLayout lay_out(const DeviceSplit& split, std::span<const DeviceShare::Part> wanted, std::span<const Groups> kept) {
  PartLayout layout;
  layout.parts.resize(wanted.size());
  std::vector<int> counts;
  int left = split.usable();
  for (const DeviceShare::Part& part : wanted) {
    const int n = split.groups_for(part.size);
    counts.push_back(n <= left ? n : 0);
    left -= counts.back();
  }
  FreeGroups free(split);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (std::ssize(kept[i]) == counts[i] && free.are_free(kept[i])) layout.parts[i] = free.take(kept[i]);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (layout.parts[i].empty()) layout.parts[i] = free.take(free.first(counts[i]));
  const bool all_fit = std::ranges::none_of(layout.parts, &Groups::empty);
  if (all_fit && free.has_usable()) layout.rest = free.all();
  return layout;
}

std::string sum_text(const DeviceSplit& split, std::span<const DeviceShare::Part> wanted) {
  std::string text = "shares of ";
  int sum = 0;
  for (const DeviceShare::Part& part : wanted) {
    const int given = split.groups_for(part.size) * split.group_size;
    const PartSize& size = part.size;
    if (sum > 0) text += ", ";
    text += size.processors > 0 ? fmt::format("{} SM", size.processors) : fmt::format("{:.6g} %", size.percent);
    if (given != size.processors) text += fmt::format(" ({} SM)", given);
    sum += given;
  }
  return text + fmt::format(": {} SM of {} SM", sum, split.all());
}

}  // namespace iqd::gpu
