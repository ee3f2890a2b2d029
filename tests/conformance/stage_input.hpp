// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/stage_runner.hpp"

namespace iqd::conformance {

enum class Signal { noise, zeros, huge, odd };  // odd: noise with NaN, infinities and denormals strewn in

/// The inputs that every stage is tested with, made for its ports.
std::vector<StageInput> inputs_for(const StageEntry& entry, Element element, int channels, std::int64_t length,
                                   Signal signal);

/// The keys of the entry's sample, `fir: {taps: [1]}` → `{taps: [1]}`; real samples are converted to a real type.
std::string keys_for(const StageEntry& entry, Element element);

/// The elements in memory order, real and imaginary parts as separate numbers.
std::vector<double> numbers_in(Element element, std::span<const std::byte> bytes);

/// The largest difference relative to the rms of `a`. 0 if both are equal bit by bit or both NaN, infinite if only one
/// is finite or the shapes differ.
double distance(std::span<const double> a, std::span<const double> b);
double distance(const StageOutput& a, const StageOutput& b);

}  // namespace iqd::conformance
