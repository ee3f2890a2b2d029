// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// The arguments of a fused kernel: the host fills them, and code compiled at run time reads them. Includes nothing,
// since the run-time compiler has no library.
#pragma once

namespace iqd::fusion {

constexpr int kJobPorts = 4;  // inputs, and outputs, at most
constexpr int kJobThreads = 128;

/// Rows of a port, from the first element that is computed.
struct JobPort {
  char* data;
  long long pitch;  // bytes
};

/// One block.
struct Job {
  JobPort in[kJobPorts];
  JobPort out[kJobPorts];
  int inputs;
  int outputs;
  int tile;    // elements of a group of threads
  int varies;  // the number of positions is the smallest of the inputs' counts
  const int* count_in[kJobPorts];
  int* count_out[kJobPorts];
  long long positions;        // at most
  long long item;             // elements of a position
  const long long* first_at;  // the first position, in the host's memory
};

}  // namespace iqd::fusion
