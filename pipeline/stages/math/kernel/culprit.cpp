// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/stages/math/kernel/culprit.hpp"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

namespace iqd::kernel {
namespace {

struct Fault {
  int signal;
  const char* what;
};
constexpr std::array<Fault, 4> kFaults{{{SIGFPE, "divides a whole number by zero (SIGFPE)"},
                                        {SIGSEGV, "accesses invalid memory (SIGSEGV)"},
                                        {SIGBUS, "accesses invalid memory (SIGBUS)"},
                                        {SIGILL, "executes an illegal instruction (SIGILL)"}}};

thread_local const char* volatile code_at_work = nullptr;
std::array<struct sigaction, kFaults.size()> before;

void say(const char* text) noexcept {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

/// Calls only async-signal-safe functions. After it returns the fault happens again and goes to the previous handler.
void on_fault(int signal, siginfo_t* info, void*) noexcept {
  for (std::size_t i = 0; i < kFaults.size(); ++i) {
    if (kFaults[i].signal != signal) continue;
    if (const char* const label = code_at_work) {
      say("iqd: ");
      say(label);
      say(" ");
      say(kFaults[i].what);
      say("\n");
    }
    ::sigaction(signal, &before[i], nullptr);
    if (info->si_code <= 0) ::raise(signal);  // sent by kill(), so it does not happen again
  }
}

}  // namespace

AtWork::AtWork(const char* label) noexcept {
  code_at_work = label;
}
AtWork::~AtWork() {
  code_at_work = nullptr;
}

void name_culprits() noexcept {
  [[maybe_unused]] static const bool done = [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigemptyset(&action.sa_mask);
    for (std::size_t i = 0; i < kFaults.size(); ++i) ::sigaction(kFaults[i].signal, &action, &before[i]);
    return true;
  }();
}

}  // namespace iqd::kernel
