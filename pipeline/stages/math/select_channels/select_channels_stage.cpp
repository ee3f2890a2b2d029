// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/math/select_channels/select_channels.hpp"

namespace iqd::select_channels {
namespace {

class SelectChannelsStage final : public ConfiguredStage<Config> {
 public:
  void shape(ShapeContext& context) override {
    const PortShape& in = context.in[0];
    if (config_.channels.empty()) return context.section.problem("channels", "has to name at least one channel");
    const std::int64_t last = *std::ranges::max_element(config_.channels);
    if (last >= in.row_count())
      return context.section.problem("channels", fmt::format("there is no channel {}: the input is {}, and its last "
                                                             "channel is {}",
                                                             last, in.text(), in.row_count() - 1));
    bytes_ = in.item_bytes();
    PortShape& out = context.out[0];
    out.rows.clear();
    if (config_.channels.size() > 1) out.rows = {{"channel", std::ssize(config_.channels)}};
    if (in.rows.empty() || !in.rows[0].frequencies.known()) return;
    std::vector<double> centres;
    for (const std::int64_t c : config_.channels)
      centres.push_back(in.rows[0].frequencies.values_hz[static_cast<std::size_t>(c)]);
    if (out.rows.empty())
      out.frequency_hz += centres[0];
    else
      out.rows[0].frequencies.values_hz = std::move(centres);
  }

  std::unique_ptr<StageRun> make(Backend& backend) const override {
    if (auto* cuda = device_half<CudaHalf>(backend, "select_channels")) return cuda(config_.channels, bytes_);
    return cpu_run([channels = config_.channels, bytes = bytes_](const StageIo& io) noexcept {
      const PortIo& in = io.in[0];
      const PortIo& out = io.out[0];
      const std::byte* const x = in.data + (out.first - in.first) * bytes;
      for (std::int64_t k = 0; k < out.rows; ++k)
        std::memcpy(out.data + k * out.pitch, x + channels[static_cast<std::size_t>(k)] * in.pitch,
                    static_cast<std::size_t>(out.length * bytes));
    });
  }

 private:
  std::int64_t bytes_ = 0;  // of a sample
};

}  // namespace

void Config::fields(FieldVisitor& v) {
  v.field("channels", channels,
          {.help = "the input's channels, counted from 0, in the order of the output", .low = 0, .required = true});
}

StageEntry entry() {
  return {.family = "math",
          .name = "select_channels",
          .summary = "selects channels of a stream, in any order",
          .inputs = {{.name = "in", .elements = {Element::cf32, Element::sc16, Element::f32}}},
          .outputs = {{.name = "out"}},
          .make = make_stage<SelectChannelsStage>,
          .sample = "select_channels: {channels: [0]}",
          .tolerance = 0};
}

}  // namespace iqd::select_channels
