// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/spec/spec.hpp"

namespace iqd {

/// Who set a key's current value, and when.
enum class SetBy : std::uint8_t {
  file,   // also a default that the file does not mention
  patch,  // a request
  apply,  // the value of a port
};
std::string_view name_of(SetBy by);
struct KeyOrigin {
  SetBy by = SetBy::file;
  std::int64_t since_ns = 0;  // wall clock
};

/// Remembers the origin of every key of the running pipelines. Any thread.
class KeyOrigins {
 public:
  /// The pipeline starts with the values of the file.
  void start(const std::string& pipeline, std::int64_t now_ns);
  /// Keys were set while it runs.
  void set(const Override& keys, SetBy by, std::int64_t now_ns);
  /// The file was read again. `changed` as SpecChange::keys; all other keys that the file had set keep their origin.
  void reload(const std::string& pipeline, std::span<const std::string> changed, std::int64_t now_ns);
  /// `part` as PipelinePart::name; a key of a group as `group.key`.
  KeyOrigin of(std::string_view pipeline, std::string_view part, std::string_view key) const;

 private:
  /// `fir.taps`; `source` or `publish` as a whole; empty: all of the pipeline. The latest that includes a key counts.
  using Keys = std::map<std::string, KeyOrigin, std::less<>>;
  mutable std::mutex mutex_;
  std::map<std::string, Keys, std::less<>> pipelines_;
};

/// What a reload undoes: `source.gain: 30 dB (file) replaces 40 dB (patch)`, one line for each key that something else
/// than the file has set in `running` and that has another value in `next`.
std::vector<std::string> undone_by(const PipelineSpec& next, const PipelineSpec& running, const Catalogue& catalogue,
                                   const KeyOrigins& origins);

}  // namespace iqd
