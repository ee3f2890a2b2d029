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
/// Whether a value is one: MPM has words for what it does not know.
inline bool is_known(std::string_view value) noexcept {
  return !value.empty() && value != "n/a" && value != "UNKNOWN";
}
/// What a device is, with the versions of what runs on it; of several boards each value that there is.
Facts facts_of(uhd::usrp::multi_usrp& usrp);

/// One USRP, or several as one, with its reference and its time. While it lives it is on the list of open radios.
class Device {
 public:
  /// Throws SetupError.
  explicit Device(const Settings& settings);

  uhd::usrp::multi_usrp& usrp() const noexcept { return *usrp_; }
  /// Sets its clock to the time of day, where that is not so already: a change of the rate may be one of its clock.
  /// Throws SetupError where a pulse or a GPS is to tell the time, and does not.
  void set_time();
  /// Whether its clock was set to the time of day, and goes.
  TimeSource time() const noexcept { return time_; }
  /// `uhd 'addr=192.168.10.2'`, to begin messages with.
  const std::string& name() const noexcept { return name_; }
  /// `e320 FA4EDE7, firmware 4.3, fpga 8.0`
  const std::string& hardware() const noexcept { return hardware_; }
  /// Returns what `f` returns; what it throws becomes a SetupError that says at which step. Gives a device up that does
  /// not answer.
  template <class F> auto step(const char* what, F f) const;

  /// From now on the oscillators of these channels are among its locks.
  void watch(bool transmits, const std::vector<std::size_t>& channels);
  void set_on_air(bool is_on);
  /// Whoever finds that it no longer answers gives it up: it is opened anew, and all who share it let go of it.
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
  bool stands_ = false;  // its clock
  uhd::usrp::multi_usrp::sptr usrp_;
  mutable std::atomic<bool> given_up_{false};
  std::atomic<int> on_air_{-1};  // -1: it does not transmit
  mutable std::mutex channels_;
  std::set<std::size_t> watched_[2];    // receive, transmit
  std::optional<RadioOnList> on_list_;  // the first to go, as it asks all the others
};

/// A source and a sink with the same `args` share a device: the first that is opened decides on `clock_source` and
/// `time_source`. Who closes one takes it out of here first, so that nobody else gets it meanwhile.
struct SharedDevice {
  std::shared_ptr<Device> device;
};
std::shared_ptr<SharedDevice> open_device(const Settings& settings);

/// Runs `close`, which lets go of a device, in a thread of its own, and waits 3 s for it at most: closing a device that
/// no longer answers takes libuhd through several time-outs of 10 s each.
void close_in_time(const std::string& name, std::function<void()> close);

/// Asks until `holds`, or for so long; false then.
bool comes_true(double within_s, const std::function<bool()>& holds);

/// A time further from the Unix epoch than the year 2112 becomes one of then, which nobody believes either.
std::int64_t ns_of(const uhd::time_spec_t& time) noexcept;
uhd::time_spec_t time_of(std::int64_t ns) noexcept;

/// The text of what was thrown, on one line.
std::string text_of(const std::exception_ptr& thrown);
[[noreturn]] void rethrow_as_setup_error(const std::string& name, const char* what);

template <class F> auto Device::step(const char* what, F f) const {
  try {
    return f();
  } catch (const uhd::not_implemented_error&) {
    rethrow_as_setup_error(name_, what);
  } catch (const uhd::runtime_error&) {
    // A call that did not come through, or to a device that somebody else has claimed meanwhile.
    given_up_ = true;
    rethrow_as_setup_error(name_, what);
  } catch (...) {
    rethrow_as_setup_error(name_, what);
  }
}

}  // namespace iqd::radio::usrp
