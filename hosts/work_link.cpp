// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/work_link.hpp"

#include <fmt/format.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "hosts/nats_link.hpp"

namespace iqd::hosts {
namespace {

constexpr int kHomeAnswerMs = 500;
constexpr int kAnswerMs = 1000;

class NatsBlock final : public HeldBlock {
 public:
  NatsBlock(NatsLink& link, const PoolNames& names, std::shared_ptr<natsSubscription> from, int connections,
            Held<natsMsg> message, BlockHead head, std::span<const std::byte> samples)
      : link_(link),
        names_(names),
        from_(std::move(from)),
        message_(std::move(message)),
        head_(std::move(head)),
        samples_(samples),
        connections_(connections) {}
  const BlockHead& head() const noexcept override { return head_; }
  std::span<const std::byte> samples() const noexcept override { return samples_; }
  void beat() noexcept override {
    if (is_known()) natsMsg_InProgress(message_.get(), nullptr);
  }
  /// The server that knows this delivery is connected. After a restart, another block may have its number.
  bool is_known() const noexcept { return link_.is_connected() && link_.connections() == connections_; }
  bool finish(std::string_view result) noexcept override {
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MaxWait = kAnswerMs;
    const natsStatus status = js_Publish(nullptr, link_.stream(), names_.done.c_str(), result.data(),
                                         static_cast<int>(result.size()), &options, nullptr);
    if (status == NATS_OK && is_known()) natsMsg_Ack(message_.get(), nullptr);
    return status == NATS_OK;
  }
  void give_back() noexcept override {
    if (is_known()) natsMsg_Nak(message_.get(), nullptr);
  }

 private:
  NatsLink& link_;
  const PoolNames& names_;
  std::shared_ptr<natsSubscription> from_;  // libnats answers by way of it
  Held<natsMsg> message_;
  BlockHead head_;
  std::span<const std::byte> samples_;
  const int connections_;
};

class NatsWork final : public WorkLink {
 public:
  NatsWork(const LinkConfig& config, const std::string& pool) : names_(pool), link_(config, "work " + pool) {}
  bool is_connected() const noexcept override { return link_.is_connected(); }
  std::string server() const override { return link_.server(); }
  std::string trouble() const override { return link_.trouble(); }
  std::size_t most_bytes() const override { return link_.most_bytes(); }
  std::string failure() const override { return link_.failure(); }
  std::optional<HomeFacts> home() override;
  std::unique_ptr<HeldBlock> fetch(int wait_ms) override;
  std::optional<std::string> order(const std::string& hash) override;
  void say(const HereMessage& here) noexcept override {
    natsConnection_PublishString(link_.get(), names_.here.c_str(), here_text(here).c_str());
  }

 private:
  /// Fetches blocks for one thread at a time.
  struct Fetcher {
    std::shared_ptr<natsSubscription> subscription;
    int connections = 0;  // of the link: since then it exists
  };
  Fetcher subscribe();
  void keep(Fetcher fetcher) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(fetcher));
  }

  const PoolNames names_;
  NatsLink link_;
  std::mutex mutex_;
  std::vector<Fetcher> idle_;
};

std::optional<HomeFacts> NatsWork::home() {
  return ask_home(link_, names_, kHomeAnswerMs);
}

/// Null: the server has no such pool yet, or does not answer.
NatsWork::Fetcher NatsWork::subscribe() {
  const int connections = link_.connections();
  {
    const std::lock_guard lock(mutex_);
    // One of an earlier connection may hold a block that this server does not know.
    std::erase_if(idle_, [&](const Fetcher& f) { return f.connections != connections; });
    if (!idle_.empty()) {
      Fetcher fetcher = std::move(idle_.back());
      idle_.pop_back();
      return fetcher;
    }
  }
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = names_.todo_stream.c_str();
  options.Consumer = kWorkers;
  natsSubscription* made = nullptr;
  js_PullSubscribe(&made, link_.stream(), names_.todo.c_str(), kWorkers, nullptr, &options, nullptr);
  if (made) natsSubscription_SetPendingLimits(made, -1, -1);
  return {std::shared_ptr<natsSubscription>(made, Destroy()), connections};
}

std::unique_ptr<HeldBlock> NatsWork::fetch(int wait_ms) {
  Fetcher fetcher = subscribe();
  if (!fetcher.subscription) {
    nats_Sleep(std::min(wait_ms, 100));
    return nullptr;
  }
  natsMsgList list{};
  const natsStatus status = natsSubscription_Fetch(&list, fetcher.subscription.get(), 1, wait_ms, nullptr);
  if (status != NATS_OK || list.Count == 0) {
    if (status != NATS_TIMEOUT) nats_Sleep(20);
    if (status == NATS_OK || status == NATS_TIMEOUT) keep(std::move(fetcher));
    return nullptr;
  }
  Held<natsMsg> message(std::exchange(list.Msgs[0], nullptr));
  natsMsgList_Destroy(&list);
  keep(fetcher);
  std::span<const std::byte> samples;
  auto head = read_block(data_of(message.get()), samples);
  if (head)
    return std::make_unique<NatsBlock>(link_, names_, fetcher.subscription, fetcher.connections, std::move(message),
                                       std::move(*head), samples);
  // Nobody can do anything with it.
  natsMsg_Term(message.get(), nullptr);
  return nullptr;
}

std::optional<std::string> NatsWork::order(const std::string& hash) {
  jsOptions options;
  jsOptions_Init(&options);
  options.Wait = kAnswerMs;
  natsMsg* found = nullptr;
  const natsStatus status = js_GetLastMsg(&found, link_.stream(), names_.plan_stream.c_str(),
                                          names_.plan_of(hash).c_str(), &options, nullptr);
  const Held<natsMsg> held(found);
  if (status != NATS_OK && status != NATS_NOT_FOUND) return std::nullopt;
  return found ? std::string(data_of(found)) : std::string();
}

}  // namespace

std::optional<HomeFacts> ask_home(const NatsLink& link, const PoolNames& names, int wait_ms) {
  natsMsg* answer = nullptr;
  if (natsConnection_RequestString(&answer, link.get(), names.home.c_str(), "", wait_ms) != NATS_OK) return {};
  const Held<natsMsg> held(answer);
  const auto text = nlohmann::json::parse(data_of(answer), nullptr, false);
  if (!text.is_object()) return {};
  try {
    return HomeFacts{text.at("run"),  text.at("host"),     text.at("build"),
                     text.at("same"), text.at("ack_wait"), text.at("patience")};
  } catch (const nlohmann::json::exception&) {
    return {};
  }
}

std::unique_ptr<WorkLink> open_work_link(const LinkConfig& config, const std::string& pool) {
  return std::make_unique<NatsWork>(config, pool);
}

}  // namespace iqd::hosts
