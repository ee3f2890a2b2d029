// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/driver.hpp"
#include "radio/file/pace.hpp"
#include "radio/file/pause.hpp"
#include "radio/file/played_part.hpp"
#include "radio/file/playhead.hpp"
#include "radio/file/recording.hpp"
#include "radio/file/sample_file.hpp"
#include "radio/window/fingerprint.hpp"

namespace iqd::radio {

struct FileSourceSettings {
  PlayedPart part{};                       // what becomes results
  bool repeat = false;                     // starts over without end; sample index and time continue
  bool pace = false;                       // at the sample rate, by the steady clock; gaps take no time
  std::shared_ptr<PlayedWindow> window{};  // says what it plays
};

/// Plays a recording, or a part of it. A call never crosses the end of a segment; a gap, and a change of frequency, are
/// reported with the next segment's first samples. `receive` allocates nothing.
class FileSource final : public Source {
 public:
  /// `recording` must have no problems. Throws SetupError if its data cannot be opened.
  FileSource(Recording recording, FileSourceSettings settings);
  /// The most memory and descriptors that one source needs.
  static Need need(const std::string& path, const StreamInfo& stream);
  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;

  const Recording& recording() const noexcept { return recording_; }
  StreamInfo info() const override;
  Excerpt excerpt(const BlockNeeds& needs) override;
  Received receive(std::span<std::byte* const> into, std::int64_t most) override;
  void interrupt() noexcept override { pause_.interrupt(); }

 private:
  std::int64_t wait_until_due(std::int64_t wanted);
  void describe_window(const Excerpt& part, std::int64_t block);
  Received ended() noexcept;

  const Recording recording_;
  const FileSourceSettings settings_;
  SampleFile file_;
  Playhead playhead_;
  SampleIndex end_;                         // of what is played
  double frequency_hz_;                     // of the last samples that were returned
  std::optional<Fingerprint> fingerprint_;  // of what a window was cut from
  Pace pace_;
  Pause pause_;
};

/// Opens any recording, or a part of it, for reading. Throws SetupError with everything that is wrong with it, a line
/// each.
std::unique_ptr<FileSource> open_recording(const std::string& path, const RecordingKeys& keys = {},
                                           FileSourceSettings settings = {}, const PartKeys& part = {});

}  // namespace iqd::radio
