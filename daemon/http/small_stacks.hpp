// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pthread.h>

#include <cstddef>

namespace iqd {

/// Sets the stack size of threads started during its lifetime.
class SmallStacks {
 public:
  explicit SmallStacks(std::size_t bytes) {
    ::pthread_getattr_default_np(&before_);
    pthread_attr_t small;
    ::pthread_getattr_default_np(&small);
    ::pthread_attr_setstacksize(&small, bytes);
    ::pthread_setattr_default_np(&small);
    ::pthread_attr_destroy(&small);
  }
  ~SmallStacks() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  SmallStacks(const SmallStacks&) = delete;
  SmallStacks& operator=(const SmallStacks&) = delete;

 private:
  pthread_attr_t before_;
};

}  // namespace iqd
