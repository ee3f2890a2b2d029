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
/// exact: `1.4515 GHz` is the double next to 1451500000. On failure, `why` has the reason.
std::optional<double> parse_quantity(std::string_view text, Unit unit, std::string& why);

/// Integers, exact over all 64 bits: `5`, `-3`, `0x10`, `0b1010`, `1e6`, `64 MiB`; not `2.5`.
std::optional<std::int64_t> parse_whole(std::string_view text, Unit unit, std::string& why);

/// `2`, `0.3-0.1j`, `1e-3j`, `-j`.
std::optional<std::complex<double>> parse_complex(std::string_view text);

/// Whether the number has a suffix.
bool has_unit(std::string_view text);

/// With the usual prefix: `20.625 MS/s`, `0`, `1 kHz`.
std::string quantity_text(double value, Unit unit);
/// A rate that was measured: `2.001 MS/s`, `249.788 kS/s`, `12.5 S/s`. Only a stream that does not flow has `0 S/s`.
std::string rate_text(double hz);
/// The base unit, and all accepted ones: `Hz`, `Hz, kHz, MHz or GHz`; empty for plain numbers.
std::string_view base_unit(Unit unit);
std::string unit_choice(Unit unit);
/// A regular expression for the quantities of a unit (JSON schema).
std::string quantity_pattern(Unit unit);

}  // namespace iqd
