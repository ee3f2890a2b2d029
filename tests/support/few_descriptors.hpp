// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

namespace iqd {

/// During its lifetime, this process can open `left` more descriptors.
class FewDescriptors {
 public:
  explicit FewDescriptors(int left = 0) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    // All numbers up to the limit have to be in use.
    while (taken_.empty() || taken_.back() < kHighest) taken_.push_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit limit{static_cast<rlim_t>(kHighest), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    for (; left > 0 && taken_.size() > 1; --left) give();
  }
  ~FewDescriptors() {
    while (!taken_.empty()) give();
    ::setrlimit(RLIMIT_NOFILE, &before_);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  static constexpr int kHighest = 300;
  /// The lowest of the taken descriptors, which are below the limit.
  void give() {
    ::close(taken_.front());
    taken_.erase(taken_.begin());
  }

  rlimit before_{};
  std::vector<int> taken_;
};

}  // namespace iqd
