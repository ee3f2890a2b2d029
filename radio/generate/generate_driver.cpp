// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/drivers.hpp"
#include "radio/generate/generate_source.hpp"

namespace iqd::radio {

DriverEntry generate_driver() {
  DriverEntry entry;
  entry.name = "generate";
  entry.summary = "time and zeros, for pipelines that generate their own signal";
  entry.make_source = [] { return std::unique_ptr<SourceOptions>(std::make_unique<generate::GenerateOptions>()); };
  return entry;
}

}  // namespace iqd::radio
