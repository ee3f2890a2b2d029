// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "pipeline/stages/noma/multiuser/working_set.hpp"

namespace iqd::noma {

/// State kept from frame to frame: whether a model exists; c; vectors (plane by plane) and factors of the old places.
class Carried {
 public:
  Carried(const WorkingSet& w, std::byte* memory) : w_(w), memory_(memory) {}

  bool has_model() const {
    std::uint32_t flag = 0;
    if (memory_) std::memcpy(&flag, memory_, sizeof flag);
    return flag != 0;
  }
  void set_model(bool there) const {
    const std::uint32_t flag = there;
    if (memory_) std::memcpy(memory_, &flag, sizeof flag);
  }

  /// Into the first places.
  void load() const {
    each(0, [](float* here, float* carried, std::int64_t n) { std::copy_n(carried, n, here); });
  }
  /// From the newest places.
  void save() const {
    if (!memory_) return;
    each(w_.method.pilots, [](float* here, float* carried, std::int64_t n) { std::copy_n(here, n, carried); });
    set_model(true);
  }

 private:
  template <class Copy> void each(std::int64_t first_place, Copy copy) const {
    const Method& m = w_.method;
    auto* at = reinterpret_cast<float*>(memory_ + 64);
    const auto next = [&](float* here, std::int64_t n) {
      copy(here, at, n);
      at += n;
    };
    for (std::int64_t plane = 0; plane < 2 * m.antennas; ++plane)
      next(w_.places.x + plane * w_.places.pitch + first_place, m.old_places());
    for (std::int64_t row = 2 * first_place; row < 2 * (first_place + m.old_places()); ++row)
      next(w_.gamma + row * w_.columns, m.users);
    for (std::int64_t row = 0; row < 2 * m.antennas; ++row) next(w_.c + row * w_.columns, m.users);
  }

  const WorkingSet& w_;
  std::byte* memory_;
};

}  // namespace iqd::noma
