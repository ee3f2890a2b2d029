// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include "tests/support/engine_rig.hpp"

/// A source that cannot wait, like a radio: how its stream has to be when it fails, or delivers nothing for a while.
namespace iqd::testing {

/// Thousands of gaps, and no line in the log for each.
struct Quiet {
  Quiet() { log::set_level(log::Level::error); }
  ~Quiet() { log::set_level(log::Level::info); }
};

inline Rig::Options radio_options(bool reconnects = true) {
  Rig::Options o;
  o.info.can_wait = false;
  o.info.reconnects = reconnects;
  o.ring = 1 << 16;
  o.slots = 32;
  return o;
}

/// Messages follow each other with the gaps that they report; their contents are not checked.
inline std::int64_t expect_told_gaps(const Record& record) {
  std::int64_t expected = 0, missing = 0;
  for (const Sent& s : record.sent) {
    EXPECT_EQ(s.sample, expected + s.gap);
    missing += s.gap;
    EXPECT_EQ(s.dropped, missing);
    expected = s.sample + s.extent;
  }
  return missing;
}

inline void expect_all_published(Rig& rig, std::uint64_t samples) {
  EXPECT_EQ(rig.counters.received.value(), samples);
  EXPECT_EQ(rig.counters.published.value(), samples);
  EXPECT_EQ(rig.counters.all_dropped(), 0u);
}

}  // namespace iqd::testing
