// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "config/fields.hpp"
#include "pipeline/stage/stage.hpp"

namespace iqd {

/// `Stage::shape`; keys that need too much memory become a problem.
void ask_for_shape(Stage& stage, ShapeContext& context);

/// For a stage whose inputs are not known: reports what is wrong with its keys whatever the inputs are, that is, the
/// problems that it reports alike for streams of very different rates, channels and lengths. Judges only stages whose
/// inputs are streams; a stage with a program is not judged. The stage cannot become part of a plan afterwards.
void judge_keys(Stage& stage, const StageEntry& entry, const Section& section);

}  // namespace iqd
