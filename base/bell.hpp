// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace iqd {

/// Spins until `ready()` holds, using a whole CPU.
template <class Ready> void spin_until(Ready&& ready) {
  while (!ready()) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

/// Wakes threads that wait for "something changed". A thread calls `listen`, checks its condition, then calls `wait`: a
/// ring in between is not missed. Ringing costs no system call while nobody waits.
class Bell {
 public:
  using Ticket = std::uint32_t;
  Ticket listen() const noexcept { return rings_.load(std::memory_order_seq_cst); }
  void wait(Ticket heard) const noexcept { rings_.wait(heard, std::memory_order_seq_cst); }
  void ring() noexcept {
    rings_.fetch_add(1, std::memory_order_seq_cst);
    rings_.notify_all();
  }
  /// Returns once `ready()` holds.
  template <class Ready> void wait_until(Ready&& ready) const {
    for (;;) {
      const Ticket heard = listen();
      if (ready()) return;
      wait(heard);
    }
  }

 private:
  std::atomic<Ticket> rings_{0};
};

}  // namespace iqd
