// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "pipeline/stages/math/python/out_shape.hpp"
#include "pipeline/stages/math/python/worker.hpp"

namespace iqd::python {

/// What a process has to know of a stage besides its program: shapes and parameters. A change of `params` is another
/// setup of the same process.
struct Setup {
  Shapes shapes;
  std::int64_t most_granules = 1;  // of a call: a longer block takes several
  std::uint32_t number = 0;        // of this setup, in this program; never 0
  std::string text;                // JSON
};

/// Bytes of one array with the varying dimension of this length (none: 1).
std::size_t array_bytes(const PortShape& shape, std::int64_t length);
/// How many granules a call may have, and the memory that it takes.
std::int64_t most_granules(const Shapes& shapes);
Areas areas_of(const Shapes& shapes);

/// Problems (the text is too long) go to `section`.
Setup make_setup(const Shapes& shapes, const StringMap& params, const Section& section);

}  // namespace iqd::python
