// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <uhd/exception.hpp>
#include <uhd/usrp/multi_usrp.hpp>
#include <vector>

#include "base/block.hpp"
#include "base/open_radios.hpp"
#include "radio/uhd/settings.hpp"

namespace iqd::radio::usrp {

using Facts = std::vector<std::pair<std::string, std::string>>;
/// Whether a value is known: MPM has words for unknown values.
inline bool is_known(std::string_view value) noexcept {
  return !value.empty() && value != "n/a" && value != "UNKNOWN";
}
/// Identity and versions of a device; for several boards, each distinct value.
Facts facts_of(uhd::usrp::multi_usrp& usrp);

/// One USRP, or several as one, with its reference and its time. Registers itself in the list of open radios.
class Device {
 public:
  /// Throws SetupError.
  explicit Device(const Settings& settings);

  uhd::usrp::multi_usrp& usrp() const noexcept { return *usrp_; }
  /// Sets its clock to the time of day, unless it is right already: a rate change may change the clock's rate.
  /// Throws SetupError if a pulse or a GPS should provide the time, and does not.
  void set_time();
  /// Whether its clock was set to the time of day, and runs.
  TimeSource time() const noexcept { return time_; }
  /// `uhd 'addr=192.168.10.2'`, the start of messages.
  const std::string& name() const noexcept { return name_; }
  /// `e320 FA4EDE7, firmware 4.3, fpga 8.0`
  const std::string& hardware() const noexcept { return hardware_; }
  /// Returns what `f` returns. Exceptions of `f` become a SetupError that names the step. Gives up a device that does
  /// not answer.
  template <class F> auto step(const char* what, F f) const;

  /// Adds the oscillators of these channels to the device's locks.
  void watch(bool transmits, const std::vector<std::size_t>& channels);
  void set_on_air(bool is_on);
  /// Called when the device no longer answers: all who share it release it, so it can be opened again.
  void give_up() noexcept { given_up_ = true; }
  bool is_given_up() const noexcept { return given_up_; }

 private:
  void set_sources();
  void await_reference() const;
  void set_time_at_pulse();
  bool is_right() const;
  RadioReadings read() const;
  void read_channels(bool transmits, RadioReadings& readings) const;

  std::string name_, args_, hardware_;
  std::string clock_source_, time_source_;
  double lock_within_s_;
  TimeSource time_ = TimeSource::host;
  bool stands_ = false;  // its clock does not run
  uhd::usrp::multi_usrp::sptr usrp_;
  mutable std::atomic<bool> given_up_{false};
  std::atomic<int> on_air_{-1};  // -1: not a transmitter
  mutable std::mutex channels_;
  std::set<std::size_t> watched_[2];    // receive, transmit
  std::optional<RadioOnList> on_list_;  // destroyed first, as it reads all the others
};

/// A source and a sink with the same `args` share a device; the first to open it sets `clock_source` and `time_source`.
/// Before closing, the owner takes the device out of here, so that nobody else gets it meanwhile.
struct SharedDevice {
  std::shared_ptr<Device> device;
};
std::shared_ptr<SharedDevice> open_device(const Settings& settings);

/// Runs `close`, which releases a device, in a thread of its own, and waits at most 3 s for it: closing a device that
/// no longer answers takes libuhd several time-outs of 10 s each.
void close_in_time(const std::string& name, std::function<void()> close);

/// Polls until `holds` returns true. Returns false after `within_s`.
bool comes_true(double within_s, const std::function<bool()>& holds);

/// Limits the time to the year 2112, or as far before the Unix epoch; such a time is rejected in any case.
std::int64_t ns_of(const uhd::time_spec_t& time) noexcept;
uhd::time_spec_t time_of(std::int64_t ns) noexcept;

/// The text of an exception, on one line.
std::string text_of(const std::exception_ptr& thrown);
[[noreturn]] void rethrow_as_setup_error(const std::string& name, const char* what);

template <class F> auto Device::step(const char* what, F f) const {
  try {
    return f();
  } catch (const uhd::not_implemented_error&) {
    rethrow_as_setup_error(name_, what);
  } catch (const uhd::runtime_error&) {
    // The call failed, or another program has claimed the device meanwhile.
    given_up_ = true;
    rethrow_as_setup_error(name_, what);
  } catch (...) {
    rethrow_as_setup_error(name_, what);
  }
}

}  // namespace iqd::radio::usrp
