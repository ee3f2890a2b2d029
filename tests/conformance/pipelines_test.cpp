// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Whole pipelines, from a source with losses to the published results: CUDA against the CPU, for every transfer method
// and number of lanes, over many turns of the ring.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "base/error.hpp"
#include "pipeline/backend/find_backend.hpp"
#include "tests/conformance/stage_input.hpp"
#include "tests/conformance/tape.hpp"

namespace iqd::conformance {
namespace {

/// Stages with `backend: OTHER` run on a different backend than the rest. FRAME and BINS are transform lengths that fit
/// into a block; FRAME also fits into a block of a quarter of the samples.
struct Chain {
  std::string name;
  std::string stages;
  std::vector<std::string> publish;
  double tolerance = 1e-5;  // a single stage has 1e-6 for one block
  Element element = Element::cf32;
  int channels = 1;
  std::string backend = "cuda";
  std::string other = "cuda";
  bool decibels = false;  // the first port is in dB: it is compared as magnitudes
};

void PrintTo(const Chain& c, std::ostream* out) {
  *out << c.name;
}

const std::vector<Chain>& chains() {
  static const std::vector<Chain> all{
      {"fir_rotate_fft",
       "[fir: {design: {type: low_pass, cutoff: 1e5, ntaps: 33}, decimation: 4}, rotate: {frequency: 12345.6}, "
       "fft: {size: FRAME}]",
       {"fft.out"}},
      {"convert_rotate",
       "[convert: {dtype: cf32}, rotate: {frequency: -2e5}]",
       {"convert.out", "rotate.out"},
       1e-5,
       Element::sc16,
       2},
      {"sc16_into_fir", "[fir: {taps: [1, [0, -2], 1]}]", {"fir.out", "source"}, 1e-5, Element::sc16},
      {"spectrum_peak_finder",
       "[spectrum: {size: BINS}, peak_finder: {threshold: -12, max: 4}]",
       {"spectrum.out", "peak_finder.out"},
       1e-5,
       Element::cf32,
       1,
       "cuda",
       "cuda",
       true},
      {"spectrum_peak_finder_of_two",
       "[spectrum: {size: BINS}, peak_finder: {threshold: -12, max: 4}]",
       {"spectrum.out", "peak_finder.out"},
       1e-5,
       Element::cf32,
       2,
       "cuda",
       "cuda",
       true},
      {"elementwise", "[conjugate: , multiply_const: {value: [0.3, -0.7]}, complex_to_mag: ]", {"complex_to_mag.out"}},
      {"branches",
       "[fir: {taps: [1, 2, 1]}, rotate: {frequency: 1e4, from: source}, fft: {size: FRAME, from: fir.out}, "
       "multiply_const: {value: 0.5, from: rotate.out}]",
       {"fft.out", "rotate.out", "multiply_const.out", "fir.out"},
       1e-5,
       Element::cf32,
       2},
      {"long_fir",
       "[fir: {design: {type: low_pass, cutoff: 5e4, ntaps: 301}, method: fft}]",
       {"fir.out"},
       1e-5,
       Element::cf32,
       2},
      {"cpu_between",
       "[fir: {taps: [1, 2, 1], decimation: 2}, rotate: {frequency: 1e4, backend: OTHER}, fft: {size: FRAME}]",
       {"rotate.out", "fft.out"},
       1e-5,
       Element::cf32,
       1,
       "cuda",
       "cpu"},
      {"cuda_between",
       "[conjugate: , fir: {taps: [0.5, 0.25, 0.125], backend: OTHER}, multiply_const: {value: [0, 2]}]",
       {"fir.out", "multiply_const.out"},
       1e-5,
       Element::cf32,
       2,
       "cpu",
       "cuda"},
      {"one_of_two",
       "[select_channels: {channels: [1]}, fir: {taps: [1, 2, 1]}, conjugate: {from: select_channels.out}, "
       "select_channels: {name: swapped, channels: [1, 0], from: source}]",
       {"fir.out", "conjugate.out", "swapped.out"},
       1e-5,
       Element::cf32,
       2},
      {"aligned",
       "[align_channels: {gain: [0, 1.5], phase: [0, -70], delay: [2, -3.3]}, rotate: {frequency: 1e4}]",
       {"align_channels.out", "rotate.out"},
       1e-5,
       Element::sc16,
       2},
      {"source", "[]", {"source"}, 0, Element::sc16, 2},
  };
  return all;
}

struct Size {
  std::int64_t block, frame, bins, samples;
};
void PrintTo(const Size& s, std::ostream* out) {
  *out << "blocks of " << s.block;
}

constexpr Size kSizes[] = {
    {64, 8, 64, 64'000}, {1000, 32, 256, 200'000}, {8192, 256, 1024, 900'000}, {65536, 1024, 4096, 4'000'000}};

/// How blocks are processed and copied; results must not depend on it.
struct Options {
  int lanes;
  std::string wait, transfer;
  std::size_t keep = 0;
  std::string share{};
};

void replace(std::string& text, std::string_view word, const std::string& by) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word)) text.replace(at, word.size(), by);
}

/// Losses from one sample to more than a ring, close together and far apart; the last block is short.
Tape tape_for(const Chain& chain, const Size& size) {
  const std::int64_t n = size.samples;
  return {chain.element,
          chain.channels,
          n + 777,
          {{n / 9, 1}, {n / 5, 37}, {n / 2, 3 * size.block + 5}, {n / 2 + 3, 1}, {n * 3 / 4, 20 * size.block}}};
}

Play play_of(const Chain& chain, const Size& size, const std::string& backend, const std::string& other,
             const Options& o) {
  std::string stages = chain.stages;
  replace(stages, "OTHER", other);
  replace(stages, "FRAME", fmt::format("{}", size.frame));
  replace(stages, "BINS", fmt::format("{}", size.bins));
  return {
      tape_for(chain, size), stages, chain.publish, size.block, o.lanes, backend, o.wait, o.transfer, o.share, o.keep};
}

Played on_cpu(const Chain& chain, const Size& size, const Options& options = {2, "block", "auto"}) {
  return play(play_of(chain, size, "cpu", "cpu", options));
}
Played on_cuda(const Chain& chain, const Size& size, const Options& options) {
  return play(play_of(chain, size, chain.backend, chain.other, options));
}

/// Every received sample is published, every port has published, and nothing failed.
void expect_well(const Played& played, const Tape& tape) {
  EXPECT_EQ(played.failure, "");
  EXPECT_EQ(played.status.received, static_cast<std::uint64_t>(tape.samples));
  EXPECT_EQ(played.status.published, played.status.received);
  EXPECT_EQ(played.status.in_flight, 0u);
  for (const Played::Port& port : played.ports) EXPECT_FALSE(port.sent.empty());
}

auto header(const testing::Sent& m) {
  return std::tie(m.seq, m.sample, m.extent, m.gap, m.dropped, m.halo);
}

bool same_headers(const Played::Port& a, const Played::Port& b) {
  if (a.sent.size() != b.sent.size()) {
    ADD_FAILURE() << b.sent.size() << " messages instead of " << a.sent.size();
    return false;
  }
  for (std::size_t i = 0; i < a.sent.size(); ++i) {
    const bool same = header(a.sent[i]) == header(b.sent[i]) && a.sent[i].payload.size() == b.sent[i].payload.size();
    EXPECT_TRUE(same) << "message " << i << ": sample " << b.sent[i].sample << " instead of " << a.sent[i].sample
                      << ", extent " << b.sent[i].extent << " instead of " << a.sent[i].extent << ", gap "
                      << b.sent[i].gap << " instead of " << a.sent[i].gap;
    if (!same) return false;
  }
  return true;
}

std::vector<double> port_values(const Played::Port& port, bool decibels) {
  std::vector<double> all;
  for (const testing::Sent& m : port.sent) {
    const std::vector<double> some = numbers_in(port.element, m.payload);
    all.insert(all.end(), some.begin(), some.end());
  }
  for (double& x : all) x = decibels ? std::pow(10, x / 20) : x;
  return all;
}

void expect_near(const Played& expected, const Played& got, const Chain& chain) {
  ASSERT_EQ(expected.ports.size(), got.ports.size());
  for (std::size_t p = 0; p < expected.ports.size(); ++p) {
    SCOPED_TRACE(chain.publish[p]);
    EXPECT_EQ(expected.ports[p].element, got.ports[p].element);
    if (!same_headers(expected.ports[p], got.ports[p])) continue;
    const bool decibels = chain.decibels && p == 0;
    EXPECT_LE(distance(port_values(expected.ports[p], decibels), port_values(got.ports[p], decibels)), chain.tolerance);
  }
}

void expect_same(const Played& a, const Played& b) {
  ASSERT_EQ(a.ports.size(), b.ports.size());
  for (std::size_t p = 0; p < a.ports.size(); ++p) {
    if (!same_headers(a.ports[p], b.ports[p])) continue;
    for (std::size_t i = 0; i < a.ports[p].sent.size(); ++i)
      ASSERT_EQ(a.ports[p].sent[i].payload, b.ports[p].sent[i].payload) << "port " << p << ", message " << i;
  }
}

std::string trace(const Options& o) {
  return fmt::format("{} lane(s), wait: {}, transfer: {}, {} message(s) held", o.lanes, o.wait, o.transfer, o.keep);
}

/// Why this backend is missing here; empty if it exists.
std::string missing(const std::string& backend) {
  try {
    choose_backend(backend);
    return {};
  } catch (const SetupError& e) {
    return e.what();
  }
}
/// Why no part of a device can be had here; empty if one can.
std::string missing_part() {
  try {
    choose_backend("cuda").backend->take_part({"a", {{"a", {.processors = 16}}}});
    return {};
  } catch (const SetupError& e) {
    return e.what();
  }
}

using PipelineCase = std::tuple<Chain, Size>;
std::string pipeline_case_name(const ::testing::TestParamInfo<PipelineCase>& info) {
  return fmt::format("{}_{}", std::get<Chain>(info.param).name, std::get<Size>(info.param).block);
}

class Pipelines : public ::testing::TestWithParam<PipelineCase> {
 protected:
  const Chain& chain() const { return std::get<0>(GetParam()); }
  const Size& size() const { return std::get<1>(GetParam()); }
};
class CudaPipelines : public Pipelines {};

/// The device tests rely on this.
TEST_P(Pipelines, LanesAndSlowReadersChangeNothing) {
  const Tape tape = tape_for(chain(), size());
  const Played expected = on_cpu(chain(), size(), {1, "block", "auto"});
  expect_well(expected, tape);
  for (const Options& o : {Options{4, "block", "auto", 3}, Options{8, "spin", "copy", 0}}) {
    SCOPED_TRACE(trace(o));
    const Played got = on_cpu(chain(), size(), o);
    expect_well(got, tape);
    expect_same(expected, got);
  }
}

TEST_P(CudaPipelines, AgreeWithTheCpu) {
  if (const std::string why = missing("cuda"); !why.empty()) GTEST_SKIP() << "NO PIPELINE WAS TESTED ON CUDA: " << why;
  const Played expected = on_cpu(chain(), size());
  for (const Options& o : {Options{1, "spin", "mapped", 0}, Options{4, "block", "copy", 3},
                           Options{8, "spin", "auto", 0}, Options{4, "resident", "auto", 3}}) {
    SCOPED_TRACE(trace(o));
    const Played got = on_cuda(chain(), size(), o);
    expect_well(got, tape_for(chain(), size()));
    EXPECT_EQ(got.status.backend, "cuda:0");
    expect_near(expected, got, chain());
  }
}

TEST_P(CudaPipelines, GiveTheSameBitsTwice) {
  if (const std::string why = missing("cuda"); !why.empty()) GTEST_SKIP() << "NO PIPELINE WAS TESTED ON CUDA: " << why;
  const Options o{4, "spin", "auto", 0};
  expect_same(on_cuda(chain(), size(), o), on_cuda(chain(), size(), o));
}

/// A part computes what the whole device does.
TEST_P(CudaPipelines, GiveTheSameBitsInAPart) {
  if (const std::string why = missing_part(); !why.empty()) GTEST_SKIP() << "NO PIPELINE WAS TESTED IN A PART: " << why;
  const Played whole = on_cuda(chain(), size(), {4, "spin", "auto"});
  const Played part = on_cuda(chain(), size(), {4, "spin", "auto", 0, "16 SM"});
  expect_well(part, tape_for(chain(), size()));
  EXPECT_EQ(whole.status.gpu_share, 0);
  EXPECT_GE(part.status.gpu_share, 16);
  expect_same(whole, part);
}

/// A graph computes the same, no matter what launches it.
TEST_P(CudaPipelines, GiveTheSameBitsIfTheDeviceLaunches) {
  if (const std::string why = missing("cuda"); !why.empty()) GTEST_SKIP() << "NO PIPELINE WAS TESTED ON CUDA: " << why;
  const Played spin = on_cuda(chain(), size(), {4, "spin", "auto"});
  for (const int lanes : {1, 4}) {
    const Played resident = on_cuda(chain(), size(), {lanes, "resident", "auto"});
    expect_well(resident, tape_for(chain(), size()));
    expect_same(spin, resident);
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, Pipelines,
                         ::testing::Combine(::testing::ValuesIn(chains()), ::testing::ValuesIn(kSizes, kSizes + 3)),
                         pipeline_case_name);
INSTANTIATE_TEST_SUITE_P(All, CudaPipelines,
                         ::testing::Combine(::testing::ValuesIn(chains()), ::testing::ValuesIn(kSizes)),
                         pipeline_case_name);

std::string block_name(const ::testing::TestParamInfo<Size>& info) {
  return fmt::format("{}", info.param.block);
}

/// Every combination of options.
class CudaOptions : public ::testing::TestWithParam<Size> {};

TEST_P(CudaOptions, ChangeNothing) {
  if (const std::string why = missing("cuda"); !why.empty()) GTEST_SKIP() << "NO PIPELINE WAS TESTED ON CUDA: " << why;
  for (const std::size_t c : {0, 6}) {
    const Chain& chain = chains()[c];
    const Played expected = on_cpu(chain, GetParam());
    for (const int lanes : {1, 4, 8})
      for (const char* wait : {"spin", "block", "resident"})
        for (const char* transfer : {"auto", "mapped", "copy"}) {
          const Options o{lanes, wait, transfer};
          SCOPED_TRACE(chain.name + ": " + trace(o));
          const Played got = on_cuda(chain, GetParam(), o);
          expect_well(got, tape_for(chain, GetParam()));
          expect_near(expected, got, chain);
        }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaOptions, ::testing::ValuesIn(kSizes), block_name);

TEST(CudaDevices, ShareTheBlocks) {
  if (const std::string why = missing("cuda:1"); !why.empty())
    GTEST_SKIP() << "NO PIPELINE WAS TESTED ON TWO DEVICES: " << why;
  for (Chain chain : chains()) {
    if (chain.backend == "cpu") continue;  // its stages would have to name both
    for (const Size& size : kSizes) {
      SCOPED_TRACE(fmt::format("{}, blocks of {}", chain.name, size.block));
      const Played expected = on_cpu(chain, size);
      chain.backend = "[cuda:0, cuda:1]";
      const Played got = on_cuda(chain, size, {4, "block", "auto", 3});
      expect_well(got, tape_for(chain, size));
      EXPECT_EQ(got.status.backend, "cuda:0, cuda:1");
      expect_near(expected, got, chain);
    }
  }
}

/// Stages of one pipeline on different devices, and spread over several, compute what one device does.
TEST(CudaDevices, EachStageOnItsOwn) {
  if (const std::string why = missing("cuda:1"); !why.empty())
    GTEST_SKIP() << "NO PIPELINE WAS TESTED ON TWO DEVICES: " << why;
  const std::vector<Chain> apart{
      {"two_halves",
       "[fir: {design: {type: low_pass, cutoff: 1e5, ntaps: 301}, decimation: 4}, "
       "fft: {size: FRAME, backend: OTHER}]",
       {"fir.out", "fft.out"}},
      {"there_and_back",
       "[convert: {dtype: cf32}, fir: {taps: [1, 2, 1], backend: OTHER}, rotate: {frequency: -2e5}]",
       {"fir.out", "rotate.out", "source"},
       1e-5,
       Element::sc16,
       2},
      {"three_sides",
       "[conjugate: {backend: OTHER}, rotate: {frequency: 1e4, backend: cpu}, fir: {taps: [0.5, 0.25, 0.125]}]",
       {"conjugate.out", "fir.out"},
       1e-5,
       Element::cf32,
       2},
      {"counted",
       "[spectrum: {size: BINS, backend: OTHER}, peak_finder: {threshold: -12, max: 4}]",
       {"spectrum.out", "peak_finder.out"},
       1e-5,
       Element::cf32,
       2,
       "cuda",
       "cuda",
       true},
      {"branches",
       "[fir: {taps: [1, 2, 1]}, rotate: {frequency: 1e4, from: source, backend: OTHER}, "
       "fft: {size: FRAME, from: fir.out, backend: OTHER}, multiply_const: {value: 0.5, from: rotate.out}]",
       {"fft.out", "rotate.out", "multiply_const.out", "fir.out"},
       1e-5,
       Element::cf32,
       2},
  };
  for (Chain chain : apart)
    for (const Size& size : kSizes) {
      chain.backend = chain.other = "cuda:0";
      const Played one = on_cuda(chain, size, {4, "spin", "copy", 3});
      expect_near(on_cpu(chain, size), one, chain);
      for (const char* other : {"cuda:1", "[cuda:1, cuda:0]"})
        for (const Options& o : {Options{4, "spin", "copy", 3}, Options{3, "block", "auto"}}) {
          SCOPED_TRACE(fmt::format("{} on {}, blocks of {}, {}", chain.name, other, size.block, trace(o)));
          chain.other = other;
          const Played got = on_cuda(chain, size, o);
          expect_well(got, tape_for(chain, size));
          EXPECT_EQ(got.status.backend, "cuda:0, cuda:1");
          expect_same(one, got);
        }
    }
}

}  // namespace
}  // namespace iqd::conformance
