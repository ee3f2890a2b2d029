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

/// One thing that a radio says of itself while it is open.
struct RadioReading {
  std::string name;      // reference, pps, lo, temperature …
  std::string of;        // which of several: `board 0`, `rx 1`; empty: the radio
  double value = 0;      // a lock is 1 or 0
  bool is_lock = false;  // something that has to hold: 0 is an alarm
};
using RadioReadings = std::vector<RadioReading>;

/// A radio that is open, as a driver knows it: once, however many streams share it.
struct OpenRadio {
  std::string driver;
  std::string args;
  std::vector<std::pair<std::string, std::string>> facts;  // product, serial, firmware, fpga …: what does not change
  RadioReadings readings{};
  std::int64_t read_ns = 0;  // when they were read, steady clock

  /// `e320 FA4EDE7, firmware 4.3, fpga 8.0`: what is known of these, on one line.
  std::string hardware() const;
};

/// Keeps a radio on the list of those that are open, as long as it lives. Any thread.
class RadioOnList {
 public:
  /// `read` is called in a thread of its own, at once and every two seconds; where it throws, the last readings stay.
  /// A lock that is lost, or is back, is a line in the log. Throws where no thread can be started.
  RadioOnList(OpenRadio radio, std::function<RadioReadings()> read);
  /// Waits for a `read` under way.
  ~RadioOnList();
  RadioOnList(const RadioOnList&) = delete;
  RadioOnList& operator=(const RadioOnList&) = delete;

  /// Has the readings read now, and waits for nothing.
  void read_soon();

 private:
  struct Watch;
  void take_off();
  std::unique_ptr<Watch> watch_;
};

/// All radios that are open now, with what they said last. Waits for no radio. Any thread.
std::vector<OpenRadio> open_radios();

}  // namespace iqd
