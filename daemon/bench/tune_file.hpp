// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace iqd {

/// How `iqd tune FILE` measures.
struct FileTuning {
  std::string file;
  std::string pipeline{};              // only this one; empty: all
  std::vector<std::int64_t> blocks{};  // empty: the file's
  std::string device = "cuda:0";       // empty: the CPU alone
  bool noise = false;                  // sources are not opened
  bool store = true;
};

/// Times the stages of the file's pipelines on the CPU and on the device, stores the times, and prints them with the
/// places that `backend: auto` chooses by them. Of a stage that several pipelines have alike, the first one's time holds.
/// Throws UsageError and SetupError.
void tune_file(const FileTuning& tuning);

}  // namespace iqd
