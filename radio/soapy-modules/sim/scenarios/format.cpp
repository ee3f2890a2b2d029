// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/soapy-modules/sim/scenarios/format.hpp"

#include <stdexcept>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "radio/soapy-modules/sim/scenarios/format.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace iqd::sim::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void to_shorts(const float* HWY_RESTRICT x, std::size_t values, std::int16_t* HWY_RESTRICT out) {
  const hn::ScalableTag<float> numbers;
  const hn::Rebind<std::int16_t, decltype(numbers)> shorts;
  const auto scale = hn::Set(numbers, static_cast<float>(kFullScale));
  const auto low = hn::Set(numbers, -32768.0f), high = hn::Set(numbers, 32767.0f);
  const auto whole = [&](auto v) HWY_ATTR {
    return hn::DemoteTo(shorts, hn::NearestInt(hn::Min(hn::Max(hn::Mul(v, scale), low), high)));
  };
  std::size_t i = 0;
  for (; i + hn::Lanes(numbers) <= values; i += hn::Lanes(numbers))
    hn::StoreU(whole(hn::LoadU(numbers, x + i)), shorts, out + i);
  for (; i < values; ++i) out[i] = hn::GetLane(whole(hn::Set(numbers, x[i])));
}

}  // namespace iqd::sim::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace iqd::sim {

HWY_EXPORT(to_shorts);

Format format_named(const std::string& name) {
  if (name == "CF32") return Format::cf32;
  if (name == "CS16") return Format::cs16;
  throw std::invalid_argument("iqdsim: format " + name + " is not supported; use CF32 or CS16");
}

void to_cs16(std::span<const cf32> samples, std::int16_t* __restrict out) noexcept {
  HWY_DYNAMIC_DISPATCH(to_shorts)(reinterpret_cast<const float*>(samples.data()), 2 * samples.size(), out);
}

void from_cs16(const std::int16_t* __restrict samples, std::span<cf32> out) noexcept {
  auto* __restrict x = reinterpret_cast<float*>(out.data());
  for (std::size_t i = 0; i < 2 * out.size(); ++i)
    x[i] = static_cast<float>(samples[i]) / static_cast<float>(kFullScale);
}

}  // namespace iqd::sim
#endif
