// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace iqd {

/// The connections of a web server with one thread each. Most wait: for the rest of a request, for the next one, or for
/// the client to take an answer. When all threads are taken, the connection that waits longest is closed, so that half
/// a request does not keep a thread from a whole one. Any thread.
class HttpWaiting {
 public:
  /// `threads`: how many the server has.
  explicit HttpWaiting(std::size_t threads) : threads_(threads) {}

  /// Call it when a connection was accepted, before the server gets it. May wait for some milliseconds.
  void came(int file, std::string peer);
  /// Whether every thread has a connection; then connections are closed after their answer.
  bool is_full();
  /// Ends a connection after what has been sent: the server sees the client leave.
  void end(std::string_view peer) noexcept;
  /// Call it when the server closes the connection.
  void left(std::string_view peer) noexcept;

  /// During its lifetime the connection counts as busy, not as waiting: its request is being processed.
  class Work {
   public:
    Work(HttpWaiting& all, std::string peer) : all_(all), peer_(std::move(peer)) { all_.set_busy(peer_, true); }
    ~Work() { all_.set_busy(peer_, false); }
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

   private:
    HttpWaiting& all_;
    std::string peer_;
  };

 private:
  struct Connection {
    int file;
    std::string peer;
    std::int64_t since_ns;  // waiting or busy since
    bool is_busy = false;
    bool is_cut_off = false;
  };
  bool make_room() noexcept;
  bool all_taken() const noexcept;
  void set_busy(std::string_view peer, bool is_busy) noexcept;
  Connection* find(std::string_view peer) noexcept;

  const std::size_t threads_;
  std::mutex mutex_;
  std::vector<Connection> connections_;  // longest wait first
};

}  // namespace iqd
