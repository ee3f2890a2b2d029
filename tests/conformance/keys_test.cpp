// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// CUDA against the CPU with keys that select other code than the sample's keys do.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "pipeline/stage/stage.hpp"
#include "tests/conformance/one_stage.hpp"
#include "tests/conformance/stage_input.hpp"

namespace iqd::conformance {
namespace {

struct Keys {
  std::string_view stage;
  std::string keys;
};

std::string taps_like(int n, bool complex) {
  std::string all;
  for (int k = 0; k < n; ++k)
    all += fmt::format("[{}, {}], ", std::sin(k + 1.0) / std::sqrt(n), complex ? std::cos(3.0 * k) / std::sqrt(n) : 0);
  return "taps: [" + all + "]";
}

/// Sums and transforms of each size, in one piece and in several; filters that change the rate.
void add_filters(std::vector<Keys>& all) {
  for (const auto& [taps, more] : {std::pair{1, "method: fft"},
                                   {45, "method: fft, decimation: 3"},
                                   {300, "method: fft"},
                                   {300, "method: direct"},
                                   {1205, "decimation: 1"},
                                   {1205, "decimation: 4"},
                                   {1205, "method: fft, decimation: 5000"},
                                   {4819, "decimation: 1"},
                                   {9000, "method: fft"},
                                   {9000, "method: fft, decimation: 7"},
                                   {100, "interpolation: 3"},
                                   {64, "interpolation: 3, decimation: 2"},
                                   {7, "interpolation: 160, decimation: 147"}})
    for (const bool complex : {false, true})
      all.push_back({"fir", fmt::format("{{{}, {}}}", taps_like(taps, complex), more)});
  for (const char* keys : {"{ratio: 147/160}", "{ratio: 1/30}", "{ratio: 0.7071067811865475}", "{ratio: 3.14159265}",
                           "{ratio: 2/2}", "{ratio: 7, bandwidth: 0.95, attenuation: 100}"})
    all.push_back({"resampler", keys});
  for (const char* keys : {"{channels: 2}", "{channels: 4, oversample: 4}", "{channels: 64, oversample: 2}",
                           "{channels: 100}", "{channels: 10, oversample: 5, select: [9, 0, 9]}",
                           "{channels: 256, select: [255, 3]}", "{channels: 1024, oversample: 2, taps_per_channel: 5}",
                           "{channels: 17, taps_per_channel: 3}", "{channels: 32, taps: [1, 2, 3, 4, 5]}"})
    all.push_back({"channelizer", keys});
}

std::vector<Keys> all_keys() {
  std::vector<Keys> all;
  add_filters(all);
  for (const int size : {1, 2, 3, 4, 8, 16, 31, 32, 64, 100, 128, 256, 360, 512, 2048, 4096, 97})
    for (const char* more : {"", ", window: hann", ", shift: true", ", inverse: true, shift: true, window: kaiser"})
      if (size > 2 || std::string_view(more).find("window") == std::string_view::npos)
        all.push_back({"fft", fmt::format("{{size: {}{}}}", size, more)});
  for (const int size : {3, 16, 31, 64, 100, 128, 512, 2048, 4096})
    for (const char* more : {"", ", average: 1", ", window: rectangular"})
      all.push_back({"spectrum", fmt::format("{{size: {}{}}}", size, more)});
  for (const char* keys : {"{threshold: -60, max: 1}", "{threshold: -60, max: 3000}", "{threshold: 1}",
                           "{threshold: 0, max: 300}", "{threshold: 1e30}"})
    all.push_back({"peak_finder", keys});
  for (const char* waveform : {"complex", "cosine", "sine", "square", "constant"})
    all.push_back({"signal_source", fmt::format("{{waveform: {}, frequency: -321.5 kHz, amplitude: 3}}", waveform)});
  for (const char* waveform : {"cosine", "sine", "square", "constant"})
    all.push_back({"signal_source", fmt::format("{{waveform: {}, frequency: 0.1, dtype: f32}}", waveform)});
  all.push_back({"select_channels", "{channels: [0, 0, 0]}"});
  for (const char* keys : {"{}", "{gain: [-3], phase: [140], delay: [3]}", "{delay: [-17]}", "{delay: [-40.2]}",
                           "{gain: [1], delay: [0.001]}", "{delay: [9000.5]}"})
    all.push_back({"align_channels", keys});
  for (const char* keys : {"{length: 1}", "{length: 2}", "{length: 1000}"}) all.push_back({"dc_block", keys});
  for (const char* keys : {"{window: 1}", "{window: 31, ahead: 30}", "{window: 3000, ahead: 1000, max_gain: 3}"})
    all.push_back({"agc", keys});
  for (const char* keys :
       {"{threshold: 3, window: 1, hold: 0, ramp: 1}", "{threshold: 2, window: 40, hold: 3, ramp: 900}",
        "{threshold: 3.2, window: 100, hold: 700, ramp: 33}"})
    all.push_back({"squelch", keys});
  for (const char* keys : {"{samples_per_symbol: 3.3, window: 16}", "{samples_per_symbol: 17, window: 40}"})
    all.push_back({"symbol_sync", keys});
  for (const char* keys :
       {"{modulation: bpsk, window: 16}", "{modulation: 8psk, samples_per_symbol: 7.5, max_offset: 0.0625, window: 64}",
        "{modulation: 16qam, max_offset: 0}", "{max_offset: 0.125, window: 256}"})
    all.push_back({"carrier_sync", keys});
  // A pattern that is frequent in noise.
  for (const char* keys :
       {"{chip_rate: 100 kS/s, preamble: '', sync_word: b4, threshold: 0.6, bytes: 20}",
        "{chip_rate: 333 kS/s, preamble: '', sync_word: 0b11100010110, threshold: 0, length: fixed, bytes: 3, crc: "
        "none}",
        "{chip_rate: 70 kS/s, preamble: '', sync_word: 2d, threshold: 0.5, zero: '01', one: '10', length: fixed, "
        "bytes: 2, crc: crc8, order: lsb, tracking: 0.5}"})
    all.push_back({"framer", keys});
  for (const char* keys : {"{tau: 1 us}", "{tau: 3 ms}"}) all.push_back({"deemphasis", keys});
  // Keys that find many starts in noise: short packets with overlapping windows.
  for (const char* keys :
       {"{payload_bits: 2, threshold: 0.04}", "{payload_bits: 512, threshold: 0.05, chain: carry}",
        "{payload_bits: 2, threshold: 0.03, flywheel: on}",
        "{preamble: CD9, repeats: 4, sync_word: '0347B2', payload_bits: 10, threshold: 0.08, template: grid45}",
        "{preamble: C, repeats: 10, sync_word: '0347', payload_bits: 2, threshold: 0, chain: carry, flywheel: on}",
        "{repeats: 64, payload_bits: 100, samples_per_bit: 4, threshold: 0.02}"})
    all.push_back({"preamble_search", keys});
  for (const char* keys : {"{payload_bits: 16, gap: 1}", "{payload_bits: 2, payload: pn9, samples_per_bit: 8}",
                           "{gap: 500, payload_bits: 50, differential: true, samples_per_bit: 4}"})
    all.push_back({"soqpsk_modulator", keys});
  for (const char* keys :
       {"{fft: 64, carriers: 42, prefix: 7, frame: 1003, tx: 3, pilot_every: 10, modulation: 256qam, payload: pn9}",
        "{fft: 256, carriers: 180, prefix: 20, frame: 1930, modulation: 64qam, code: 80216e_2304_1_2}",
        "{fft: 1024, carriers: 600, prefix: 72, frame: 15360, tx: 1, modulation: 16qam, code: 80216e_2304_1_2}",
        "{fft: 128, carriers: 90, prefix: 9, frame: 2000, modulation: 16qam, nr: {k: 500, e: 1100}, crc: 24a}",
        "{fft: 128, carriers: 90, prefix: 9, frame: 2000, nr: {k: 40, e: 700, rv: 3, bit_interleaver: 2}}",
        "{fft: 64, carriers: 42, prefix: 7, frame: 1003, tx: 1, modulation: 64qam, code: nr_bg2_z12}",
        "{fft: 128, carriers: 90, prefix: 9, frame: 2000, modulation: 16qam, midambles: 4}",
        "{fft: 2048, carriers: 1200, prefix: 144, frame: 30720, tx: 4}"})
    all.push_back({"ofdm_modulator", keys});
  for (const char* keys : {"{nr: {k: 500, e: 1100}, crc: 24a}", "{nr: {k: 40, e: 2000, rv: 3, bit_interleaver: 2}}",
                           "{code: nr_bg2_z20, early_stop: false}", "{crc: 16, iterations: 40}",
                           "{code: irig_1024_4_5, asm: irig, randomize: ccsds}"})
    all.push_back({"ldpc_decoder", keys});
  for (const char* keys : {"{nr: {k: 600, e: 1300}, crc: 24b}", "{nr: {k: 128, e: 3000, bit_interleaver: 4}}",
                           "{asm: 0xFAF320, randomize: ccsds}"})
    all.push_back({"ldpc_encoder", keys});
  // Keys that find many candidates in noise.
  for (const char* keys :
       {"{fft: 64, carriers: 42, prefix: 7, frame: 700, tx: 1, threshold: 0}",
        "{fft: 64, carriers: 62, prefix: 30, frame: 1100, tx: 8, threshold: 0.1}",
        "{fft: 128, carriers: 100, prefix: 20, frame: 1003, tx: 3, threshold: 0, max_offset: 100 kHz}",
        "{fft: 256, carriers: 180, prefix: 20, frame: 1930, threshold: 0}",
        "{fft: 64, carriers: 42, prefix: 7, frame: 4000, tx: 1, threshold: 0, reject_tones: true}",
        "{fft: 128, carriers: 100, prefix: 20, frame: 1003, tx: 3, threshold: 0, reject_tones: true}",
        "{fft: 1024, carriers: 600, prefix: 72, frame: 15360, tx: 2, threshold: 0, reject_tones: true}",
        "{fft: 1024, carriers: 600, prefix: 72, frame: 15360, tx: 2, threshold: 0}"})
    all.push_back({"ofdm_sync", keys});
  for (const int size : {64, 128, 256, 1024, 2048})
    all.push_back({"ofdm_demod", fmt::format("{{fft: {}, carriers: {}, prefix: 9, tx: 1}}", size, size / 2 - 6)});
  for (const char* keys : {"{tx: 1}", "{tx: 8, pilot_every: 7}", "{tx: 4, delay_spread: 10, snr: 20}",
                           "{track_phase: false}", "{tx: 3, midambles: 3}"})
    all.push_back({"mimo_channel_estimator", keys});
  for (const char* keys : {"{timing: false}", "{drift: false}", "{users: 32, training: 20, pilots: 2801, data: 100}",
                           "{users: 1, training: 1, pilots: 3, data: 1}"})
    all.push_back({"noma_slots", keys});
  for (const char* keys : {"users: 2, training: 2, pilots: 40, data: 60, step: 3",
                           "users: 2, training: 2, pilots: 48, data: 60, em: 0, rounds: 1",
                           "users: 2, training: 1, pilots: 20, data: 60, early: 3"})
    all.push_back(
        {"noma_channel_estimator", fmt::format("{{fft: 64, carriers: 24, prefix: 9, frame: 512, {}}}", keys)});
  for (const char* keys : {"{average: carry, memory: 5}", "{average: packet}", "{clock: packet}", "{clock: block}"})
    all.push_back({"packet_estimator", keys});
  for (const char* keys : {"{kinds: [cma, zf, fde2]}", "{kinds: [fde1]}"}) all.push_back({"equalizer", keys});
  for (const char* keys : {"{differential: true, llr: i8}", "{loop_order: 1}"})
    all.push_back({"soqpsk_detector", keys});
  for (const char* keys :
       {"{code: \"__device__ float2 f(float2 a, float2 b) { return make_float2(a.x * b.x, a.y + b.y); }\", in: [cf32, "
        "cf32]}",
        "{code: \"__device__ float f(short x, int n) { return n * x; }\", in: [i16], out: f32, params: {n: -3}}",
        "{code: \"__device__ uint8_t f(float2 x) { return x.x > x.y; }\", out: u8}",
        "{code: \"__device__ float2 f(const float2* x, float2 w) { return make_float2(x[-2048].x + w.x, x[0].y); }\", "
        "past: 2048, params: {w: [0.5, 1]}}",
        "{code: \"__device__ float f(const float* a, const float* b) { return a[-7] + 2 * a[5] - b[0]; }\", in: [f32, "
        "f32], out: f32, past: 7, future: 5}"})
    all.push_back({"kernel", keys});
  return all;
}

std::vector<StageOutput> outputs(const StageEntry& entry, const std::string& keys, int channels, std::int64_t length,
                                 Signal signal, std::int64_t block, const std::string& backend) {
  Problems problems;
  const Element element = entry.inputs.front().elements.front();
  StageRunner runner(entry, keys, inputs_for(entry, element, channels, length, signal), block, backend, problems);
  for (const Problem& p : problems) ADD_FAILURE() << p.text();
  return problems.empty() ? runner.run() : std::vector<StageOutput>();
}

TEST(Cuda, AgreesWithTheCpuWithOtherKeys) {
  if (const std::string why = no_cuda(); !why.empty()) GTEST_SKIP() << "NO KEYS WERE TESTED ON CUDA: " << why;
  for (const Keys& k : all_keys()) {
    Problems none;
    const StageEntry entry = configured(*find_stage(k.stage), k.keys, none);
    const bool items = entry.inputs.front().items();
    const std::int64_t length = items ? 13 : 40009;
    for (const int channels : {1, items || entry.inputs.front().one_channel ? 1 : 2})
      for (const Signal signal : {Signal::noise, Signal::huge})
        for (const std::int64_t block : {items ? 4 : 10007, 0}) {
          const auto cpu = outputs(entry, k.keys, channels, length, signal, block, "cpu");
          const auto cuda = outputs(entry, k.keys, channels, length, signal, block, "cuda");
          ASSERT_EQ(cpu.size(), cuda.size());
          // The worst of so many transforms is worse than that of the sample's few.
          for (std::size_t o = 0; o < cpu.size(); ++o)
            EXPECT_LE(distance(cpu[o], cuda[o]), 2 * entry.tolerance)
                << k.stage << " " << k.keys << " in blocks of " << block << ", " << channels << " channel(s), signal "
                << static_cast<int>(signal);
        }
  }
}

}  // namespace
}  // namespace iqd::conformance
