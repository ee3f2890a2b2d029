// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/file_handle.hpp"
#include "pipeline/stages/math/python/job.hpp"
#include "pipeline/stages/math/python/worker.hpp"

namespace iqd::python {

class Crew;

/// The thread that starts the processes of all `python` stages, watches them, and logs what they say. They end with it.
class Keeper {
 public:
  static Keeper& instance();
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  /// The processes of this job: those that run, if their memory suffices, or new ones.
  std::shared_ptr<Crew> crew_for(const Job& job, const Areas& areas);
  /// They run for a moment after nobody needs them: a pipeline is often planned again.
  void keep(std::shared_ptr<Crew> crew);
  /// Any thread: a process has to be replaced.
  void ring() noexcept;

  void add(Crew& crew);
  /// Afterwards the keeper does not look at it.
  void remove(Crew& crew);

 private:
  Keeper();
  void run();
  void wait();
  void release_unused();

  struct Recent {
    std::shared_ptr<Crew> crew;
    std::int64_t until_ns;
  };

  FileHandle bell_;
  std::mutex mutex_;
  std::vector<Crew*> crews_;
  std::multimap<std::string, std::weak_ptr<Crew>> by_key_;
  std::deque<Recent> recent_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace iqd::python
