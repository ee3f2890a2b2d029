// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/watch/watch_grid.hpp"

#include <algorithm>
#include <utility>

namespace iqd {

WatchGrid::WatchGrid(const PortFormat& format, std::vector<std::size_t> picked) : picked_(std::move(picked)) {
  for (std::size_t d = 0; d < format.dims.size(); ++d) {
    const bool is_picked = std::ranges::find(picked_, d) != picked_.end();
    dims_.push_back({format.dims[d].extent, static_cast<int>(d) == format.varying, is_picked});
    if (is_picked) traces_ *= format.dims[d].extent;
  }
}

std::int64_t WatchGrid::entry(std::int64_t trace, std::size_t i) const noexcept {
  for (std::size_t later = picked_.size(); later-- > i + 1;) trace /= dims_[picked_[later]].most;
  return trace % dims_[picked_[i]].most;
}

WatchGrid::Layout WatchGrid::layout(std::int64_t extent) const noexcept {
  Layout layout;
  std::int64_t stride = 1;
  for (std::size_t d = dims_.size(); d-- > 0;) {
    const std::int64_t entries = dims_[d].varies ? extent : dims_[d].most;
    if (dims_[d].is_picked) {
      layout.own_[layout.owns_++] = {entries, stride};
    } else {
      layout.pooled_[layout.pools_++] = {entries, stride};
      layout.count_ *= entries;
    }
    stride *= entries;
  }
  return layout;
}

std::int64_t WatchGrid::Layout::begin(std::int64_t trace) const noexcept {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < owns_; ++d) {
    offset += trace % own_[d].extent * own_[d].stride;
    trace /= own_[d].extent;
  }
  return offset;
}

std::int64_t WatchGrid::Layout::at(std::int64_t i) const noexcept {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < pools_; ++d) {
    offset += i % pooled_[d].extent * pooled_[d].stride;
    i /= pooled_[d].extent;
  }
  return offset;
}

}  // namespace iqd
