// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/driver.hpp"
#include "daemon/plot/plot_data.hpp"

namespace iqd::plot {

/// What a file without metadata does not say, as options: empty if not given.
struct FileKeys {
  std::string format;
  std::string rate;
  std::string frequency;
  std::int64_t channels = 0;
};

/// A recording, read in pieces as `source: file` reads it. One thread.
class FileInput {
 public:
  /// Throws UsageError with all problems, or SetupError.
  FileInput(const std::string& path, const FileKeys& keys);
  const StreamInfo& info() const noexcept { return info_; }
  /// False: neither the file nor an option says the sample rate, so it is 1.
  bool has_rate() const noexcept { return has_rate_; }
  void skip(std::int64_t samples);
  /// At most `most` samples of each channel; none at the end. Throws SetupError if the file cannot be read.
  std::optional<Piece> next(std::int64_t most);

 private:
  std::string path_;
  std::unique_ptr<Source> source_;
  bool has_rate_ = true;
  StreamInfo info_;
  std::vector<std::vector<std::byte>> memory_;  // by channel
};

}  // namespace iqd::plot
