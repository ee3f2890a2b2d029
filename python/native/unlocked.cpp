// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "python/native/unlocked.hpp"

#include <unistd.h>

#include <atomic>

#include "python/native/binding.hpp"

namespace iqd::native {
namespace {

std::atomic<int> running{0};
std::atomic<bool> ends{false};

}  // namespace

Unlocked::Unlocked() : thread_(nullptr) {
  if (ends) {
    PyEval_SaveThread();
    while (true) ::pause();
  }
  ++running;
  thread_ = PyEval_SaveThread();
}

Unlocked::~Unlocked() {
  PyEval_RestoreThread(static_cast<PyThreadState*>(thread_));
  --running;
}

void end_calls() {
  ends = true;
  while (running > 0) {
    PyThreadState* const thread = PyEval_SaveThread();
    ::usleep(1000);
    PyEval_RestoreThread(thread);
  }
}

}  // namespace iqd::native
