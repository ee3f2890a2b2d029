// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace iqd::radio {

// Below these values in Hz and samples a second, a number without a unit is probably meant in kHz or MHz.
inline constexpr double kLowestRadio = 9e3;    // frequency of a radio: the spectrum is assigned from there
inline constexpr double kSlowestRadio = 8e3;   // rate and bandwidth of a radio: sound cards begin there
inline constexpr double kSlowestStream = 1e3;  // rate of a source that is no radio

}  // namespace iqd::radio
