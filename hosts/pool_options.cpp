// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/pool_options.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace iqd::hosts {
namespace {

class Options final : public PoolOptions {
 public:
  void fields(FieldVisitor& v) override { config_.fields(v); }
  void check(const Section& section) const override { config_.check(section); }
  int most_out(const PoolNeeds& needs) const override { return config_.most_out(needs); }
  Needs needs(const PoolNeeds& needs) const override {
    // Results that wait for earlier ones, and two blocks on their way into the socket.
    const auto out = static_cast<std::size_t>(most_out(needs));
    return {{.what = "pool " + name_for(needs),
             .bytes = 2 * needs.block_bytes,
             .more = out * needs.result_bytes,
             .threads = 8,
             .files = 4}};
  }
  std::shared_ptr<Pool> open(const PoolNeeds& needs) const override {
    PoolConfig config = config_;
    config.name = name_for(needs);
    return open_pool(config, needs);
  }

  const PoolConfig& config() const noexcept { return config_; }

 private:
  std::string name_for(const PoolNeeds& needs) const { return config_.name.empty() ? needs.pipeline : config_.name; }

  PoolConfig config_;
};

}  // namespace

void PoolConfig::fields(FieldVisitor& v) {
  link.fields(v);
  v.field("name", name, {.help = "name of the pool, for its workers; default: the pipeline's"});
  v.field("window", window, {.help = "blocks that are out at the same time", .unit = Unit::bytes, .low = 1});
  v.field("patience", patience_s,
          {.help = "a block without a result after this is lost", .unit = Unit::seconds, .low = 0.01, .high = 3600});
  v.field("ack_wait", ack_wait_s,
          {.help = "a worker that is silent for this long is dead: its block goes to another",
           .unit = Unit::seconds,
           .low = 0.1,
           .high = 600});
  v.field("tries", tries, {.help = "workers that may try a block", .low = 1, .high = 100});
  v.field("storage", storage, {.help = "memory: fastest; file: survives a restart of the server"});
  v.field("replicas", replicas, {.help = "servers of the cluster that hold each block", .low = 1, .high = 5});
  v.field("same", same,
          {.help = "only workers whose stages are built from the same code: then results are those of one host"});
}

void PoolConfig::check(const Section& section) const {
  link.check(section);
  if (!name.empty() && !is_pool_name(name))
    section.problem("name", fmt::format("'{}' cannot be a name: up to 64 letters, digits, - and _", name));
  if (patience_s < ack_wait_s * static_cast<double>(tries - 1))
    section.warning("patience", fmt::format("a block is lost after {:g} s, before {} workers can have tried it: {} · "
                                            "{:g} s of `ack_wait`",
                                            patience_s, tries, tries - 1, ack_wait_s));
}

int PoolConfig::most_out(const PoolNeeds& needs) const noexcept {
  std::int64_t blocks = window / static_cast<std::int64_t>(std::max<std::size_t>(needs.block_bytes, 1));
  // Of a live stream, more than `patience` lasts would be lost before they are done.
  if (needs.live && needs.rate_hz > 0 && needs.block > 0)
    blocks = std::min(
        blocks,
        static_cast<std::int64_t>(std::min(patience_s * needs.rate_hz / static_cast<double>(needs.block), 1e6)) + 2);
  return static_cast<int>(std::clamp<std::int64_t>(blocks, 1, kMostAway));
}

const PoolConfig& config_of(const PoolOptions& options) {
  return dynamic_cast<const Options&>(options).config();
}

std::unique_ptr<PoolOptions> make_pool_options() {
  return std::make_unique<Options>();
}

}  // namespace iqd::hosts
