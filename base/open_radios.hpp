// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace iqd {

/// One reading of an open radio.
struct RadioReading {
  std::string name;      // reference, pps, lo, temperature …
  std::string of;        // which of several: `board 0`, `rx 1`; empty: the radio
  double value = 0;      // a lock is 1 or 0
  bool is_lock = false;  // something that must be locked: 0 is an alarm
};
using RadioReadings = std::vector<RadioReading>;

/// An open radio; one entry, however many streams share it.
struct OpenRadio {
  std::string driver;
  std::string args;
  std::vector<std::pair<std::string, std::string>> facts;  // product, serial, firmware, fpga …: constant
  RadioReadings readings{};
  std::int64_t read_ns = 0;  // when they were read, steady clock

  /// `e320 FA4EDE7, firmware 4.3, fpga 8.0`: the known ones of these, on one line.
  std::string hardware() const;
};

/// Keeps a radio on the list of open ones during its lifetime. Any thread.
class RadioOnList {
 public:
  /// A separate thread calls `read` at once and every two seconds; if it throws, the last readings stay. Logs when a
  /// lock is lost or back. Throws if no thread can be started.
  RadioOnList(OpenRadio radio, std::function<RadioReadings()> read);
  /// Waits for a running `read`.
  ~RadioOnList();
  RadioOnList(const RadioOnList&) = delete;
  RadioOnList& operator=(const RadioOnList&) = delete;

  /// Triggers a `read` now, without waiting.
  void read_soon();

 private:
  struct Watch;
  void take_off();
  std::unique_ptr<Watch> watch_;
};

/// All open radios with their latest readings. Waits for no radio. Any thread.
std::vector<OpenRadio> open_radios();

}  // namespace iqd
