// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/views.hpp"

namespace iqd {

/// Which bits of a word are sent, in which order: rate matching of TS 38.212, 5.4.2.
///
/// Positions count the bits of all columns. Those of hidden columns are never sent, nor filler, which is 0. The others
/// are a ring, from whose bit `begin` `count` bits are sent; if that is more than once around, bits are repeated. Then
/// they are written in `planes` rows, and read by columns.
struct SentBits {
  int hidden_begin = 0, hidden_end = 0;  // positions
  int filler_begin = 0, filler_end = 0;  // behind hidden ones, or empty
  int begin = 0;
  int ring = 0;    // bits of the ring
  int count = 0;   // e
  int planes = 1;  // divides count

  IQD_HOST_DEVICE bool is_filler(int position) const noexcept {
    return position >= filler_begin && position < filler_end;
  }
  /// Number of bit `position` in the order of sending; it is sent if that is below `count`, and again `ring` bits later.
  IQD_HOST_DEVICE int turn_of(int position) const noexcept {
    if ((position >= hidden_begin && position < hidden_end) || is_filler(position)) return count;
    int at = position - begin;
    if (position >= hidden_end) at -= hidden_end - hidden_begin;
    if (position >= filler_end) at -= filler_end - filler_begin;
    return at < 0 ? at + ring : at;
  }
  /// The place of number `turn` in the word that is sent.
  IQD_HOST_DEVICE int place_of(int turn) const noexcept {
    if (planes == 1) return turn;
    const int columns = count / planes;
    return turn % columns * planes + turn / columns;
  }
  /// The position of what is sent as number `turn`.
  IQD_HOST_DEVICE int position_of(int turn) const noexcept {
    int position = (begin + turn) % ring;
    if (position >= hidden_begin) position += hidden_end - hidden_begin;
    if (position >= filler_begin) position += filler_end - filler_begin;
    return position;
  }
};

}  // namespace iqd
