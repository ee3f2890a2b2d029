// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled with -fmad=false: products and sums are rounded as on the CPU. Sums over carriers are in double precision,
// where products of floats are exact, so the order hardly matters.
#include <algorithm>
#include <span>
#include <vector>

#include "gpu/device_array.hpp"
#include "gpu/runtime.hpp"
#include "pipeline/stage/stage.hpp"
#include "pipeline/stages/ofdm/mimo_channel_estimator/apply_channel.cuh"
#include "pipeline/stages/ofdm/mimo_channel_estimator/follow_frames.cuh"
#include "pipeline/stages/ofdm/mimo_channel_estimator/measure_frames.cuh"
#include "pipeline/stages/ofdm/mimo_channel_estimator/mimo_channel_estimator.hpp"

namespace iqd::mimo_channel_estimator {
namespace {

std::vector<float2> pairs_of(const std::vector<cf32>& values) {
  std::vector<float2> pairs;
  for (const cf32 v : values) pairs.push_back({v.real(), v.imag()});
  return pairs;
}
template <class T> gpu::DeviceArray<T> on_device(const std::vector<T>& values) {
  return gpu::DeviceArray<T>(std::span<const T>(values));
}

class Run final : public StageRun {
 public:
  Run(const Design& design, std::int64_t most)
      : known_(on_device(pairs_of(design.known))),
        ramp_(on_device(pairs_of(design.ramp))),
        uncover_(on_device(pairs_of(design.uncover))),
        pilot_weights_(on_device(pairs_of(design.pilot_weights))),
        taps_(on_device(design.taps)),
        pilot_signs_(on_device(design.pilot_signs)),
        first_(on_device(design.first)),
        odd_(on_device(design.odd)),
        pilot_(on_device(design.pilot)),
        data_(on_device(design.data)),
        place_(on_device(design.place)),
        extents_(design.extents),
        most_(most) {
    constants_ = {known_.data(),       ramp_.data(),
                  uncover_.data(),     taps_.data(),
                  first_.data(),       pilot_.data(),
                  data_.data(),        place_.data(),
                  odd_.data(),         static_cast<std::int32_t>(design.odd.size()),
                  pilot_signs_.data(), pilot_weights_.data()};
    gpu::load_kernels("loading mimo_channel_estimator", measure_symbols, fit_frames, estimate_channel, write_vectors);
  }

  std::size_t device_scratch_bytes() const noexcept override {
    return Room{extents_, most_, Scratch(nullptr)}.scratch.bytes();
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    Job job{{extents_, most_, Scratch(io.device_scratch)}, constants_};
    job.carriers = io.in[0].row<const float2>();
    job.found_at = io.in[0].count;
    for (std::size_t o = 0; o < std::size(job.counts); ++o) job.counts[o] = io.out[o].count;
    job.empty[0] = io.out[6].count, job.empty[1] = io.out[7].count;
    job.y = io.out[0].row<float2>();
    job.h = io.out[1].row<float2>();
    job.noise = io.out[2].row<float>();
    job.phase = io.out[3].row<float>();
    job.level = io.out[4].row<float>();
    job.covariance = io.out[5].row<float2>();
    const cudaStream_t stream = gpu::stream_of(view);
    const Extents& e = job.e;
    const auto frames = static_cast<unsigned>(io.in[0].length);
    const auto symbols = static_cast<unsigned>(e.symbols), data_symbols = static_cast<unsigned>(e.data_symbols());
    measure_symbols<<<std::max(frames * symbols, 1u), kThreads, 0, stream>>>(job);
    if (frames == 0) return;
    fit_frames<<<frames, kFitThreads, 0, stream>>>(job);
    const auto rough_bytes = static_cast<std::size_t>((kTile + kTaps) * e.pairs()) * sizeof(float2);
    estimate_channel<<<frames * gpu::groups_of(e.carriers, kTile), kFilterThreads, rough_bytes, stream>>>(job);
    write_vectors<<<frames * data_symbols, kThreads, 0, stream>>>(job);
  }

 private:
  gpu::DeviceArray<float2> known_, ramp_, uncover_, pilot_weights_;
  gpu::DeviceArray<float> taps_, pilot_signs_;
  gpu::DeviceArray<std::int32_t> first_, odd_, pilot_, data_, place_;
  Extents extents_;
  std::int64_t most_;
  Constants constants_{};
};

template <class Z, class T> std::vector<Z> joined(const std::vector<T>& re, const std::vector<T>& im) {
  std::vector<Z> all;
  for (std::size_t i = 0; i < re.size(); ++i) all.push_back({re[i], im[i]});
  return all;
}

/// With `track: frame` or `whiten`.
class FollowingRun final : public StageRun {
 public:
  FollowingRun(const Design& design, std::int64_t most)
      : extents_(design.extents),
        by_port_(design.by_port),
        teams_(std::clamp<std::int64_t>(most, 1, kMostTeams)),
        phi_(on_device(design.joint.phi)),
        weights_(on_device(design.joint.weights)),
        training_(on_device(design.training)),
        pilot_signs_(on_device(design.pilot_signs)),
        taps_(on_device(design.taps)),
        combs_(on_device(design.combs)),
        turn_(on_device(joined<float2>(design.joint.turn_re, design.joint.turn_im))),
        pilot_turn_(on_device(joined<float2>(design.joint.pilot_re, design.joint.pilot_im))),
        cover_(on_device(pairs_of(design.cover))),
        uncover_(on_device(pairs_of(design.uncover))),
        lags_(on_device(joined<float2>(design.joint.lag_re, design.joint.lag_im))),
        tail_lags_(on_device(joined<float2>(design.joint.tail_re, design.joint.tail_im))),
        band_(on_device(joined<double2>(design.joint.band_re, design.joint.band_im))),
        known_(on_device(pairs_of(design.known))),
        ramp_(on_device(pairs_of(design.ramp))),
        pilot_weights_(on_device(pairs_of(design.pilot_weights))),
        odd_(on_device(design.odd)),
        pilot_(on_device(design.pilot)),
        place_(on_device(design.place)),
        first_(on_device(design.first)) {
    const TrackDesign& t = design.joint;
    tables_ = {.phi = phi_.data(),
               .weights = weights_.data(),
               .training = training_.data(),
               .pilot_signs = pilot_signs_.data(),
               .taps = taps_.data(),
               .combs = combs_.data(),
               .turn = turn_.data(),
               .pilot_turn = pilot_turn_.data(),
               .cover = cover_.data(),
               .uncover = uncover_.data(),
               .lags = lags_.data(),
               .tail_lags = tail_lags_.data(),
               .band = band_.data(),
               .known = known_.data(),
               .ramp = ramp_.data(),
               .pilot_weights = pilot_weights_.data(),
               .odd = odd_.data(),
               .pilot = pilot_.data(),
               .place = place_.data(),
               .first = first_.data(),
               .odd_carriers = static_cast<std::int32_t>(design.odd.size()),
               .functions = t.functions,
               .delays = t.delays,
               .pitch = t.delay_pitch,
               .most_taps = t.most_taps,
               .em = t.em,
               .soft_bits = design.soft_bits,
               .sent = design.sent,
               .span = t.span,
               .smoothed_noise = design.smoothed_noise,
               .within = t.within,
               .moves = design.track == Track::frame,
               .whitens = design.whiten != Whiten::off,
               .groups = design.whiten == Whiten::groups};
    order_ = std::min<std::int64_t>(std::int64_t{t.functions} * t.most_taps * extents_.tx, kMostUnknowns);
    lag_count_ = t.lag_count(extents_);
    const auto panel = [](auto equations) {
      return sizeof(*equations.m) * kPanel * static_cast<std::size_t>(equations.panel_pitch());
    };
    panel_bytes_ = tables_.moves ? std::max(panel(Equations{nullptr, 0, static_cast<int>(order_), extents_.rx}),
                                            panel(EquationsOf<double2>{nullptr, 0, t.delays, extents_.pairs(), true}))
                                 : 0;
    gpu::allow_shared(follow_frames, static_cast<std::int64_t>(panel_bytes_),
                      "mimo_channel_estimator: the unknowns of `track: frame`; less `max_taps` or `time_functions`");
    team_blocks_ = gpu::cluster_blocks(follow_frames, "loading mimo_channel_estimator");
  }

  std::size_t device_scratch_bytes() const noexcept override {
    return static_cast<std::size_t>(teams_) * desk_at(nullptr).stride;
  }

  void enqueue(const StageIo& io, StreamView view) const noexcept override {
    Frames f{.e = extents_, .t = tables_, .desk = desk_at(io.device_scratch)};
    f.carriers = io.in[0].row<const float2>();
    f.found_at = io.in[0].count;
    f.soft = tables_.soft_bits > 0 ? io.in[1].row<const float>() : nullptr;
    f.soft_found_at = io.in[1].count;
    f.sent = by_port_ ? io.in[2].row<const std::uint8_t>() : nullptr;
    f.sent_found_at = by_port_ ? io.in[2].count : nullptr;
    for (std::size_t o = 0; o < std::size(f.counts); ++o) f.counts[o] = io.out[o].count;
    f.y = io.out[0].row<float2>();
    f.h = io.out[1].row<float2>();
    f.noise = io.out[2].row<float>();
    f.phase = io.out[3].row<float>();
    f.level = io.out[4].row<float>();
    f.covariance = io.out[5].row<float2>();
    f.doppler = io.out[6].row<float>();
    f.interference = io.out[7].row<float>();
    const auto teams = static_cast<unsigned>(std::clamp<std::int64_t>(io.in[0].length, 1, teams_));
    follow_frames<<<teams * team_blocks_, kFrameThreads, panel_bytes_, gpu::stream_of(view)>>>(f);
  }

 private:
  /// Frames at once; each has memory of its own.
  static constexpr std::int64_t kMostTeams = 64;

  Desk desk_at(std::byte* memory) const noexcept {
    const Extents& e = extents_;
    const Tables& t = tables_;
    const std::int64_t pairs = e.pairs(), behind = e.behind(), functions = t.moves ? t.functions : 1;
    const std::int64_t stretches = stretches_of(t.odd_carriers), groups = e.groups();
    const std::int64_t order = t.moves ? order_ : 0, pitch = padded(static_cast<int>(order_) + e.rx);
    const std::int64_t delays = t.moves ? t.delays : 0, delay_pitch = padded(static_cast<int>(2 * delays + pairs));
    Scratch s(memory);
    Desk desk{};
    desk.white = s.take<float2>(std::int64_t{e.all_symbols()} * e.row());
    desk.weights = s.take<float>(e.carriers);
    desk.power = s.take<double>(stretches * e.rx);
    desk.strength = s.take<double>(stretches);
    desk.traces = s.take<double>(groups);
    desk.counts = s.take<double>(groups);
    desk.covariance = s.take<Covariance>(groups);
    desk.filter = s.take<Covariance>(groups);
    desk.trained = s.take<double2>(std::int64_t{e.trainings()} * e.rx * t.pitch);
    desk.piloted = s.take<float2>(behind * pairs * t.pitch);
    desk.band = s.take<double2>(t.delays);
    desk.lags = s.take<float2>(lag_count_);
    desk.lag_work = s.take<float2>(behind * e.tx * (e.tx + 1) / 2 * t.delays);
    desk.powers = s.take<float>(t.delays);
    desk.delay_factors = s.take<double2>(delays * delay_pitch);
    desk.delay_g = s.take<double2>((pairs + 1) * delays);
    desk.delay = s.take<std::int32_t>(std::int64_t{t.functions} * t.delays);
    desk.keepers = s.take<std::int32_t>(t.delays);
    desk.equations = s.take<float2>(order * pitch);
    desk.factors = s.take<float2>(order * pitch);
    desk.g = s.take<float2>(e.rx * pitch);
    desk.variance = s.take<float>(order);
    desk.rough = s.take<float2>(t.moves ? 0 : std::max(e.carriers, kTaps) * pairs);
    desk.parts = s.take<float2>(e.carriers * functions * pairs);
    desk.pilot_parts = s.take<float2>(e.pilots * functions * pairs);
    desk.phases = s.take<float>(behind);
    desk.back = s.take<float2>(behind);
    const bool soft = t.soft_bits > 0;
    desk.sent = s.take<float2>(soft ? e.carriers * behind * e.tx : 0);
    desk.doubt = s.take<float>(soft ? e.carriers * behind : 0);
    desk.soft_lags = s.take<float2>(soft ? behind * e.tx * e.tx * t.pitch : 0);
    desk.stride =
        (reinterpret_cast<std::size_t>(s.take<float2>(0)) - reinterpret_cast<std::size_t>(memory) + 255) / 256 * 256;
    return desk;
  }

  Extents extents_;
  bool by_port_;
  std::int64_t teams_;
  unsigned team_blocks_ = 1;
  std::int64_t order_ = 0;
  std::int64_t lag_count_ = 0;
  std::size_t panel_bytes_ = 0;
  Tables tables_{};
  gpu::DeviceArray<float> phi_, weights_, training_, pilot_signs_, taps_, combs_;
  gpu::DeviceArray<float2> turn_, pilot_turn_, cover_, uncover_, lags_, tail_lags_, known_, ramp_, pilot_weights_;
  gpu::DeviceArray<double2> band_;
  gpu::DeviceArray<std::int32_t> odd_, pilot_, place_, first_;
};

std::unique_ptr<StageRun> make_run(const Design& design, std::int64_t most) {
  if (design.measures_noise_alone()) return std::make_unique<Run>(design, most);
  return std::make_unique<FollowingRun>(design, most);
}

}  // namespace

IQD_CUDA_HALF(make_run)

}  // namespace iqd::mimo_channel_estimator
