// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/host_limits.hpp"
#include "base/need.hpp"
#include "base/pool.hpp"
#include "pipeline/engine/engine.hpp"
#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Sizes of lanes, slots and ring, and what the whole pipeline needs. `explain` and the status show this list; `check`
/// and reloads judge by it.
struct Sizing {
  EngineOptions engine;
  std::size_t arena_bytes = 0;            // of all lanes, on the host
  std::size_t slot_bytes = 0;             // of all slots
  std::size_t device_bytes = 0;           // of all lanes, on devices
  std::size_t device_ring_bytes = 0;      // on each device that keeps the source
  std::vector<std::size_t> on_devices{};  // all of it, by the device's number
  std::size_t ring_bytes = 0;
  std::size_t seen_twice = 0;  // of the ring: pages of its second mapping, which count as resident again
  std::size_t addresses = 0;   // mapped address space, used or not
  Needs needs;                 // on the host; shared ones are listed once

  std::size_t bytes() const noexcept;
  /// What may be added while a disk or a reader falls behind.
  std::size_t more() const noexcept;
  std::size_t threads() const noexcept;
  std::size_t files() const noexcept;
  /// How much the process's resident memory grows, as the system counts it.
  std::size_t resident() const noexcept;
};

/// What only the caller that runs the plan knows.
struct Circumstances {
  bool locked = false;            // memory is locked: everything mapped is resident
  std::int64_t ring_samples = 0;  // the least that the ring must hold
  std::size_t plan_bytes = 0;     // heap used by the plan, including tables that its stages compute beforehand
};
/// How many lanes compute whole blocks.
int lanes_of(const PipelineSpec& spec);
/// What the pipeline requires of its pool.
PoolNeeds pool_needs(const PipelineSpec& spec, const Plan& plan, const StreamInfo& stream);

/// `outputs`: as `make_plan` returns them.
Sizing size_up(const PipelineSpec& spec, const Plan& plan, const StreamInfo& stream,
               std::span<const OutputIndex> outputs, const Circumstances& circumstances = {});

/// What `next` needs while the other still runs, whose sockets and files continue.
Sizing beside(Sizing next, const Sizing& at_work);

/// `blocks of 4096 samples and 2 lanes need 24 MB (ring of 16384 samples 16, 2 lanes 8)`
std::string sum_text(const PipelineSpec& spec, const Sizing& sizing);

/// Calls `ask`, which allocates memory; if that fails, throws a SetupError that says what the memory was for.
template <class F> auto asking_for(const std::string& what, F ask) {
  try {
    return ask();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw SetupError(what + ": cannot allocate that much memory");
}

/// What a pipeline may take: what the pipelines before it leave.
struct Allowance {
  HostLimits left = host_limits();
  std::size_t promised = 0;  // bytes
  /// Descriptors reserved for readers, HTTP and files that are open briefly. A running pipeline has them already.
  std::size_t spare_files = 64;

  void promise(const Sizing& sizing) noexcept;
  /// Undoes `promise` for a pipeline that ends before the next ones start.
  void take_back(const Sizing& sizing) noexcept;
};
/// Reports what does not fit, before anything is allocated.
void check_limits(const PipelineSpec& spec, const Sizing& sizing, const Allowance& allowance);
/// The same for one of the pipeline's devices. `needed`: bytes of it.
void check_device_memory(const PipelineSpec& spec, const Sizing& sizing, const Backend& device, std::size_t needed);

}  // namespace iqd
