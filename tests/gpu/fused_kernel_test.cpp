// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// Kernels made of real stages. Compiling them needs no device; on a device they run and must give the same bits as on
// the CPU.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/error.hpp"
#include "config/reader.hpp"
#include "gpu/compiler.hpp"
#include "gpu/owned.hpp"
#include "pipeline/plan/fusion/device_headers.hpp"
#include "pipeline/plan/fusion/element_program.hpp"

namespace iqd {

const void* cuda_half_of(std::string_view stage);

namespace fusion {
namespace {

struct Line {
  std::string stage;
  std::string keys = "{}";
};

/// Adds stages to a program, each after the previous one; a second input is the program's first.
class Builder {
 public:
  explicit Builder(Element in) {
    program.values = {in};
    program.inputs = 1;
  }
  Builder& add(const Line& line) {
    const StageEntry* entry = find_stage(line.stage);
    EXPECT_NE(entry, nullptr) << line.stage;
    Problems problems;
    const Document document = parse_document(line.keys, line.stage, problems);
    std::unique_ptr<Stage> stage = entry->make();
    const Section section = read_fields(
        document.root, [&](FieldVisitor& v) { stage->fields(v); }, problems);
    ElementProgram::Call call;
    std::vector<PortShape> in, out;
    for (std::size_t i = 0; i < entry->inputs.size(); ++i) {
      call.in.push_back(i == 0 ? last_ : 0);
      in.emplace_back().element = program.values[call.in.back()];
      in.back().rate_hz = 1e6;
    }
    out.assign(entry->outputs.size(), in.front());
    std::vector<Footprint> footprint(in.size());
    ShapeContext context{.in = in, .out = out, .footprint = footprint, .section = section};
    stage->shape(context);
    EXPECT_TRUE(problems.empty()) << problems.front().text();
    for (const PortShape& o : out) {
      call.out.push_back(program.values.size());
      program.values.push_back(o.element);
    }
    last_ = call.out.front();
    call.code = stage->elements();
    program.calls.push_back(std::move(call));
    return *this;
  }
  /// Only the last stage's outputs leave the kernel.
  ElementProgram done() {
    program.outputs = program.calls.back().out;
    return program;
  }
  ElementProgram program;

 private:
  std::size_t last_ = 0;
};

ElementProgram chain(Element in, const std::vector<Line>& lines) {
  Builder builder(in);
  for (const Line& line : lines) builder.add(line);
  return builder.done();
}

std::vector<ElementProgram> programs() {
  using enum Element;
  std::vector<Line> sixteen;
  for (int i = 0; i < 8; ++i) sixteen.insert(sixteen.end(), {{"multiply_const", "{value: 0.9+0.3j}"}, {"conjugate"}});
  std::vector<ElementProgram> all{
      chain(sc16, {{"convert", "{dtype: cf32}"}, {"multiply_const", "{value: 0.5}"}, {"complex_to_mag_squared"}}),
      chain(cf32, {{"rotate", "{frequency: 12.5 kHz, phase: 0.3}"}, {"add"}, {"complex_to_mag"}}),
      chain(cf32, {{"complex_to_mag"}, {"log10", "{n: 20, k: 3}"}, {"convert", "{dtype: i8}"}}),
      chain(cf32, {{"signal_source", "{frequency: 1 kHz}"}, {"multiply_conjugate"}, {"complex_to_mag_phase"}}),
      chain(f32, {{"mag_phase_to_complex"}, {"conjugate"}, {"convert", "{dtype: sc16}"}}),
      chain(i16, {{"add_const", "{value: 7}"}, {"multiply"}, {"subtract"}}),
      chain(f32, {{"snr_helper"}, {"convert", "{dtype: i16}"}, {"convert", "{dtype: f32}"}}),
      chain(i8, {{"convert", "{dtype: f32}"}, {"multiply_const", "{value: 3}"}, {"convert", "{dtype: i8}"}}),
      chain(cf32, sixteen)};
  // An output from the middle of the chain, and a second input.
  Builder two(cf32);
  two.add({"multiply_const", "{value: 2j}"}).add({"complex_to_mag"});
  two.program.outputs = {1, 2};
  all.push_back(two.program);
  return all;
}

TEST(FusedKernel, TextOfEachCompiles) {
  try {
    gpu::compiler_version();
  } catch (const SetupError& e) {
    GTEST_SKIP() << "NO FUSED KERNEL WAS COMPILED: " << e.what();
  }
  const std::vector<std::string> options{"--fmad=false"};
  for (const ElementProgram& p : programs()) {
    const KernelText text = kernel_text(p);
    EXPECT_NO_THROW(gpu::compile(text.source, "iqd_fused.cu", options, "sm_90", device_headers())) << text.source;
  }
}

TEST(FusedKernel, AccessesAreAsWideAsTheWidestElementAllows) {
  using enum Element;
  EXPECT_EQ(kernel_text(chain(sc16, {{"convert", "{dtype: cf32}"}})).width, 2);
  EXPECT_EQ(kernel_text(chain(f32, {{"log10"}})).width, 4);
  EXPECT_EQ(kernel_text(chain(i8, {{"convert", "{dtype: i8}"}})).width, 16);
  for (const ElementProgram& p : programs()) {
    const KernelText text = kernel_text(p);
    EXPECT_GE(text.accesses, 1);
    EXPECT_LE(text.accesses * text.width, 16);
  }
}

/// Values that change while samples flow are not part of the kernel's text, so the kernel stays the same.
TEST(FusedKernel, ParametersAreNoText) {
  const auto with = [](const std::string& keys) {
    return kernel_text(chain(Element::cf32, {{"multiply_const", keys}, {"conjugate"}}));
  };
  const KernelText one = with("{value: 2}"), other = with("{value: 3+1j}");
  EXPECT_EQ(one.source, other.source);
  EXPECT_NE(one.parameters, other.parameters);
}

// --- on a device -----------------------------------------------------------------------------------------------------

/// Memory that host and device both see.
class Shared {
 public:
  explicit Shared(std::size_t bytes) {
    gpu::check(cudaMallocManaged(&data_, std::max<std::size_t>(bytes, 1)), "cudaMallocManaged");
    std::memset(data_, 0x5a, bytes);
  }
  ~Shared() { cudaFree(data_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

/// The layout of a port's rows: they start `shift` elements later, and each is `shift` elements longer.
struct Case {
  std::int64_t length, rows, shift;
  std::int32_t count;  // -1: a stream
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.rows << " rows of " << c.length << ", " << c.shift << " off";
  if (c.count >= 0) *out << ", " << c.count << " given";
}

class FusedRun : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    int devices = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&devices); error != cudaSuccess || devices == 0)
      GTEST_SKIP() << "NO FUSED KERNEL WAS RUN: " << cudaGetErrorString(error);
  }
};

class PortOf {
 public:
  PortOf(Element element, const Case& c)
      : size_(static_cast<std::int64_t>(size_of(element))),
        pitch_((c.length + c.shift) * size_),
        memory_(static_cast<std::size_t>(pitch_ * c.rows + 16 * size_)),
        facts_(16) {
    io.data = memory_.data() + c.shift * size_;
    io.first = kFirst;
    io.length = c.length;
    io.pitch = pitch_;
    io.rows = c.rows;
    io.first_at = reinterpret_cast<std::int64_t*>(facts_.data());
    io.count = reinterpret_cast<std::int32_t*>(facts_.data() + 8);
    *reinterpret_cast<std::int64_t*>(facts_.data()) = kFirst;
    *io.count = c.count;
  }
  std::vector<std::byte> bytes() const { return {memory_.data(), memory_.data() + pitch_ * io.rows + 16 * size_}; }
  /// Random bits, but no large numbers: these could give a NaN, whose bits are not defined.
  void fill(std::mt19937& random) {
    for (std::int64_t at = 0; at + 4 <= pitch_ * io.rows + 16 * size_; at += 4) {
      const auto word = static_cast<std::uint32_t>(random()) & 0xbfffffffu;
      std::memcpy(memory_.data() + at, &word, sizeof word);
    }
  }

  static constexpr std::int64_t kFirst = (std::int64_t{1} << 40) + 12345;
  PortIo io;

 private:
  std::int64_t size_, pitch_;
  Shared memory_, facts_;
};

/// A fused kernel computes the angles of `rotate` differently from the CPU. No input is larger than 2.
void expect_near(const std::vector<std::byte>& there, const std::vector<std::byte>& here) {
  ASSERT_EQ(there.size(), here.size());
  for (std::size_t at = 0; at < there.size(); at += sizeof(float)) {
    float one = 0, other = 0;
    std::memcpy(&one, &there[at], sizeof one);
    std::memcpy(&other, &here[at], sizeof other);
    if (one == other) continue;
    ASSERT_NEAR(one, other, 4e-6) << at;
  }
}

TEST_P(FusedRun, GivesTheBitsOfTheProcessor) {
  const auto* half = static_cast<const CudaHalf*>(cuda_half_of("fused"));
  ASSERT_EQ(half->why_not(), "");
  const gpu::Stream stream = gpu::make_stream(0);
  std::mt19937 random(1);
  for (ElementProgram p : programs()) {
    p.varies = GetParam().count >= 0;
    PortOf in(p.values[0], GetParam());
    in.fill(random);
    std::vector<std::unique_ptr<PortOf>> there, here;
    std::vector<PortIo> there_io, here_io;
    for (const std::size_t v : p.outputs)
      for (auto [ports, io] : {std::pair(&there, &there_io), std::pair(&here, &here_io)}) {
        ports->push_back(std::make_unique<PortOf>(p.values[v], GetParam()));
        io->push_back(ports->back()->io);
      }
    StageIo io;
    io.in = {&in.io, 1};
    io.out = there_io;
    const auto run = half->make(p, kernel_text(p));
    run->enqueue(io, gpu::view_of(stream.get()));
    ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
    std::vector<std::byte> scratch(cpu_scratch_bytes(p));
    io.out = here_io;
    io.scratch = scratch.data();
    make_cpu_run(p)->enqueue(io, {});
    for (std::size_t o = 0; o < there.size(); ++o) {
      if (kernel_text(p).source.find("rotate") == std::string::npos) {
        EXPECT_EQ(there[o]->bytes(), here[o]->bytes()) << kernel_text(p).source;
      } else {
        expect_near(there[o]->bytes(), here[o]->bytes());
      }
      EXPECT_EQ(*there_io[o].count, *here_io[o].count);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, FusedRun,
                         ::testing::Values(Case{0, 1, 0, -1}, Case{1, 1, 0, -1}, Case{1, 2, 1, -1},
                                           Case{1023, 1, 0, -1}, Case{8192, 1, 0, -1}, Case{8191, 3, 1, -1},
                                           Case{300'001, 2, 3, -1}, Case{500'000, 1, 16, -1}, Case{1000, 2, 0, 0},
                                           Case{1000, 2, 8, 777}, Case{0, 1, 0, 0}));

}  // namespace
}  // namespace fusion
}  // namespace iqd
