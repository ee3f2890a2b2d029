// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "radio/file/sigmf_files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace iqd::radio {
namespace {

constexpr std::int64_t kAgainNs = 100'000'000;
constexpr std::int64_t kMetaShare = 20;  // writing metadata takes at most 1/20 of the time

}  // namespace

SigmfFiles::SigmfFiles(SigmfPaths paths, SigmfMeta meta, std::int64_t frame_bytes)
    : paths_(std::move(paths)), meta_file_(paths_.meta), meta_(std::move(meta)), data_(paths_.data, frame_bytes) {
  // Removes old metadata before old samples, so that metadata never describe foreign samples.
  meta_file_.remove();
  data_.cut(0);
  if (!meta_file_.write(sigmf_text(meta_)))
    throw SetupError(fmt::format("{}: cannot write: {}", paths_.meta, std::strerror(errno)));
}

void SigmfFiles::add(SigmfCapture capture) {
  meta_.captures.push_back(std::move(capture));
  meta_stale_ = true;
}

void SigmfFiles::add(SigmfAnnotation annotation) {
  meta_.annotations.push_back(std::move(annotation));
  meta_stale_ = true;
}

bool SigmfFiles::put(std::span<const std::byte> frames) {
  if (meta_stale_) {
    held_.insert(held_.end(), frames.begin(), frames.end());
    return true;
  }
  return data_.append(frames) || stop(paths_.data);
}

bool SigmfFiles::flush_if_due() {
  const bool may_write_meta = steady_ns() >= next_meta_ns_ || held_.size() >= kMostHeldBytes;
  return !meta_stale_ || !may_write_meta || flush();
}

void SigmfFiles::finish() {
  finishes_ = true;
  if (meta_stale_) flush();
}

bool SigmfFiles::flush() {
  const std::int64_t began = steady_ns();
  if (!meta_file_.write(sigmf_text(meta_))) {
    if (!is_passing(errno) || finishes_ || held_.size() >= kMostHeldBytes) return stop(paths_.meta);
    next_meta_ns_ = began + kAgainNs;
    return true;
  }
  const std::int64_t now = steady_ns();
  next_meta_ns_ = now + kMetaShare * (now - began);
  meta_stale_ = false;
  return held_.empty() || write_held();
}

/// The metadata go first: a kill in between leaves segments that begin beyond the data, which readers ignore, rather
/// than samples with unknown gaps. Removes segments whose samples did not fit on the disk.
bool SigmfFiles::write_held() {
  const bool appended = data_.append(held_);
  const int why = errno;
  held_.clear();
  if (appended) return true;
  while (meta_.captures.back().sample_start > data_.frames()) meta_.captures.pop_back();
  std::erase_if(meta_.annotations, [this](const SigmfAnnotation& a) { return a.end() > data_.frames(); });
  meta_file_.write(sigmf_text(meta_));
  errno = why;
  return stop(paths_.data);
}

/// Always returns false.
bool SigmfFiles::stop(const std::string& file) {
  if (!stopped_) {
    log::error("{}: write failed: {}; recording has stopped after {} samples", file, std::strerror(errno),
               data_.frames());
  }
  stopped_ = true;
  return false;
}

}  // namespace iqd::radio
