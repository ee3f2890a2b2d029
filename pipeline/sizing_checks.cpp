// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks that the resources that pipelines need are available.
#include <fmt/format.h>

#include <algorithm>

#include "base/integer.hpp"
#include "pipeline/sizing.hpp"

namespace iqd {
namespace {

constexpr std::size_t kNone = HostLimits::kNone;

/// `ring of 4096 samples 16, 2 lanes 8`: the largest first, without small ones.
std::string text_of(Needs needs, std::size_t sum) {
  std::ranges::stable_sort(needs, std::ranges::greater(), &Need::bytes);
  std::string text;
  for (const Need& need : needs)
    if (need.bytes > sum / 100)
      text += fmt::format("{}{} {:.0f}", text.empty() ? "" : ", ", need.what, megabytes(need.bytes));
  return text;
}

std::string text_of(const PipelineSpec& spec, const Sizing& sizing, std::size_t needed) {
  return fmt::format("blocks of {} samples and {} lanes need {:.0f} MB ({})", spec.block, sizing.engine.lanes,
                     megabytes(needed), text_of(sizing.needs, sizing.bytes()));
}

/// What is short, and by how much.
struct Shortage {
  std::size_t needed;
  std::size_t left;
  std::string where;
};

std::optional<Shortage> shortage_of(const PipelineSpec& spec, const Sizing& sizing, const Allowance& allowance) {
  const HostLimits& left = allowance.left;
  if (sizing.bytes() > left.memory)
    return Shortage{sizing.bytes(), left.memory, left.group.empty() ? "are free" : "are left below " + left.group};
  if (sizing.addresses > left.addresses)
    return Shortage{sizing.addresses, left.addresses, "may still be mapped (`ulimit -v`, LimitAS=)"};
  if (spec.realtime.lock_memory && left.locked && sizing.addresses > *left.locked)
    return Shortage{sizing.addresses, *left.locked, "may still be locked (`ulimit -l`, LimitMEMLOCK=)"};
  return std::nullopt;
}

void check_bytes(const PipelineSpec& spec, const Sizing& sizing, const Allowance& allowance) {
  const auto shortage = shortage_of(spec, sizing, allowance);
  if (!shortage) return;
  const std::string others =
      allowance.promised ? fmt::format(" beside the {:.0f} MB of other pipelines", megabytes(allowance.promised)) : "";
  spec.section.problem("block", fmt::format("{}, but {:.0f} MB {}{}; use a smaller block or fewer lanes",
                                            text_of(spec, sizing, shortage->needed), megabytes(shortage->left),
                                            shortage->where, others));
}

void spend(std::size_t& left, std::size_t what) noexcept {
  if (left != kNone) left -= std::min(left, what);
}
void put_back(std::size_t& left, std::size_t what) noexcept {
  left = bounded_sum(left, what);
}

}  // namespace

std::string sum_text(const PipelineSpec& spec, const Sizing& sizing) {
  return text_of(spec, sizing, sizing.bytes());
}

void Allowance::promise(const Sizing& sizing) noexcept {
  promised = bounded_sum(promised, sizing.bytes());
  spend(left.memory, sizing.bytes());
  spend(left.addresses, sizing.addresses);
  if (left.locked) spend(*left.locked, sizing.addresses);
  spend(left.files, sizing.files());
  spend(left.threads, sizing.threads());
}

void Allowance::take_back(const Sizing& sizing) noexcept {
  put_back(left.memory, sizing.bytes());
  put_back(left.addresses, sizing.addresses);
  if (left.locked) put_back(*left.locked, sizing.addresses);
  put_back(left.files, sizing.files());
  put_back(left.threads, sizing.threads());
}

void check_limits(const PipelineSpec& spec, const Sizing& sizing, const Allowance& allowance) {
  check_bytes(spec, sizing, allowance);
  const HostLimits& left = allowance.left;
  const std::string_view key = spec.section.has("publish") ? "publish" : "";
  if (const std::size_t files = bounded_sum(sizing.files(), allowance.spare_files); files > left.files)
    spec.section.problem(
        key,
        fmt::format("its sockets and files take {} descriptors, {} more are reserved for readers, and {} may still "
                    "be opened; let topics share addresses, or raise the limit (`ulimit -n`, LimitNOFILE=)",
                    sizing.files(), allowance.spare_files, left.files));
  if (sizing.threads() > left.threads)
    spec.section.problem(
        key, fmt::format("its sockets, sinks and lanes take {} threads, and {} may still be started; let topics share "
                         "addresses, or raise the limit of the control group (TasksMax=)",
                         sizing.threads(), left.threads));
}

void check_device_memory(const PipelineSpec& spec, const Sizing& sizing, const Backend& device, std::size_t needed) {
  const std::size_t free = device.memory().free;
  if (needed <= free) return;
  spec.section.problem(
      "block",
      fmt::format("blocks of {} samples and {} lanes need {:.0f} MB of {} ({}), but {:.0f} MB "
                  "are free; use a smaller block or fewer lanes",
                  spec.block, sizing.engine.lanes, megabytes(needed), device.name(), device.device(), megabytes(free)));
}

}  // namespace iqd
