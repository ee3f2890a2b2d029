// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/python/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace iqd::python {
namespace {

constexpr std::size_t kMostMessage = 64 * 1024;

[[noreturn]] void no_file(const char* call) {
  throw SetupError(fmt::format("a process of a `python` stage: {}: {}", call, std::strerror(errno)));
}

FileHandle file_with(const std::string& text) {
  FileHandle file(::memfd_create("iqd-job", MFD_CLOEXEC));
  if (file.get() < 0) no_file("memfd_create");
  if (::pwrite(file.get(), text.data(), text.size(), 0) != std::ssize(text)) no_file("write");
  return file;
}

/// A process that computes is not waited for by the service manager, and needs no secrets. Its libraries take one thread:
/// a stage that needs more CPUs has more processes.
/// It cannot write, so what compiles kernels for a GPU keeps them in memory.
ChildProcess::Options command_of(const Job& job, std::vector<std::pair<int, int>> files) {
  return {.command = {job.interpreter, "-I", "-B", job.script, std::to_string(::getpid())},
          .files = std::move(files),
          .environment = {{"OMP_NUM_THREADS", "1"},
                          {"OPENBLAS_NUM_THREADS", "1"},
                          {"MKL_NUM_THREADS", "1"},
                          {"CUDA_CACHE_DISABLE", "1"},
                          {"CUPY_CACHE_IN_MEMORY", "1"}},
          .unset = {"NOTIFY_SOCKET=", "WATCHDOG_", "LISTEN_", "CREDENTIALS_DIRECTORY="}};
}

}  // namespace

Worker::Worker(const Job& job, const Areas& areas)
    : requests_("iqd-requests", kInputsAt + areas.inputs, SharedFile::Other::may_only_read),
      answers_("iqd-answers", kResultsAt + areas.results, SharedFile::Other::may_write),
      process_(start(job)),
      spin_ns_(static_cast<std::int64_t>(job.spin_s * 1e9)) {
  requests_.close();
  answers_.close();
}

ChildProcess Worker::start(const Job& job) {
  const FileHandle file = file_with(job.text(requests_.size() + answers_.size()));
  const FileHandle nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) no_file("socketpair");
  control_.reset(ends[0]);
  const FileHandle its_control(ends[1]);
  if (::pipe2(ends, O_CLOEXEC) != 0) no_file("pipe");
  output_.reset(ends[0]);
  const FileHandle its_output(ends[1]);
  ::fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  return ChildProcess(command_of(job, {{nothing.get(), 0},
                                       {its_output.get(), 1},
                                       {its_output.get(), 2},
                                       {file.get(), 3},
                                       {its_control.get(), 4},
                                       {requests_.file(), 5},
                                       {answers_.file(), 6}}));
}

Ending Worker::call(std::int64_t limit_ns, std::int64_t& count) noexcept {
  count = 0;
  const std::uint32_t number = ++number_;
  request().word.store(number, std::memory_order_seq_cst);
  if (is_lost_.load(std::memory_order_seq_cst)) return Ending::died;
  futex_wake(request().word);
  if (!wait_for(number, limit_ns)) return Ending::late;
  if (is_lost_.load(std::memory_order_seq_cst)) return Ending::died;
  has_answered_.store(true, std::memory_order_relaxed);
  const std::uint32_t status = answer().status;
  if (status == static_cast<std::uint32_t>(Status::raised)) return Ending::raised;
  const std::int64_t counted = answer().count;
  if (status != static_cast<std::uint32_t>(Status::good) || counted < 0 || counted > request().most)
    return Ending::unfit;
  count = counted;
  return Ending::good;
}

/// Spins for a moment before it sleeps: an answer that comes sooner costs no system call. If that was in vain, it is not
/// done again soon, since the process may be waiting for this CPU.
bool Worker::wait_for(std::uint32_t number, std::int64_t limit_ns) noexcept {
  constexpr std::uint32_t kRetry = 256;  // calls
  const FutexWord& word = answer().word;
  const std::int64_t began = steady_ns();
  const std::int64_t spin_ns = spins_ || number % kRetry == 0 ? spin_ns_ : 0;
  for (;;) {
    const std::uint32_t seen = word.load(std::memory_order_acquire);
    const std::int64_t waited = steady_ns() - began;
    const bool is_spinning = waited < spin_ns;
    if (seen == number || waited >= limit_ns) {
      if (spin_ns > 0) spins_ = is_spinning;
      return seen == number;
    }
    if (is_spinning)
      ::sched_yield();
    else
      futex_wait(word, seen, limit_ns - waited);
  }
}

std::vector<std::string> Worker::messages() {
  std::vector<std::string> all;
  std::string text(kMostMessage, '\0');
  for (;;) {
    const ssize_t bytes = ::recv(control_.get(), text.data(), text.size(), MSG_DONTWAIT);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes == 0) is_cut_off_ = true;
    if (bytes <= 0 || all.size() >= 64) return all;
    all.emplace_back(text, 0, static_cast<std::size_t>(bytes));
  }
}

std::string Worker::printed() {
  std::string text(kMostMessage, '\0');
  const ssize_t bytes = ::read(output_.get(), text.data(), text.size());
  if (bytes == 0) output_.reset();
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
  return text;
}

/// Nobody else writes the answer's word once the process and its children are dead. So the thread that calls either sees
/// `is_lost_`, or its request is seen here.
int Worker::end() noexcept {
  const int status = process_.end();
  is_lost_.store(true, std::memory_order_seq_cst);
  answer().word.store(request().word.load(std::memory_order_seq_cst), std::memory_order_seq_cst);
  futex_wake(answer().word);
  return status;
}

}  // namespace iqd::python
