// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__CUDACC__)
#define IQD_HOST_DEVICE __host__ __device__
#else
#define IQD_HOST_DEVICE
#endif

namespace iqd {

/// A view of memory owned elsewhere, for host and device code: `x(r, n)` is element n of row r.
/// Strides are in elements; the last dimension is contiguous.
template <class T, int Rank> class View {
 public:
  using Index = std::int64_t;

  View() = default;
  /// Contiguous rows.
  IQD_HOST_DEVICE constexpr View(T* data, std::array<Index, Rank> extents) : data_(data) {
    Index stride = 1;
    for (int d = Rank - 1; d >= 0; --d) {
      extents_[d] = extents[static_cast<std::size_t>(d)];
      strides_[d] = stride;
      stride *= extents_[d];
    }
  }
  /// Rows `pitch` elements apart; the dimensions after the first are contiguous.
  IQD_HOST_DEVICE constexpr View(T* data, std::array<Index, Rank> extents, Index pitch) : View(data, extents) {
    strides_[0] = pitch;
  }
  /// A writable view converts to a read-only one.
  template <class U>
  requires(std::is_same_v<T, const U>) IQD_HOST_DEVICE constexpr View(const View<U, Rank>& o) : data_(o.data()) {
    for (int d = 0; d < Rank; ++d) extents_[d] = o.extent(d), strides_[d] = o.stride(d);
  }

  IQD_HOST_DEVICE constexpr T* data() const { return data_; }
  IQD_HOST_DEVICE constexpr Index extent(int d) const { return extents_[d]; }
  IQD_HOST_DEVICE constexpr Index stride(int d) const { return strides_[d]; }
  IQD_HOST_DEVICE constexpr Index size() const {
    Index n = 1;
    for (int d = 0; d < Rank; ++d) n *= extents_[d];
    return n;
  }

  template <class... I>
  requires(sizeof...(I) == Rank) IQD_HOST_DEVICE constexpr T& operator()(I... i) const {
    const Index index[] = {static_cast<Index>(i)...};
    Index at = 0;
    for (int d = 0; d < Rank; ++d) at += index[d] * strides_[d];
    return data_[at];
  }
  /// The view of one row.
  IQD_HOST_DEVICE constexpr auto row(Index r) const requires(Rank > 1) {
    View<T, Rank - 1> v;
    v.data_ = data_ + r * strides_[0];
    for (int d = 1; d < Rank; ++d) v.extents_[d - 1] = extents_[d], v.strides_[d - 1] = strides_[d];
    return v;
  }

 private:
  template <class, int> friend class View;
  T* data_ = nullptr;
  Index extents_[Rank] = {};
  Index strides_[Rank] = {};
};

}  // namespace iqd
