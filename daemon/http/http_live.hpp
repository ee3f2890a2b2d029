// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/http_access.hpp"
#include "daemon/http/peer_watch.hpp"
#include "daemon/http/service.hpp"
#include "daemon/live/live_hub.hpp"
#include "daemon/live/live_thread.hpp"

struct mg_connection;

namespace iqd {

/// The WebSocket of the live page. A viewer is served by the server's thread of its connection, so no other viewer waits
/// for it. What viewers send is not read.
class HttpLive {
 public:
  static constexpr std::string_view kPath = "/api/live";

  HttpLive(const Service& service, const Spec& spec, const HttpAccess& access);
  const live::LiveHub& hub() const noexcept { return hub_; }
  /// All viewers leave, and no peer is asked any more.
  void close();

  /// Whether a request asks for a WebSocket that this can serve.
  static bool is_upgrade(mg_connection* connection);
  /// Shows until the viewer leaves or `close`, in the calling thread.
  void show(mg_connection* connection);

 private:
  /// The service as the live page sees it.
  class Subject final : public live::LiveSubject {
   public:
    Subject(const Service& service, const std::vector<std::string>& peers) : service_(service), peers_(peers) {}
    std::vector<live::LivePipeline> pipelines() const override { return service_.live(); }
    Look look() const override;
    std::string peers() const override { return peers_.text(); }
    void close() { peers_.close(); }

   private:
    const Service& service_;
    PeerWatch peers_;
  };

  live::LiveHub hub_;
  Subject subject_;
  live::LiveThread thread_;  // last: it uses both
};

/// The traces that the query of a request names: trace 0 without one. Nothing if it is wrong.
std::optional<live::TraceSet> asked_traces(std::string_view query);

}  // namespace iqd
