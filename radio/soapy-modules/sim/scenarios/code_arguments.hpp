// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "radio/soapy-modules/sim/scenarios/scenario.hpp"
#include "signal/codes/word_code.hpp"
#include "signal/formats/word_frame.hpp"

namespace iqd::sim {

/// The code of a transmitter's data bits, by the arguments code, nr_k, nr_e, nr_rv, nr_graph and crc.
std::optional<WordCode> word_code(const Arguments& args);
/// What is sent with a word, by the arguments asm and randomize.
WordFrame word_frame(const Arguments& args, const LdpcCode& code);

}  // namespace iqd::sim
