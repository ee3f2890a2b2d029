// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/pool_streams.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "base/integer.hpp"

namespace iqd::hosts {
namespace {

/// Pull requests that wait: more than workers have lanes.
constexpr std::int64_t kMostWaiting = 4096;

std::int64_t bytes_of(int messages, std::size_t each) {
  // After a restart of the server, blocks are there twice.
  return static_cast<std::int64_t>(bounded_bytes(2 * messages + 2, each + kMostHeadBytes));
}

}  // namespace

PoolStreams::PoolStreams(NatsLink& link, const PoolNames& names, const PoolConfig& config, const PoolNeeds& needs,
                         int most_out, std::string run)
    : link_(link),
      names_(names),
      config_(config),
      todo_bytes_(bytes_of(most_out, needs.block_bytes)),
      done_bytes_(bytes_of(most_out, needs.result_bytes)),
      most_out_(most_out),
      run_(std::move(run)) {}

bool PoolStreams::make(int wait_ms) {
  jsOptions_Init(&wait_);
  wait_.Wait = wait_ms;
  jsStreamConfig queue;
  jsStreamConfig_Init(&queue);
  queue.Retention = js_WorkQueuePolicy;
  queue.Discard = js_DiscardNew;
  queue.MaxBytes = todo_bytes_;
  queue.Description = run_.c_str();
  make_stream(names_.todo_stream, names_.todo, queue);
  // With `replicas`, results that were read may remain at servers that do not lead: an acknowledgement that overtakes its
  // message there is lost (nats-server 2.9, in memory). A copy that is full of these must not refuse others.
  queue.Discard = js_DiscardOld;
  queue.MaxBytes = done_bytes_;
  make_stream(names_.done_stream, names_.done, queue);
  jsStreamConfig orders;
  jsStreamConfig_Init(&orders);
  orders.MaxMsgs = kMostOrders;
  orders.MaxMsgsPerSubject = 1;
  make_stream(names_.plan_stream, names_.plans, orders);
  make_consumer(names_.todo_stream, kWorkers, names_.todo, true);
  make_consumer(names_.done_stream, kHome, names_.done, false);
  const std::int64_t before = created_;
  created_ = look(names_.todo_stream, wait_ms)->Created;
  return created_ != before;
}

/// What exists is changed; if it cannot be, it is deleted and made.
void PoolStreams::make_stream(const std::string& name, const std::string& subject, const jsStreamConfig& base) {
  jsStreamConfig config = base;
  const char* subjects[] = {subject.c_str()};
  config.Name = name.c_str();
  config.Subjects = subjects;
  config.SubjectsLen = 1;
  config.Storage = config_.storage == Storage::file ? js_FileStorage : js_MemoryStorage;
  config.Replicas = config_.replicas;
  jsErrCode code = jsErrCode(0);
  natsStatus status = js_AddStream(nullptr, link_.stream(), &config, &wait_, &code);
  if (status != NATS_OK && code == JSStreamNameExistErr) {
    status = js_UpdateStream(nullptr, link_.stream(), &config, &wait_, &code);
    // Not if there was no answer.
    if (status != NATS_OK && code != 0 && js_DeleteStream(link_.stream(), name.c_str(), &wait_, &code) == NATS_OK)
      status = js_AddStream(nullptr, link_.stream(), &config, &wait_, &code);
  }
  must(status, fmt::format("pool: the stream {}, {} bytes", name, config.MaxBytes), code);
}

void PoolStreams::make_consumer(const std::string& stream, const char* name, const std::string& subject,
                                bool counts_tries) {
  jsConsumerConfig config;
  jsConsumerConfig_Init(&config);
  config.Durable = name;
  config.FilterSubject = subject.c_str();
  config.AckPolicy = js_AckExplicit;
  config.AckWait = static_cast<std::int64_t>(config_.ack_wait_s * 1e9);
  config.MaxDeliver = counts_tries ? config_.tries : -1;
  config.MaxAckPending = most_out_ + 2;
  config.MaxWaiting = kMostWaiting;
  jsErrCode code = jsErrCode(0);
  natsStatus status = js_AddConsumer(nullptr, link_.stream(), stream.c_str(), &config, &wait_, &code);
  if (status != NATS_OK && code != 0 &&
      js_DeleteConsumer(link_.stream(), stream.c_str(), name, &wait_, nullptr) == NATS_OK)
    status = js_AddConsumer(nullptr, link_.stream(), stream.c_str(), &config, &wait_, &code);
  must(status, fmt::format("pool: the consumer {} of {}", name, stream), code);
}

Held<jsStreamInfo> PoolStreams::look(const std::string& stream, int wait_ms) const {
  jsOptions options;
  jsOptions_Init(&options);
  options.Wait = wait_ms;
  jsStreamInfo* made = nullptr;
  jsErrCode code = jsErrCode(0);
  must(js_GetStreamInfo(&made, link_.stream(), stream.c_str(), &options, &code), "pool: " + stream, code);
  return Held<jsStreamInfo>(made);
}

void PoolStreams::drop() {
  jsOptions options;
  jsOptions_Init(&options);
  options.Wait = kAnswerMs;
  // Without a leader, a stream is deleted, but nobody says so.
  for (const std::string& stream : {names_.todo_stream, names_.done_stream})
    js_DeleteStream(link_.stream(), stream.c_str(), &options, nullptr);
}

bool PoolStreams::are_led() const {
  jsOptions options;
  jsOptions_Init(&options);
  options.Wait = kAnswerMs;
  const auto is_led = [&](const std::string& stream, const char* consumer) {
    jsStreamInfo* of_stream = nullptr;
    jsConsumerInfo* of_consumer = nullptr;
    const bool answer =
        js_GetStreamInfo(&of_stream, link_.stream(), stream.c_str(), &options, nullptr) == NATS_OK &&
        js_GetConsumerInfo(&of_consumer, link_.stream(), stream.c_str(), consumer, &options, nullptr) == NATS_OK;
    jsStreamInfo_Destroy(of_stream);
    jsConsumerInfo_Destroy(of_consumer);
    return answer;
  };
  return is_led(names_.todo_stream, kWorkers) && is_led(names_.done_stream, kHome);
}

PoolStreams::Owner PoolStreams::owner() const {
  try {
    const Held<jsStreamInfo> info = look(names_.todo_stream, kAnswerMs);
    if (!info->Config || !info->Config->Description) return Owner::none;
    return run_ == info->Config->Description ? Owner::us : Owner::other;
  } catch (const SetupError&) {
    return Owner::none;
  }
}

void PoolStreams::purge() {
  for (const std::string& stream : {names_.todo_stream, names_.done_stream}) {
    jsErrCode code = jsErrCode(0);
    must(js_PurgeStream(link_.stream(), stream.c_str(), nullptr, &code), "pool: purging " + stream, code);
  }
}

void PoolStreams::publish_order(const WorkOrder& order) {
  if (order.text.size() > link_.most_bytes())
    throw SetupError(fmt::format("pool: the plan has {} bytes; the server's max_payload is {}", order.text.size(),
                                 link_.most_bytes()));
  jsPubOptions options;
  jsPubOptions_Init(&options);
  options.MaxWait = kAnswerMs;
  jsErrCode code = jsErrCode(0);
  must(js_Publish(nullptr, link_.stream(), names_.plan_of(order.hash).c_str(), order.text.data(),
                  static_cast<int>(order.text.size()), &options, &code),
       "pool: publishing the plan", code);
}

void PoolStreams::remove_block(std::uint64_t sequence, const std::string& reply) noexcept {
  const std::string subject = "$JS.API.STREAM.MSG.DELETE." + names_.todo_stream;
  const std::string request = fmt::format(R"({{"seq":{},"no_erase":true}})", sequence);
  natsConnection_PublishRequestString(link_.get(), subject.c_str(), reply.c_str(), request.c_str());
}

}  // namespace iqd::hosts
