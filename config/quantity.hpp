// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/fields.hpp"

namespace iqd {

/// `20.625 MS/s`, `1.4515 GHz`, `250 us`, `30 dB`, `64 MiB`; a bare number is in the base unit. Decimal prefixes are
/// exact: `1.4515 GHz` is the double next to 1451500000. Where it is nothing of that kind, `why` says so.
std::optional<double> parse_quantity(std::string_view text, Unit unit, std::string& why);

/// Whole numbers, exact over all 64 bits: `5`, `-3`, `0x10`, `1e6`, `64 MiB`; `2.5` is none.
std::optional<std::int64_t> parse_whole(std::string_view text, Unit unit, std::string& why);

/// `2`, `0.3-0.1j`, `1e-3j`, `-j`.
std::optional<std::complex<double>> parse_complex(std::string_view text);

/// With the prefix that a person would choose: `20.625 MS/s`, `0`, `1 kHz`.
std::string quantity_text(double value, Unit unit);
/// The base unit, and those that may be written: `Hz`, `Hz, kHz, MHz or GHz`; empty for plain numbers.
std::string_view base_unit(Unit unit);
std::string unit_choice(Unit unit);
/// A regular expression for the quantities of a unit (JSON schema).
std::string quantity_pattern(Unit unit);

}  // namespace iqd
