// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/telemetry/equalizer/equalizer_cpu.hpp"

#include <algorithm>
#include <utility>

#include "pipeline/stages/telemetry/equalizer/normal_equations_cpu.hpp"
#include "pipeline/stages/telemetry/equalizer/refinement_cpu.hpp"
#include "pipeline/stages/telemetry/equalizer/tracker_cpu.hpp"
#include "signal/filters/scratch.hpp"

namespace iqd::equalizer {

namespace {

/// A packet in progress, in a lane's scratch: computes one kind after the other.
class Work {
 public:
  Work(const Setup& setup, Scratch& scratch)
      : s_(setup),
        window_(scratch.take<cf32>(setup.window.size)),
        channel_(scratch.take<cf32>(setup.window.size)),
        response_(scratch.take<cf32>(setup.window.size)),
        buffers_{scratch.take<cf32>(setup.window.size), scratch.take<cf32>(setup.window.size)},
        scaled_(setup, scratch),
        taps_(scratch.take<cf32>(kTaps)),
        equations_(scratch) {
    if (setup.wants(Kind::cma)) descent_memory_.emplace(setup, scratch);
    if (setup.track == Track::refine) refinement_.emplace(setup, scratch);
    if (setup.track == Track::on) tracker_.emplace(setup, scratch);
  }

  /// `descent` is needed for cma alone, `segments` for a channel that moves.
  void run(const WindowFilter& filter, const std::optional<Descent>& descent,
           const std::optional<WindowFilter>& segments, const Packet& packet, float unit) noexcept {
    filter_ = &filter;
    packet_ = &packet;
    scaled_.load(packet, unit);
    if (tracker_ && tracker_->run(*segments, scaled_, packet.symbols)) return;
    if (refinement_) refine();
    filter.transform(scaled_.samples(), window_);
    if (s_.count_linear() > 0) make_linear(descent);
    if (s_.wants(Kind::fde1) || s_.wants(Kind::fde2)) make_inverses();
  }

 private:
  void refine() noexcept;
  void make_linear(const std::optional<Descent>& descent) noexcept;
  void transform_channel() noexcept;
  void make_inverses() noexcept;
  void deliver_taps(Kind kind) const noexcept;
  void deliver(Kind kind) const noexcept;
  auto output_of(Kind kind) const noexcept {
    return std::find_if(s_.outputs.begin(), s_.outputs.end(), [kind](const auto& o) { return o.kind == kind; });
  }

  const Setup& s_;
  const WindowFilter* filter_ = nullptr;
  const Packet* packet_ = nullptr;
  cf32* window_;    // spectra: of the window,
  cf32* channel_;   // of the channel,
  cf32* response_;  // of the equalizer
  WindowFilter::Buffers buffers_;
  ScaledPacket scaled_;
  cf32* taps_;
  NormalEquations equations_;
  std::optional<DescentMemory> descent_memory_;
  std::optional<Refinement> refinement_;
  std::optional<Tracker> tracker_;
};

/// Whatever the kinds are, the decisions are those of fde1 with the detection filter.
void Work::refine() noexcept {
  filter_->transform(scaled_.samples(), window_);
  transform_channel();
  filter_->invert(Kind::fde1, channel_, scaled_.noise(), response_);
  filter_->run(window_, response_, true, buffers_, refinement_->draft(), s_.format.bits());
  refinement_->run(scaled_.samples(), scaled_.channel());
}

void Work::make_linear(const std::optional<Descent>& descent) noexcept {
  equations_.set_channel(scaled_.channel());
  if (s_.wants(Kind::zf)) {
    equations_.solve(s_.zf_load * equations_.energy(), taps_);
    deliver_taps(Kind::zf);
  }
  if (!s_.wants(Kind::mmse) && !s_.wants(Kind::cma)) return;
  equations_.solve(scaled_.noise(), taps_);
  if (s_.wants(Kind::mmse)) deliver_taps(Kind::mmse);
  if (!s_.wants(Kind::cma)) return;
  descent->run(scaled_.samples(), taps_, *descent_memory_);
  deliver_taps(Kind::cma);
}

void Work::transform_channel() noexcept {
  filter_->transform_taps({scaled_.channel(), kChannelTaps}, kChannelFirst, buffers_, channel_);
}

void Work::make_inverses() noexcept {
  transform_channel();
  for (const Kind kind : {Kind::fde1, Kind::fde2}) {
    if (!s_.wants(kind)) continue;
    filter_->invert(kind, channel_, scaled_.noise(), response_);
    deliver(kind);
  }
}

void Work::deliver_taps(Kind kind) const noexcept {
  filter_->transform_taps({taps_, kTaps}, kFirst, buffers_, response_);
  deliver(kind);
  if (packet_->taps == nullptr) return;
  const auto before = std::count_if(s_.outputs.begin(), output_of(kind), [](const auto& o) { return linear(o.kind); });
  scaled_.unscale_taps(taps_, packet_->taps + before * kTaps);
}

/// Filters the window with the current spectrum and writes the values at the bits' centres.
void Work::deliver(Kind kind) const noexcept {
  const auto output = output_of(kind);
  filter_->run(window_, response_, output->filtered, buffers_,
               packet_->symbols + (output - s_.outputs.begin()) * s_.format.bits(), s_.format.bits());
}

}  // namespace

Equalizer::Equalizer(Setup setup) : setup_(std::move(setup)), filter_(setup_.window, setup_.format.samples_per_bit) {
  if (setup_.wants(Kind::cma)) descent_.emplace(setup_);
  if (setup_.track == Track::on) segments_.emplace(setup_.segment, setup_.format.samples_per_bit);
}

std::size_t Equalizer::scratch_bytes(const Setup& setup) noexcept {
  Scratch count(nullptr);
  const Work work(setup, count);
  return count.bytes();
}

void Equalizer::run(const Packet& packet, std::byte* memory) const noexcept {
  const float unit = unit_of(packet, setup_.format.window());
  if (unit > 0) {
    Scratch scratch(memory);
    return Work(setup_, scratch).run(filter_, descent_, segments_, packet, unit);
  }
  const cf32 all(unit, unit);  // zeros, or NaN
  std::fill_n(packet.symbols, setup_.outputs.size() * static_cast<std::size_t>(setup_.format.bits()), all);
  if (packet.taps) std::fill_n(packet.taps, setup_.count_linear() * kTaps, all);
}

}  // namespace iqd::equalizer
