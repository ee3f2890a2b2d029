// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <span>
#include <stdexcept>
#include <string>

#include "base/error.hpp"
#include "base/host_limits.hpp"
#include "base/need.hpp"
#include "pipeline/engine/engine.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Lanes, slots and ring as they will be, and what all of the pipeline takes: the one list that `explain` and the
/// status show, and that `check` and reloads go by.
struct Sizing {
  EngineOptions engine;
  std::size_t arena_bytes = 0;   // of all lanes, on the host
  std::size_t slot_bytes = 0;    // of all slots
  std::size_t device_bytes = 0;  // of all lanes, on devices
  std::size_t ring_bytes = 0;
  std::size_t seen_twice = 0;  // of the ring: what its second mapping shows counts as resident once more
  std::size_t addresses = 0;   // that are mapped, whether anything lies there or not
  Needs needs;                 // of the host; what is shared is there once

  std::size_t bytes() const noexcept;
  /// What may come on top while a disk or a reader is behind.
  std::size_t more() const noexcept;
  std::size_t threads() const noexcept;
  std::size_t files() const noexcept;
  /// What the process's resident memory grows by, as the system counts it.
  std::size_t resident() const noexcept;
};

/// What only who runs the plan knows.
struct Circumstances {
  bool locked = false;            // memory is locked: all that is mapped is resident
  std::int64_t ring_samples = 0;  // that the ring needs room for at least
  std::size_t plan_bytes = 0;     // that the plan took of the heap, with what its stages compute beforehand
};
/// `outputs`: as `make_plan` gives them.
Sizing size_up(const PipelineSpec& spec, const Plan& plan, const StreamInfo& stream, std::span<const int> outputs,
               const Circumstances& circumstances = {});

/// What the one takes beside the other that is at work, whose sockets and files go on.
Sizing beside(Sizing next, const Sizing& at_work);

/// `blocks of 4096 samples and 2 lanes need 24 MB (ring of 16384 samples 16, 2 lanes 8)`
std::string sum_text(const PipelineSpec& spec, const Sizing& sizing);

/// Does what asks for memory; where that cannot be had, throws a SetupError that says what it was for.
template <class F> auto asking_for(const std::string& what, F ask) {
  try {
    return ask();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw SetupError(what + ", and that much memory cannot be had");
}

/// What pipelines may take: what is left beside those that are to come first.
struct Allowance {
  HostLimits left = host_limits();
  std::size_t promised = 0;  // bytes
  /// Descriptors that are left to readers, to HTTP and to files that are open for a moment. What runs has them already.
  std::size_t spare_files = 64;

  void promise(const Sizing& sizing) noexcept;
  /// Such a pipeline ends before those that are to come.
  void take_back(const Sizing& sizing) noexcept;
};
/// Says what does not fit, before anything is allocated.
void check_limits(const PipelineSpec& spec, const Sizing& sizing, const Allowance& allowance);
/// The same of a device that has this part of the lanes.
void check_device_memory(const PipelineSpec& spec, const Sizing& sizing, const Backend& device, std::size_t devices);

}  // namespace iqd
