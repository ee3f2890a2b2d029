// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/page_check.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "daemon/http/peer_watch.hpp"

namespace iqd {
namespace {

constexpr std::size_t kMostPeers = 32;

void check_recordings(const Spec& spec) {
  const char* const folder = spec.recordings.c_str();
  struct stat facts {};
  if (::stat(folder, &facts) != 0 || !S_ISDIR(facts.st_mode))
    spec.monitor->problem("recordings", fmt::format("{}: there is no such folder; create it", folder));
  else if (::access(folder, W_OK | X_OK) != 0)
    spec.monitor->problem("recordings", fmt::format("{}: iqd may not write into this folder", folder));
}

void check_peers(const Spec& spec) {
  if (spec.peers.size() > kMostPeers)
    spec.monitor->problem("peers", fmt::format("at most {} are possible", kMostPeers));
  for (const std::string& peer : spec.peers) try {
      peer_url(peer);
    } catch (const UsageError& e) {
      spec.monitor->problem("peers", e.what());
    }
}

}  // namespace

void check_page(const Spec& spec) {
  if (!spec.recordings.empty()) check_recordings(spec);
  check_peers(spec);
  const bool is_link = spec.grafana.starts_with("http://") || spec.grafana.starts_with("https://");
  if (!spec.grafana.empty() && !is_link)
    spec.monitor->problem("grafana",
                          fmt::format("'{}' is not an address that begins with http:// or https://", spec.grafana));
}

}  // namespace iqd
