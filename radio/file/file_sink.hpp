// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "radio/file/frame_file.hpp"
#include "radio/file/replaced_file.hpp"
#include "radio/file/sigmf.hpp"

namespace iqd::radio {

struct FileSinkSettings {
  std::string path = {};
  bool overwrite = false;
  std::string description = {};
  std::string author = {};
  std::string hardware = {};
};

/// Why such a port cannot be recorded; empty where it can: [n] or [channel][n] with an element that SigMF has.
std::string unrecordable(const PortFormat& format);

/// Records a port as SigMF, valid at every moment. A new segment begins at every gap and where the radio is set
/// otherwise, and the metadata that say so are on disk before its first sample. A message's trigger becomes an
/// annotation, once its samples are there. Where gaps come faster than metadata should be written, samples are held
/// back in memory for a moment, and reach the disk just after the metadata of all their segments: who is killed between
/// the two leaves segments that begin beyond the last sample. So are they where descriptors are short for a moment.
/// When the disk is full recording ends, is logged once, and `send` is false from then on.
class FileSink final : public Sink {
 public:
  /// Throws SetupError where the files cannot be made, or a recording is there and is not to be overwritten.
  FileSink(const FileSinkSettings& settings, const PortFormat& format);
  ~FileSink() override;
  /// What one takes of the host.
  static Need need(const std::string& path, const PortFormat& format);

  bool send(const Message& message) override;
  void finish() override;

 private:
  std::int64_t items_as_before(const Message& message) const noexcept;
  bool record(const Message& message, std::int64_t first, std::int64_t count);
  bool begins_segment(const Message& message) const noexcept;
  void begin_segment(const Message& message, std::int64_t item, double frequency_hz);
  void annotate(const Trigger& trigger);
  void show_annotations();
  bool append(const Message& message, std::int64_t first, std::int64_t count);
  bool put(std::span<const std::byte> frames);
  bool flush();
  bool flush_if_due();
  bool write_held();
  bool stop(const std::string& file);

  PortFormat format_;
  double frequency_hz_ = 0;  // of the segment
  SampleIndex tuned_ = -1;   // the radio is set otherwise from there on, which no segment shows yet; or -1
  SigmfPaths paths_;
  ReplacedFile meta_file_;
  SigmfMeta meta_;
  std::deque<SigmfAnnotation> awaited_;  // that samples are still to come of
  std::int64_t channels_;
  double period_;  // source samples from item to item
  FrameFile data_;
  std::vector<std::byte> held_;     // frames that wait for their segment's metadata
  std::vector<std::byte> staging_;  // a piece of a message, interleaved
  std::int64_t items_ = 0;          // recorded or held
  std::int64_t index_offset_ = 0;   // from the source's index to core:global_index
  double origin_ = 0;               // source sample of the segment's first item
  std::int64_t origin_item_ = 0;
  bool started_ = false;
  bool meta_stale_ = false;
  std::int64_t next_meta_ns_ = 0;  // steady clock; before it the metadata are not written again
  bool finishes_ = false;
  bool stopped_ = false;
};

}  // namespace iqd::radio
