// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "pipeline/plan/plan.hpp"

namespace iqd {
namespace {

class TransferRun final : public StageRun {
 public:
  TransferRun(Backend& backend, std::int64_t item_bytes) : backend_(backend), item_bytes_(item_bytes) {}
  void enqueue(const StageIo& io, StreamView stream) const noexcept override {
    const PortIo& in = io.in[0];
    const PortIo& out = io.out[0];
    const std::int64_t length = std::min(out.length, in.end() - out.first);  // counted items may be fewer
    if (length <= 0) return;
    backend_.copy(out.data, static_cast<std::size_t>(out.pitch), in.data + (out.first - in.first) * item_bytes_,
                  static_cast<std::size_t>(in.pitch), static_cast<std::size_t>(length * item_bytes_),
                  static_cast<std::size_t>(in.rows), stream);
  }

 private:
  Backend& backend_;
  std::int64_t item_bytes_;
};

class TransferStage final : public Stage {
 public:
  void fields(FieldVisitor&) override {}
  void shape(ShapeContext& context) override { item_bytes_ = context.in[0].item_bytes(); }
  std::unique_ptr<StageRun> make(Backend& backend) const override {
    return std::make_unique<TransferRun>(backend, item_bytes_);
  }

 private:
  std::int64_t item_bytes_ = 0;
};

}  // namespace

bool PlanStep::is_transfer() const noexcept {
  return entry == &transfer_entry();
}

const StageEntry& transfer_entry() {
  static const StageEntry entry{.family = "plan",
                                .name = "transfer",
                                .summary = "copies between host and device",
                                .inputs = {{.name = "in", .elements = {}, .dims = "any"}},
                                .outputs = {{.name = "out"}},
                                .make = make_stage<TransferStage>,
                                .sample = {}};
  return entry;
}

}  // namespace iqd
