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

/// The connections of a web server with a thread for each. Most wait: for the rest of a request, for the next one, for
/// an answer to be taken. Where threads get scarce the one that waits longest is disconnected, so that half a request
/// keeps no thread from a whole one. Any thread.
class HttpWaiting {
 public:
  /// So many threads the server has.
  explicit HttpWaiting(std::size_t threads) : threads_(threads) {}

  /// A connection was accepted; before the server has it. May wait for some milliseconds.
  void came(int file, std::string peer);
  /// Every thread has a connection: who has had an answer makes room for others.
  bool is_full();
  /// The server closes it now.
  void left(std::string_view peer) noexcept;

  /// While this lives, the peer is waited for no longer: its request is here and worked at.
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
    std::int64_t since_ns;  // it waits, or is worked for
    bool is_busy = false;
    bool is_cut_off = false;
  };
  bool make_room() noexcept;
  bool all_taken() const noexcept;
  void set_busy(std::string_view peer, bool is_busy) noexcept;
  Connection* find(std::string_view peer) noexcept;

  const std::size_t threads_;
  std::mutex mutex_;
  std::vector<Connection> connections_;  // who waits longest comes first
};

}  // namespace iqd
