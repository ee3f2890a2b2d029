// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/driver.hpp"

namespace iqd {

/// Calls that open a device, or close it again, made by one thread and watched by others: a driver may never return.
class OpeningWatch {
 public:
  /// Returns what `f` returns. If it takes longer than `most_s`, `overdue` names `who`.
  template <class F> auto call(const std::string& who, double most_s, F f) {
    const Call call(*this, who, most_s);
    return f();
  }
  /// Any thread: which call does not return, and its limit; empty if none is late.
  std::string overdue() const;

 private:
  class Call {
   public:
    Call(OpeningWatch& watch, const std::string& who, double most_s);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    OpeningWatch& watch_;
  };

  mutable std::mutex mutex_;
  std::string who_;  // of the running call
  double most_s_ = 0;
  std::int64_t until_ns_ = 0;  // 0: no call
};

/// An opened source. If nothing takes it, it is closed under the watch, too.
class OpenedSource {
 public:
  OpenedSource(std::unique_ptr<Source> source, OpeningWatch& watch, std::string name, double most_s)
      : source_(std::move(source)), watch_(watch), name_(std::move(name)), most_s_(most_s) {}
  ~OpenedSource() {
    if (source_) watch_.call(name_ + ": the call that closes the radio", most_s_, [this] { source_.reset(); });
  }
  OpenedSource(const OpenedSource&) = delete;
  OpenedSource& operator=(const OpenedSource&) = delete;
  const Source* operator->() const noexcept { return source_.get(); }
  std::unique_ptr<Source> take() noexcept { return std::move(source_); }

 private:
  std::unique_ptr<Source> source_;
  OpeningWatch& watch_;
  std::string name_;
  double most_s_;
};

}  // namespace iqd
