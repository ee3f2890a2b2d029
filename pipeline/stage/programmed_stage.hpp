// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pipeline/stage/stage.hpp"

namespace iqd {

/// What a stage also is that runs a program of the user's: the keys decide which inputs it has, and a compiler has a
/// say in whether they are right.
class ProgrammedStage {
 public:
  /// Once the keys are read, and before anything else: reads the program. False, and problems, where it is wrong. A
  /// second call does nothing.
  virtual bool load(const Section& section) = 0;
  /// Before `load`: goes by the text that another stage of this kind has read, instead of reading one.
  virtual void keep_program(const ProgrammedStage& of) = 0;
  /// After `load`: what was read, to tell a changed file from the one that runs.
  virtual const std::string& program() const = 0;
  /// After `load`: instead of the entry's.
  virtual std::vector<InputSpec> inputs() const = 0;
  /// After `shape`: what the compiler finds wrong becomes problems, with their places in the program. Opens no device.
  virtual void compile(bool for_device, const Section& section) = 0;
  /// After `compile`: why it could not be tried where it is to run; empty where it was.
  virtual std::string untried() const = 0;

 protected:
  ~ProgrammedStage() = default;
};

/// The entry with the inputs that the stage has with these keys (YAML). Of a stage that runs a program, what is wrong
/// with the keys or with that becomes problems; of others whoever makes the stage tells.
StageEntry configured(const StageEntry& entry, const std::string& keys, Problems& problems);

/// The half that a stage has in libiqd_cuda.so, without a device; null where there is no such library.
const void* find_cuda_half(std::string_view stage);

}  // namespace iqd
