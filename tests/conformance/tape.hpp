// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "pipeline/pipeline.hpp"
#include "tests/support/recording_outlet.hpp"

namespace iqd::conformance {

/// A synthetic recording: two tones and noise. Each sample depends only on its position.
struct Tape {
  struct Loss {
    std::int64_t before = 0;   // samples received before the loss
    std::int64_t samples = 0;  // samples missing
  };
  Element element = Element::cf32;  // or sc16
  int channels = 1;
  std::int64_t samples = 0;  // received, of each channel
  std::vector<Loss> losses;  // in order
};

/// A pipeline that plays a tape; the fields are keys of its YAML.
struct Play {
  Tape tape;
  std::string stages = "[]";  // YAML
  std::vector<std::string> publish;
  std::int64_t block = 64;
  int lanes = 2;
  std::string backend = "cpu";
  std::string wait = "block";
  std::string transfer = "auto";
  std::string share;     // `16 SM`; empty: the whole device
  std::size_t keep = 0;  // messages of each port that a slow subscriber holds
};

/// The outcome of a run.
struct Played {
  struct Port {
    Element element = Element::cf32;
    std::vector<testing::Sent> sent;
  };
  std::vector<Port> ports;
  PipelineStatus status;
  std::string failure;  // while it ran or at its end
};
/// Plays the tape to its end. Throws SetupError; problems in the YAML are test failures.
Played play(const Play& play);

}  // namespace iqd::conformance
