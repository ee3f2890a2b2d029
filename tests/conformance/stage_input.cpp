// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/stage_input.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace iqd::conformance {
namespace {

float value(Signal signal, std::mt19937& generator) {
  std::normal_distribution<float> normal;
  constexpr float kOdd[] = {NAN, INFINITY, -INFINITY, 1e-42f, -0.0f};
  switch (signal) {
    case Signal::noise: return normal(generator);
    case Signal::zeros: return 0;
    case Signal::huge: return 1e15f * normal(generator);
    case Signal::odd: break;
  }
  return generator() % 50 ? normal(generator) : kOdd[generator() % std::size(kOdd)];
}

template <class T> std::vector<double> numbers(std::span<const std::byte> bytes) {
  std::vector<double> all;
  for (std::size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T x;
    std::memcpy(&x, bytes.data() + at, sizeof x);
    if constexpr (std::is_same_v<T, cf32>) {
      all.push_back(x.real());
      all.push_back(x.imag());
    } else if constexpr (std::is_same_v<T, sc16>) {
      all.push_back(x.re);
      all.push_back(x.im);
    } else if constexpr (std::is_same_v<T, f16>) {
      all.push_back(to_float(x));
    } else {
      all.push_back(static_cast<double>(x));
    }
  }
  return all;
}

}  // namespace

std::vector<StageInput> inputs_for(const StageEntry& entry, Element element, int channels, std::int64_t length,
                                   Signal signal) {
  std::vector<StageInput> inputs;
  std::mt19937 generator(12345);
  for (const InputSpec& spec : entry.inputs) {
    if (spec.optional && spec.example.empty()) break;
    StageInput in;
    in.shape = spec.example_shape(spec.takes(element) ? element : spec.elements.front(), length);
    in.length = length;
    if (!spec.items() && channels > 1) in.shape.rows = {{"channel", channels}};
    in.data.resize(static_cast<std::size_t>(in.row_bytes() * in.shape.row_count()));
    const bool floats = in.shape.element == Element::cf32 || in.shape.element == Element::f32;
    for (std::size_t at = 0; floats && at < in.data.size(); at += sizeof(float)) {
      const float part = value(signal, generator);
      const float x = spec.variance ? std::fabs(part) : part;
      std::memcpy(in.data.data() + at, &x, sizeof x);
    }
    for (std::size_t at = 0; !floats && signal != Signal::zeros && at < in.data.size(); ++at)
      in.data[at] = static_cast<std::byte>(generator());
    inputs.push_back(std::move(in));
  }
  return inputs;
}

std::string keys_for(const StageEntry& entry, Element element) {
  if (entry.name == "convert" && !traits(element).complex)
    return element == Element::f32 ? "{dtype: f16}" : "{dtype: f32}";
  const auto colon = entry.sample.find(':');
  return colon == entry.sample.npos ? "{}" : std::string(entry.sample.substr(colon + 1));
}

std::vector<double> numbers_in(Element element, std::span<const std::byte> bytes) {
  return with_element(element, [&](auto t) { return numbers<decltype(t)>(bytes); });
}

double distance(const StageOutput& a, const StageOutput& b) {
  if (a.length != b.length || a.rows.size() != b.rows.size()) return INFINITY;
  return distance(numbers_in(a.shape.element, a.joined()), numbers_in(b.shape.element, b.joined()));
}

double distance(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) return INFINITY;
  double power = 0, worst = 0;
  std::size_t finite = 0;
  for (const double v : a)
    if (std::isfinite(v)) power += v * v, ++finite;
  const double rms = finite && power > 0 ? std::sqrt(power / static_cast<double>(finite)) : 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return INFINITY;
    worst = std::max(worst, std::fabs(a[i] - b[i]) / rms);
  }
  return worst;
}

}  // namespace iqd::conformance
