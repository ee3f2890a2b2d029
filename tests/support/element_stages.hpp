// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/stage/stage.hpp"
#include "tests/support/fake_device.hpp"

/// Element-wise stages of words for tests, alone or fused. Each result shows index and order of the operands.
namespace iqd::testing {

/// One output element of all inputs: words in, words out.
class ElementWordCode : public ElementCode {
 public:
  using Values = std::array<std::int32_t, 2>;
  virtual Values at(const Values& in, std::int64_t index) const noexcept = 0;
  void apply(std::span<const void* const> in, std::span<void* const> out, std::int64_t first,
             std::int64_t n) const noexcept override {
    for (std::int64_t i = 0; i < n; ++i) {
      Values values{};
      for (std::size_t k = 0; k < in.size(); ++k) values[k] = static_cast<const std::int32_t*>(in[k])[i];
      values = at(values, first + i);
      for (std::size_t k = 0; k < out.size(); ++k) static_cast<std::int32_t*>(out[k])[i] = values[k];
    }
  }
  std::optional<DeviceCode> device_code() const override {
    return DeviceCode{
        "struct word_code {\n"
        "  __device__ void operator()(int x, int& y, long long) const { y = x; }\n"
        "};",
        "word_code", std::vector<std::byte>(1)};
  }

 protected:
  static std::int32_t word(std::uint32_t x) noexcept { return static_cast<std::int32_t>(x); }
};

/// y = x * by + along * index
struct ScaleCode final : ElementWordCode {
  ScaleCode(std::int64_t by, std::int64_t along) : by_(by), along_(along) {}
  Values at(const Values& in, std::int64_t index) const noexcept override {
    const auto x = static_cast<std::uint32_t>(in[0]);
    return {word(x * static_cast<std::uint32_t>(by_) + static_cast<std::uint32_t>(along_ * index)), 0};
  }

 private:
  std::int64_t by_, along_;
};
/// y = 5 x0 + x1
struct MixCode final : ElementWordCode {
  Values at(const Values& in, std::int64_t) const noexcept override {
    return {word(static_cast<std::uint32_t>(in[0]) * 5 + static_cast<std::uint32_t>(in[1])), 0};
  }
};
/// The lower half of the bits, and the upper.
struct HalvesCode final : ElementWordCode {
  Values at(const Values& in, std::int64_t) const noexcept override {
    return {in[0] & 0xffff, word(static_cast<std::uint32_t>(in[0]) >> 16)};
  }
};

template <class Run> std::unique_ptr<StageRun> run_there(Backend& backend, Run run) {
  if (backend.kind() != BackendKind::cpu) return fake_run(backend, std::move(run));
  return cpu_run(std::move(run));
}

class ElementWordStage : public Stage {
 public:
  void fields(FieldVisitor&) override {}
  void shape(ShapeContext& context) override { varies_ = context.in[0].axis != Axis::stream; }
  virtual std::unique_ptr<ElementCode> code() const = 0;
  bool is_elementwise() const override { return true; }
  std::unique_ptr<ElementCode> elements() const override { return code(); }
  std::unique_ptr<StageRun> make(Backend& backend) const override {
    return run_there(backend, [code = std::shared_ptr(code()), varies = varies_](const StageIo& io) noexcept {
      std::int64_t n = io.out[0].length;
      if (varies) {
        n = *io.in[0].count;
        for (const PortIo& in : io.in) n = std::min<std::int64_t>(n, *in.count);
        for (const PortIo& out : io.out) *out.count = static_cast<std::int32_t>(n);
      }
      const std::int64_t first = io.out[0].first * io.out[0].item;
      for (std::int64_t row = 0; row < io.out[0].rows; ++row) {
        std::array<const void*, 2> in{};
        std::array<void*, 2> out{};
        for (std::size_t k = 0; k < io.in.size(); ++k)
          in[k] = io.in[k].as<std::int32_t>().row(row).data() + first - io.in[k].first * io.in[k].item;
        for (std::size_t k = 0; k < io.out.size(); ++k) {
          out[k] = io.out[k].as<std::int32_t>().row(row).data();
          EXPECT_EQ(io.out[k].first, io.out[0].first);
          EXPECT_EQ(io.out[k].length, io.out[0].length);
        }
        code->apply({in.data(), io.in.size()}, {out.data(), io.out.size()}, first, n * io.out[0].item);
      }
    });
  }

 private:
  bool varies_ = false;
};

class ScaleStage final : public ElementWordStage {
 public:
  void fields(FieldVisitor& v) override {
    v.field("by", by_, {.help = "factor", .live = true});
    v.field("along", along_, {.help = "increment per element"});
    v.field("alone", alone_, {.help = "never fused"});
  }
  std::unique_ptr<ElementCode> code() const override { return std::make_unique<ScaleCode>(by_, along_); }
  bool is_elementwise() const override { return true; }
  std::unique_ptr<ElementCode> elements() const override { return alone_ ? nullptr : code(); }

 private:
  std::int64_t by_ = 3, along_ = 0;
  bool alone_ = false;
};

template <class Code> class PlainElementStage final : public ElementWordStage {
 public:
  std::unique_ptr<ElementCode> code() const override { return std::make_unique<Code>(); }
};

}  // namespace iqd::testing
