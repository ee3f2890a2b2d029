// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/child_process.hpp"
#include "base/file_handle.hpp"
#include "base/shared_file.hpp"
#include "pipeline/stages/math/python/channel.hpp"
#include "pipeline/stages/math/python/job.hpp"

namespace iqd::python {

/// Bytes of the arrays of one call.
struct Areas {
  std::size_t inputs = 0;  // of all of them, each rounded up to pages
  std::size_t results = 0;
};

/// How a call ended.
enum class Ending : std::uint8_t { good, raised, unfit, late, died };

/// One process and the memory that it shares. One thread at a time calls; another, the keeper, watches.
class Worker {
 public:
  /// Starts the process, which then loads its program. Throws SetupError.
  Worker(const Job& job, const Areas& areas);

  // For the thread that calls. Nothing here allocates, locks or logs.

  Request& request() noexcept { return *reinterpret_cast<Request*>(requests_.data()); }
  std::byte* setup() noexcept { return requests_.data() + kSetupAt; }
  std::byte* inputs() noexcept { return requests_.data() + kInputsAt; }
  const std::byte* results() const noexcept { return answers_.data() + kResultsAt; }
  /// Sends the request, and waits for the answer. `count` gets the number of positions or items: 0 to `most`.
  Ending call(std::int64_t limit_ns, std::int64_t& count) noexcept;

  // For the keeper.

  /// What the process has said since the last call; each message is a kind and lines.
  std::vector<std::string> messages();
  /// What it has printed.
  std::string printed();
  bool has_ended() const noexcept { return is_cut_off_ || process_.has_ended(); }
  /// Kills it. A call that waits for its answer returns.
  int end() noexcept;
  pid_t id() const noexcept { return process_.id(); }
  /// Files that become readable when there is something to do.
  std::vector<int> files() const { return {process_.ended_file(), control_.get(), output_.get()}; }
  /// Whether it has answered, so that its program works in principle.
  bool has_answered() const noexcept { return has_answered_.load(std::memory_order_relaxed); }

 private:
  ChildProcess start(const Job& job);
  Answer& answer() const noexcept { return *reinterpret_cast<Answer*>(answers_.data()); }
  bool wait_for(std::uint32_t number, std::int64_t limit_ns) noexcept;

  SharedFile requests_;
  SharedFile answers_;
  FileHandle control_;
  FileHandle output_;
  ChildProcess process_;
  const std::int64_t spin_ns_;
  bool spins_ = true;         // the last spin was not in vain
  std::uint32_t number_ = 0;  // of the last request
  bool is_cut_off_ = false;   // it has closed its descriptors
  std::atomic<bool> is_lost_{false};
  std::atomic<bool> has_answered_{false};
};

}  // namespace iqd::python
