// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "base/files/sha256.hpp"
#include "radio/file/frame_file.hpp"
#include "radio/window/manifest.hpp"

namespace iqd::radio {

/// Keeps all messages of one window of a recording for the sink with this path: NAME.K-of-N, and its manifest. Until
/// the window is whole, they are NAME.K-of-N.part. A second run of a window replaces the first.
class WindowSink final : public Sink {
 public:
  /// `entry`: of `sinks`, as JSON. Throws SetupError if the file cannot be created, or if another process writes it.
  WindowSink(const std::string& path, const std::string& entry, std::shared_ptr<PlayedWindow> window,
             const PortFormat& format);

  bool send(const Message& message) override;
  void finish() override;

 private:
  std::string part() const { return results_ + ".part"; }
  bool complete();

  std::shared_ptr<PlayedWindow> window_;
  std::string results_;
  FrameFile file_;
  Manifest manifest_;
  Sha256 hash_;
  std::int64_t computed_ = 0;  // samples
  bool stopped_ = false;
  bool finished_ = false;
  std::vector<std::byte> bytes_;
};

}  // namespace iqd::radio
