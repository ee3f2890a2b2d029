// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/stored_messages.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/error.hpp"
#include "hosts/framing.hpp"
#include "hosts/nats_link.hpp"

namespace iqd::hosts {
namespace {

constexpr int kStoreMs = 2000;

class NatsStore final : public MessageStore {
 public:
  NatsStore(const LinkConfig& link, const StreamConfig& config) : subject_(config.subject), link_(link, "nats sink") {
    jsStreamConfig stream;
    jsStreamConfig_Init(&stream);
    const char* subjects[] = {subject_.c_str()};
    stream.Name = config.stream.c_str();
    stream.Subjects = subjects;
    stream.SubjectsLen = 1;
    stream.MaxBytes = config.max_bytes;
    stream.MaxAge = static_cast<std::int64_t>(config.max_age_s * 1e9);
    stream.Storage = config.storage == Storage::file ? js_FileStorage : js_MemoryStorage;
    stream.Replicas = config.replicas;
    jsErrCode code = jsErrCode(0);
    natsStatus status = js_AddStream(nullptr, link_.stream(), &stream, nullptr, &code);
    // What is stored stays: a stream with other keys is changed, not made again.
    if (status != NATS_OK && code == JSStreamNameExistErr)
      status = js_UpdateStream(nullptr, link_.stream(), &stream, nullptr, &code);
    must(status, fmt::format("nats sink: the stream {}", config.stream), code);
  }

  bool put(std::string_view head, std::span<const std::byte> payload) override {
    message_ = framed(head);
    message_.append(reinterpret_cast<const char*>(payload.data()), payload.size());
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MaxWait = kStoreMs;
    return link_.is_connected() && js_Publish(nullptr, link_.stream(), subject_.c_str(), message_.data(),
                                              static_cast<int>(message_.size()), &options, nullptr) == NATS_OK;
  }

 private:
  const std::string subject_;
  NatsLink link_;
  std::string message_;
};

class NatsFeed final : public MessageFeed {
 public:
  NatsFeed(const LinkConfig& link, const std::string& stream, const std::string& reader, ReadFrom from)
      : link_(link, "nats source") {
    jsConsumerConfig consumer;
    jsConsumerConfig_Init(&consumer);
    consumer.Durable = reader.c_str();
    consumer.AckPolicy = js_AckExplicit;
    consumer.DeliverPolicy = from == ReadFrom::first  ? js_DeliverAll
                             : from == ReadFrom::last ? js_DeliverLast
                                                      : js_DeliverNew;
    consumer.MaxAckPending = 1;  // so messages come in order, also after a loss of the connection
    jsErrCode code = jsErrCode(0);
    const natsStatus known = js_GetConsumerInfo(&info_, link_.stream(), stream.c_str(), reader.c_str(), nullptr, &code);
    jsConsumerInfo_Destroy(info_);
    if (known != NATS_OK)
      must(js_AddConsumer(nullptr, link_.stream(), stream.c_str(), &consumer, nullptr, &code),
           fmt::format("nats source: reading the stream {}", stream), code);
    jsSubOptions options;
    jsSubOptions_Init(&options);
    options.Stream = stream.c_str();
    options.Consumer = reader.c_str();
    natsSubscription* made = nullptr;
    must(js_PullSubscribe(&made, link_.stream(), nullptr, reader.c_str(), nullptr, &options, &code),
         fmt::format("nats source: reading the stream {} as {}", stream, reader), code);
    subscription_.reset(made);
  }

  Got next(int wait_ms) override {
    if (message_) natsMsg_Ack(message_.get(), nullptr);
    message_.reset();
    natsMsgList list{};
    const natsStatus status = natsSubscription_Fetch(&list, subscription_.get(), 1, wait_ms, nullptr);
    if (status != NATS_OK || list.Count == 0) {
      if (!link_.failure().empty() || !natsSubscription_IsValid(subscription_.get())) return Got::failed;
      if (status != NATS_TIMEOUT) nats_Sleep(20);
      return Got::nothing;
    }
    message_.reset(std::exchange(list.Msgs[0], nullptr));
    natsMsgList_Destroy(&list);
    return split(data_of(message_.get()), head_, payload_) ? Got::message : Got::nonsense;
  }
  std::string_view head() const noexcept override { return head_; }
  std::string_view payload() const noexcept override { return payload_; }
  std::string trouble() const override { return link_.trouble(); }

 private:
  NatsLink link_;
  jsConsumerInfo* info_ = nullptr;
  Held<natsSubscription> subscription_;
  Held<natsMsg> message_;
  std::string_view head_, payload_;
};

}  // namespace

std::unique_ptr<MessageStore> open_store(const LinkConfig& link, const StreamConfig& config) {
  return std::make_unique<NatsStore>(link, config);
}

std::unique_ptr<MessageFeed> open_feed(const LinkConfig& link, const std::string& stream, const std::string& reader,
                                       ReadFrom from) {
  return std::make_unique<NatsFeed>(link, stream, reader, from);
}

}  // namespace iqd::hosts
