// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/pipeline.hpp"
#include "tests/support/recording_outlet.hpp"

namespace iqd::conformance {

/// A made-up recording: two tones and noise, of which each sample depends on its place only.
struct Tape {
  struct Loss {
    std::int64_t before = 0;   // so many samples have arrived when
    std::int64_t samples = 0;  // these are missing
  };
  Element element = Element::cf32;  // or sc16
  int channels = 1;
  std::int64_t samples = 0;  // that arrive, of each channel
  std::vector<Loss> losses;  // in order
};

/// A pipeline that plays a tape, as a file would have it.
struct Play {
  Tape tape;
  std::string stages = "[]";  // YAML
  std::vector<std::string> publish;
  std::int64_t block = 64;
  int lanes = 2;
  std::string backend = "cpu";
  std::string wait = "block";
  std::string transfer = "auto";
  std::size_t keep = 0;  // messages of each port that a slow reader holds
};

/// What came of it.
struct Played {
  struct Port {
    Element element = Element::cf32;
    std::vector<testing::Sent> sent;
  };
  std::vector<Port> ports;
  PipelineStatus status;
  std::string failure;  // while it ran or at its end
};
/// Plays to the end. Throws SetupError; problems of the YAML are a test's failures.
Played play(const Play& play);

}  // namespace iqd::conformance
