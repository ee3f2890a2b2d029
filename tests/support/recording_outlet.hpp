// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/bell.hpp"
#include "base/outlet.hpp"

namespace iqd::testing {

/// A message as it was sent, copied.
struct Sent {
  std::uint64_t seq = 0;
  std::int64_t sample = 0, time_ns = 0, extent = 0, gap = 0, dropped = 0, halo = 0;
  bool scarce = false;
  SampleIndex tuned = -1;
  double frequency_hz = 0;
  std::vector<std::byte> payload;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> facts;  // of i64 columns

  template <class T> std::vector<T> as() const {
    std::vector<T> values(payload.size() / sizeof(T));
    std::memcpy(values.data(), payload.data(), values.size() * sizeof(T));
    return values;
  }
};

/// What an outlet does, and what it received; `sent` is read after the end of the stream.
struct Record {
  std::size_t keep = 0;                        // number of leases kept for a while
  std::function<bool(const Message&)> refuse;  // refuses messages for which it is true
  std::function<void(const Message&)> before;  // called first, by the publishing thread
  std::vector<Sent> sent;
  bool finished = false;
  std::atomic<bool> interrupted{false};
  std::atomic<std::uint64_t> messages{0};
};

/// Copies what it gets; the memory of a kept lease must be unchanged when the lease is given back.
class RecordingOutlet final : public Outlet {
 public:
  explicit RecordingOutlet(Record& record) : record_(record) {}
  ~RecordingOutlet() override { let_go(0); }

  bool send(const Message& m, Lease lease, bool scarce) override {
    if (record_.before) record_.before(m);
    if (record_.refuse && record_.refuse(m)) return false;
    Sent s{m.seq, m.sample, m.time_ns, m.extent, m.gap, m.dropped, m.halo, scarce, m.tuned, m.frequency_hz(), {}, {}};
    s.payload.assign(m.payload.begin(), m.payload.end());
    for (const FactColumn& f : m.facts) {
      if (f.element != Element::i64) continue;
      auto& column = s.facts[std::string(f.key)];
      column.resize(static_cast<std::size_t>(m.extent));
      std::memcpy(column.data(), f.values, column.size() * sizeof(std::int64_t));
    }
    const std::lock_guard lock(mutex_);
    record_.sent.push_back(std::move(s));
    kept_.push_back({std::move(lease), m.payload, record_.sent.size() - 1});
    let_go(record_.keep);
    ++record_.messages;
    return true;
  }
  void finish() override { record_.finished = true; }
  /// From a test's thread.
  void let_go_of_all() {
    const std::lock_guard lock(mutex_);
    record_.keep = 0;
    let_go(0);
  }
  void interrupt() noexcept override { record_.interrupted = true; }

 private:
  struct Kept {
    Lease lease;
    std::span<const std::byte> memory;
    std::size_t index;
  };
  void let_go(std::size_t down_to) {
    for (; kept_.size() > down_to; kept_.pop_front()) {
      const Kept& k = kept_.front();
      EXPECT_TRUE(std::equal(k.memory.begin(), k.memory.end(), record_.sent[k.index].payload.begin()))
          << "message " << k.index << " changed while its lease was held";
    }
  }

  Record& record_;
  std::mutex mutex_;
  std::deque<Kept> kept_;
};

}  // namespace iqd::testing
