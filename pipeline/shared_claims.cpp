// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "pipeline/shared_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "config/quantity.hpp"

namespace iqd {
namespace {

/// A pipeline's entry that claims something.
struct Claimant {
  const PipelineSpec* pipeline = nullptr;  // null: the file itself
  const Section* section = nullptr;
  Claim claim{};
  std::string port{};  // what it sends; empty: it receives
};

/// What is wrong with a claim that another entry has made before.
std::string refusal(const Claimant& late, const Claimant& first) {
  const std::string& what = late.claim.what;
  const std::string owner = first.section->path();
  switch (late.claim.kind) {
    case Claim::Kind::radio:
      if (late.pipeline == first.pipeline)
        return fmt::format("{} already uses {}: use another radio or channel", owner, what);
      return fmt::format(
          "pipeline '{}' already uses {}: use another radio or channel, or publish `source` there and "
          "read it here with a `zmq` source",
          first.pipeline->name, what);
    case Claim::Kind::file: return fmt::format("{} already writes {}; choose another path", owner, what);
    case Claim::Kind::address: break;
  }
  return fmt::format("{} already binds {}; choose another port", owner, first.claim.what);
}

/// All claims, in the order of the file. Entries of `publish` with one address share its socket.
class ClaimList {
 public:
  explicit ClaimList(const Spec& spec) {
    for (const PipelineSpec& p : spec.pipelines) {
      if (p.source) add(&p, *p.source_section, p.source->claims());
      for (const PublishSpec& publish : p.publish)
        if (const std::string endpoint = publish.options->endpoint(); sockets_.insert(endpoint).second)
          add(&p, publish.section, {{Claim::Kind::address, endpoint, "bind"}}, publish.port);
      for (const SinkSpec& sink : p.sinks)
        if (sink.options) add(&p, sink.section, sink.options->claims(), sink.port);
    }
    if (spec.monitor) add(nullptr, *spec.monitor, {{Claim::Kind::address, "tcp://" + spec.listen, "listen"}});
  }

  void refuse_second_ones() const {
    for (std::size_t i = 0; i < all_.size(); ++i)
      for (std::size_t k = 0; k < i; ++k) {
        if (all_[k].section == all_[i].section || !overlap(all_[k].claim, all_[i].claim)) continue;
        all_[i].section->problem(all_[i].claim.key, refusal(all_[i], all_[k]));
        break;
      }
  }
  /// The entry that publishes at an address; null if none does.
  const Claimant* publisher_at(const std::string& address) const {
    const auto at = std::ranges::find_if(all_, [&](const Claimant& c) {
      return !c.port.empty() && overlap(c.claim, {Claim::Kind::address, address, ""});
    });
    return at == all_.end() ? nullptr : &*at;
  }

 private:
  void add(const PipelineSpec* pipeline, const Section& section, const Claims& claims, const std::string& port = {}) {
    for (const Claim& claim : claims)
      if (!claim.what.empty()) all_.push_back({pipeline, &section, claim, port});
  }

  std::vector<Claimant> all_;
  std::set<std::string> sockets_{""};  // of `publish`
};

/// Each socket of `publish` belongs to one pipeline.
void refuse_shared_sockets(const Spec& spec) {
  std::map<std::string, std::pair<const PipelineSpec*, const PublishSpec*>> owners;
  for (const PipelineSpec& pipeline : spec.pipelines)
    for (const PublishSpec& p : pipeline.publish) {
      const std::string endpoint = p.options->endpoint();
      if (endpoint.empty()) continue;
      const auto [at, is_new] = owners.insert({endpoint, {&pipeline, &p}});
      const auto& [owner, first] = at->second;
      if (owner != &pipeline)
        p.section.problem(
            "bind", fmt::format("{} already belongs to pipeline '{}'; choose another port", endpoint, owner->name));
      else if (const std::string_view key = is_new ? "" : p.options->clash(*first->options); !key.empty())
        p.section.problem(key, fmt::format("entries at {} share a socket: give each the same value", endpoint));
    }
}

/// Each topic of an address belongs to one entry.
class TopicList {
 public:
  void add(const PipelineSpec& pipeline, const std::string& address, const std::string& topic, const std::string& port,
           const Section& section) {
    if (address.empty() || topic.empty()) return;
    const auto [at, is_new] = owners_.insert({{address, topic}, {&pipeline, port}});
    if (is_new) return;
    const auto& [owner, owner_port] = at->second;
    const std::string of = owner == &pipeline ? "" : fmt::format(" of pipeline '{}'", owner->name);
    section.problem("topic", fmt::format("'{}' is already the topic of {}{} at {}; choose another, so that readers can "
                                         "tell them apart",
                                         topic, owner_port, of, address));
  }

 private:
  std::map<std::pair<std::string, std::string>, std::pair<const PipelineSpec*, std::string>> owners_;
};

void refuse_shared_topics(const Spec& spec) {
  TopicList topics;
  std::map<std::string, const PipelineSpec*> owners;  // of sockets; another pipeline's is reported as such
  for (const PipelineSpec& pipeline : spec.pipelines) {
    for (const PublishSpec& p : pipeline.publish) {
      const std::string endpoint = p.options->endpoint();
      if (!endpoint.empty() && owners.insert({endpoint, &pipeline}).first->second != &pipeline) continue;
      topics.add(pipeline, p.options->socket(), p.options->topic(), p.port, p.section);
    }
    for (const SinkSpec& sink : pipeline.sinks) {
      if (!sink.options) continue;
      const auto [address, topic] = sink.options->topic_at();
      topics.add(pipeline, address, topic, sink.port, sink.section);
    }
  }
}

/// `rate: 250 kS/s`, if the plan knows the rate of this port.
std::string rate_of(const std::string& port, const Plan& plan) {
  for (const PlanPort& p : plan.ports)
    if ((p.name == port || p.name == port + ".out") && p.shape.rate_hz > 0)
      return fmt::format("`rate: {}`", quantity_text(p.shape.rate_hz, Unit::rate));
  return "`rate`";
}

/// A source cannot wait for a message of a pipeline that only starts when all sources are open.
void refuse_waiting_for_itself(const Spec& spec, const ClaimList& claims, const std::vector<Plan>& plans) {
  for (const PipelineSpec& pipeline : spec.pipelines) {
    if (!pipeline.source || !pipeline.source_section->wrong_keys().empty()) continue;
    for (const std::string& address : pipeline.source->waits_for()) {
      const Claimant* const from = claims.publisher_at(address);
      if (!from) continue;
      const auto index = static_cast<std::size_t>(from->pipeline - spec.pipelines.data());
      pipeline.source_section->problem(
          "rate", fmt::format("is required: {} publishes at {}, and does not start before this source is open; give {}",
                              from->section->path(), address, rate_of(from->port, plans.at(index))));
    }
  }
}

}  // namespace

void refuse_shared_claims(const Spec& spec, const std::vector<Plan>& plans) {
  const ClaimList claims(spec);
  claims.refuse_second_ones();
  refuse_shared_sockets(spec);
  refuse_shared_topics(spec);
  refuse_waiting_for_itself(spec, claims, plans);
}

}  // namespace iqd
