// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "radio/uhd/uhd_options.hpp"

namespace iqd::radio::usrp {
namespace {

[[noreturn]] void refuse() {
  throw SetupError("uhd: this iqd was built without UHD");
}

}  // namespace

bool is_built_in() noexcept {
  return false;
}

std::unique_ptr<Source> open_source(const Settings&, Element) {
  refuse();
}

std::unique_ptr<Sink> open_sink(const Settings&, const Timing&, Element) {
  refuse();
}

std::vector<FoundDevice> probe(const std::string&) {
  refuse();
}

bool can_be_opened(const std::string&) {
  return false;
}

}  // namespace iqd::radio::usrp
