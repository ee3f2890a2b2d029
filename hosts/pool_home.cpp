// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "hosts/pool_home.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "hosts/pull.hpp"

namespace iqd::hosts {
namespace {

/// How often the clock is looked at.
constexpr std::int64_t kTickNs = 10'000'000;
/// A block that is not stored is published again after this, then after twice as long, up to kLongestRetryNs.
constexpr std::int64_t kFirstRetryNs = 100'000'000;
constexpr int kFetchMs = 500, kFetchBatch = 32;
constexpr int kHomeAskMs = 300, kFirstAskMs = 1000;
/// Servers elect a leader within 9 s. Of two that are left, nats-server 2.9.10 may refuse both for good: if one has the
/// newer term, and the other more messages. New streams need an election for each of them.
constexpr std::int64_t kLeaderlessNs = 10'000'000'000, kElectionsNs = 30'000'000'000, kLeaderCheckNs = 1'000'000'000;
/// libnats has no name for the status of a request that nobody takes.
constexpr int kNobody = 503;

/// 64 random bits.
std::string random_name() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

/// A number in a message from anywhere; 0 if it is none.
std::uint64_t number_in(const nlohmann::json& map, const char* key) {
  const auto at = map.is_object() ? map.find(key) : map.end();
  return at != map.end() && at->is_number_unsigned() ? at->get<std::uint64_t>() : 0;
}

/// The last two parts of a subject. False: they are no numbers.
bool read_numbers(std::string_view subject, std::uint64_t& first, std::uint64_t& second) {
  for (std::uint64_t* const value : {&second, &first}) {
    const std::size_t dot = subject.rfind('.');
    const std::string_view digits = subject.substr(dot + 1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), *value).ec != std::errc()) return false;
    subject = subject.substr(0, dot);
  }
  return true;
}

/// The results in a message, which this holds.
class MessageResult final : public PoolResult {
 public:
  MessageResult(Held<natsMsg> message, std::vector<PoolPort> ports)
      : message_(std::move(message)), ports_(std::move(ports)) {}
  std::span<const PoolPort> ports() const noexcept override { return ports_; }

 private:
  Held<natsMsg> message_;
  std::vector<PoolPort> ports_;
};

}  // namespace

PoolHome::PoolHome(const PoolConfig& config, const PoolNeeds& needs)
    : config_(config),
      needs_(needs),
      names_(config.name),
      run_(random_name()),
      most_out_(config.most_out(needs)),
      patience_ns_(static_cast<std::int64_t>(config.patience_s * 1e9)),
      jobs_(512),
      link_(config.link, "pool " + config.name, [inbox = inbox_] { inbox->put(Reconnected{}); }),
      streams_(link_, names_, config_, needs_, most_out_, run_),
      answers_("_INBOX." + run_ + ".") {
  if (const std::string why = refuses(needs); !why.empty()) throw SetupError("pool: " + why);
  status_.name = config.name;
  // A home that is alive answers at once; if there is none, the server says so.
  natsMsg* other = nullptr;
  const natsStatus asked = natsConnection_RequestString(&other, link_.get(), names_.home.c_str(), "", kFirstAskMs);
  const Held<natsMsg> answer(other);
  if (asked == NATS_OK) throw SetupError(fmt::format("pool: '{}' has a home already: {}", config.name, data_of(other)));
  if (asked == NATS_TIMEOUT)
    throw SetupError(
        fmt::format("pool: '{}' has a home that does not answer: end it, or wait until the server has "
                    "noticed that its host is gone",
                    config.name));
  streams_.make(PoolStreams::kStartMs);
  streams_.purge();
  listen();
  sender_ = std::thread([this] { run(); });
  fetcher_ = std::thread([this] { fetch(); });
}

PoolHome::~PoolHome() {
  ends_ = true;
  alarm_.ring();
  if (sender_.joinable()) sender_.join();
  if (fetcher_.joinable()) fetcher_.join();
  subscriptions_.clear();
}

std::string PoolHome::refuses(const PoolNeeds& needs) const {
  const std::size_t most = link_.most_bytes();
  const std::size_t larger = std::max(needs.block_bytes, needs.result_bytes) + kMostHeadBytes;
  if (larger <= most) return {};
  const auto fits = static_cast<std::int64_t>(static_cast<double>(most) / static_cast<double>(larger) *
                                              static_cast<double>(needs.block));
  return fmt::format(
      "blocks of {} samples need messages of {} bytes, but the server's max_payload is {}: use a block of "
      "at most {}, or a larger max_payload",
      needs.block, larger, most, std::max<std::int64_t>(fits, 1));
}

bool PoolHome::has_room() const noexcept {
  return interrupted_.load(std::memory_order_relaxed) ||
         out_count_.load(std::memory_order_relaxed) < room_.load(std::memory_order_relaxed);
}

void PoolHome::send(const PoolBlock& block, PoolTicket& ticket) noexcept {
  out_count_.fetch_add(1, std::memory_order_relaxed);
  jobs_.try_push({block, &ticket});
  alarm_.ring();
}

void PoolHome::add(PoolWaiter& waiter) {
  const std::lock_guard lock(waiters_mutex_);
  waiters_.insert(&waiter);
}

void PoolHome::remove(PoolWaiter& waiter) {
  const std::lock_guard lock(waiters_mutex_);
  waiters_.erase(&waiter);
}

void PoolHome::wake() {
  const std::lock_guard lock(waiters_mutex_);
  for (PoolWaiter* waiter : waiters_) waiter->may_have_room();
}

void PoolHome::interrupt() noexcept {
  interrupted_ = true;
  alarm_.ring();
}

PoolStatus PoolHome::status() const {
  const std::lock_guard lock(status_mutex_);
  PoolStatus status = status_;
  status.server = link_.server();
  status.connected = link_.is_connected();
  status.round_trip = round_trip_.snapshot();
  if (std::string trouble = link_.trouble(); !trouble.empty()) status.trouble = std::move(trouble);
  return status;
}

// From libnats' threads

void PoolHome::Inbox::put(Event event) {
  {
    const std::lock_guard lock(mutex);
    events.push_back(std::move(event));
  }
  alarm.ring();
}

void PoolHome::listen() {
  subscriptions_.push_back(link_.listen(answers_ + "*.*", [inbox = inbox_](natsConnection*, Held<natsMsg> m) {
    Answer answer;
    if (!read_numbers(natsMsg_GetSubject(m.get()), answer.streams, answer.number)) return;
    if (natsMsg_IsNoResponders(m.get())) {
      answer.error = kNobody;
      return inbox->put(answer);
    }
    const auto text = nlohmann::json::parse(data_of(m.get()), nullptr, false);
    answer.sequence = number_in(text, "seq");
    if (text.is_object() && text.contains("error"))
      answer.error = std::max(1, static_cast<int>(number_in(text["error"], "err_code")));
    if (answer.error != 0 || answer.sequence != 0) inbox->put(answer);
  }));
  subscriptions_.push_back(link_.listen(answers_ + "removed.*.*", [inbox = inbox_](natsConnection*, Held<natsMsg> m) {
    Removed removed;
    if (!natsMsg_IsNoResponders(m.get()) &&
        read_numbers(natsMsg_GetSubject(m.get()), removed.streams, removed.sequence))
      inbox->put(removed);
  }));
  const std::string advisories =
      fmt::format("$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES.{}.{}", names_.todo_stream, kWorkers);
  subscriptions_.push_back(link_.listen(advisories, [inbox = inbox_](natsConnection*, Held<natsMsg> m) {
    const auto text = nlohmann::json::parse(data_of(m.get()), nullptr, false);
    inbox->put(Poison{number_in(text, "stream_seq")});
  }));
  subscriptions_.push_back(link_.listen(names_.here, [inbox = inbox_](natsConnection*, Held<natsMsg> m) {
    if (auto here = read_here(data_of(m.get()))) inbox->put(Here{std::move(*here)});
  }));
  // Workers ask whom they work for.
  subscriptions_.push_back(link_.listen(names_.home, [about = about_home()](natsConnection* link, Held<natsMsg> m) {
    if (const char* to = natsMsg_GetReply(m.get())) natsConnection_PublishString(link, to, about.c_str());
  }));
}

std::string PoolHome::about_home() const {
  return nlohmann::json{{"run", run_},
                        {"host", host_name()},
                        {"process", ::getpid()},
                        {"build", needs_.build},
                        {"same", config_.same},
                        {"ack_wait", config_.ack_wait_s},
                        {"patience", config_.patience_s}}
      .dump();
}

// The thread that sends

void PoolHome::run() {
  ::pthread_setname_np(::pthread_self(), "iqd-pool");
  while (!ends_) {
    const std::uint32_t heard = alarm_.listen();
    const bool has_jobs = take_jobs();
    const bool has_taken = take_events() || has_jobs;
    look_at_clock();
    if (!has_taken) alarm_.wait(heard, kTickNs);
  }
}

bool PoolHome::take_jobs() {
  Job job;
  bool any = false;
  while (jobs_.try_pop(job)) {
    any = true;
    const std::uint64_t number = next_number_++;
    const auto at = out_.emplace(number, Out{job}).first;
    at->second.since_ns = steady_ns();
    at->second.wait_ns = kFirstRetryNs;
    if (interrupted_)
      settle(number, PoolLoss::stopped);
    else
      publish(number, at->second);
  }
  return any;
}

bool PoolHome::take_events() {
  std::vector<Event> events;
  {
    const std::lock_guard lock(inbox_->mutex);
    events.swap(inbox_->events);
  }
  for (Event& event : events) std::visit([this](auto& e) { take(e); }, event);
  return !events.empty();
}

bool PoolHome::has_order(const WorkOrder& order) {
  if (std::ranges::find(orders_, order.hash) != orders_.end()) return true;
  // All blocks wait for one answer, not for one each.
  if (order_failed_ns_ != 0 && steady_ns() - order_failed_ns_ < kStreamCheckNs) return false;
  try {
    streams_.publish_order(order);
    has_waited();
    trouble_.clear();
    order_failed_ns_ = 0;
    orders_.push_back(order.hash);
    if (std::ssize(orders_) > PoolStreams::kMostOrders) orders_.pop_front();
    return true;
  } catch (const SetupError& e) {
    has_waited();
    trouble_ = e.what();
    order_failed_ns_ = ticked_ns_;
    return false;
  }
}

/// Of all blocks that are out: somebody has put others in their place.
void PoolHome::publish_orders_again() {
  orders_.clear();
  for (const auto& [number, out] : out_)
    if (!has_order(*out.job.block.order)) return;
}

void PoolHome::publish(std::uint64_t number, Out& out) {
  out.again_ns = steady_ns() + out.wait_ns;
  out.wait_ns = std::min(2 * out.wait_ns, kLongestRetryNs);
  if (!link_.is_connected() || streams_are_lost_ || !has_order(*out.job.block.order)) return;
  const PoolBlock& block = out.job.block;
  scratch_ = block_head({run_, number, block.order->hash, *block.block});
  for (std::int64_t r = 0; r < block.rows; ++r)
    scratch_.append(reinterpret_cast<const char*>(block.samples + r * block.pitch),
                    static_cast<std::size_t>(block.row_bytes));
  // Without an id, by which the server would recognize a copy: what it has forgotten at a restart would be computed
  // twice anyway, and a message with an id is copied once more.
  const std::string reply = fmt::format("{}{}.{}", answers_, streams_made_, number);
  if (natsConnection_PublishRequest(link_.get(), names_.todo.c_str(), reply.c_str(), scratch_.data(),
                                    static_cast<int>(scratch_.size())) != NATS_OK)
    return;
  const std::lock_guard lock(status_mutex_);
  ++(out.published > 0 ? status_.again : status_.sent);
  ++out.published;
}

void PoolHome::take(const Answer& answer) {
  // Numbers of streams that are gone mean other blocks now.
  if (answer.streams != streams_made_) return;
  const auto at = out_.find(answer.number);
  if (at == out_.end()) {
    // It has been settled meanwhile, and nobody must compute it.
    if (answer.sequence != 0) remove_block(answer.sequence);
    return;
  }
  Out& out = at->second;
  if (out.sequence != 0) {
    if (answer.sequence != 0 && answer.sequence != out.sequence) remove_block(answer.sequence);
    return;
  }
  out.is_refused = answer.error == JSStreamStoreFailedErr;
  if (answer.error != 0) {
    streams_are_lost_ = streams_are_lost_ || !out.is_refused;
    return;
  }
  out.sequence = answer.sequence;
  numbers_[answer.sequence] = answer.number;
}

void PoolHome::take(const Removed& removed) {
  if (removed.streams == streams_made_) removals_.erase(removed.sequence);
}

void PoolHome::take(const Poison& poison) {
  const auto at = numbers_.find(poison.sequence);
  if (at != numbers_.end())
    settle(at->second, PoolLoss::poison);
  else if (poison.sequence != 0)
    remove_block(poison.sequence);
}

void PoolHome::take(const Here& here) {
  workers_.note(here.worker, steady_ns());
  if (here.worker.trouble == kNoOrder) publish_orders_again();
}

void PoolHome::take(const Reconnected&) {
  // Perhaps to a server that has been restarted, and has nothing of this pool any more.
  streams_are_lost_ = true;
}

void PoolHome::take(const Leaderless&) {
  if (owner() == PoolStreams::Owner::other) return;
  log::warn("pool {}: no server leads its streams; makes them again", config_.name);
  streams_.drop();
  streams_are_lost_ = true;
  has_waited();
}

void PoolHome::take(Arrived& arrived) {
  std::optional<ResultHead> head = read_result(data_of(arrived.message.get()));
  const auto at = head && head->run == run_ ? out_.find(head->number) : out_.end();
  std::unique_lock lock(status_mutex_);
  if (!head) {
    ++status_.wrong;
  } else if (at == out_.end()) {
    const bool is_ours = head->run == run_ && head->number < next_number_;
    ++(is_ours ? status_.twice : status_.late);
  } else if (!at->second.job.ticket->takes(head->ports)) {
    ++status_.wrong;
  } else {
    ++status_.done;
    lock.unlock();
    PoolTicket* const ticket = at->second.job.ticket;
    const std::int64_t now = steady_ns();
    round_trip_.record(now - at->second.since_ns - head->compute_ns);
    finished_ns_.push_back(now);
    // The worker has taken it from the queue, but perhaps not a copy of it, nor those that other servers hold.
    if ((at->second.published > 1 || config_.replicas > 1) && at->second.sequence != 0)
      remove_block(at->second.sequence);
    close(at);
    const std::lock_guard waiters(waiters_mutex_);
    ticket->settle(std::make_unique<MessageResult>(std::move(arrived.message), std::move(head->ports)));
  }
}

void PoolHome::settle(std::uint64_t number, PoolLoss loss) {
  const auto at = out_.find(number);
  PoolTicket* const ticket = at->second.job.ticket;
  if (at->second.sequence != 0) remove_block(at->second.sequence);
  {
    const std::lock_guard lock(status_mutex_);
    ++status_.lost[static_cast<std::size_t>(loss)];
  }
  close(at);
  const std::lock_guard waiters(waiters_mutex_);
  ticket->settle(loss);
}

void PoolHome::close(std::map<std::uint64_t, Out>::iterator at) {
  numbers_.erase(at->second.sequence);
  out_.erase(at);
  out_count_.fetch_sub(1, std::memory_order_relaxed);
}

/// If it is another home, this one ends: the other has purged what it had sent. Any thread.
PoolStreams::Owner PoolHome::owner() {
  const PoolStreams::Owner owner = streams_.owner();
  if (owner != PoolStreams::Owner::other) return owner;
  is_taken_ = true;
  const std::lock_guard lock(status_mutex_);
  failure_ = fmt::format("pool {}: another home has taken its streams", config_.name);
  return owner;
}

// The thread that fetches

void PoolHome::fetch() {
  ::pthread_setname_np(::pthread_self(), "iqd-pool-in");
  Pull results(link_, names_.done_stream, kHome, kFetchBatch);
  while (!ends_) {
    look_for_leaders();
    // On a new connection, results may be those of another home.
    const int connections = link_.connections();
    if (!link_.is_connected() || (connections != owned_ && owner() != PoolStreams::Owner::us)) {
      nats_Sleep(20);
      continue;
    }
    owned_ = connections;
    look_at_queue();
    if (Held<natsMsg> message = results.next(kFetchMs)) {
      results.acknowledge(message.get());
      led_ns_ = steady_ns();
      inbox_->put(Arrived{std::move(message)});
    }
  }
}

/// While no results come: servers may be without a leader for long.
void PoolHome::look_for_leaders() {
  const std::int64_t now = steady_ns();
  if (now - led_ns_ < kLeaderCheckNs || now - leaders_sought_ns_ < kLeaderCheckNs) return;
  leaders_sought_ns_ = now;
  const bool may_wait = config_.replicas > 1 && link_.is_connected() && out_count_ > 0;
  if (!may_wait || streams_.are_led()) led_ns_ = now;
  if (now - led_ns_ < kLeaderlessNs) return;
  led_ns_ = now + kElectionsNs - kLeaderlessNs;
  inbox_->put(Leaderless{});
}

/// What waits at the server, now and then.
void PoolHome::look_at_queue() {
  const std::int64_t now = steady_ns();
  if (now - queue_seen_ns_ < kQueueNs || !link_.is_connected()) return;
  queue_seen_ns_ = now;
  jsOptions options;
  jsOptions_Init(&options);
  options.Wait = kHomeAskMs;
  jsConsumerInfo* made = nullptr;
  if (js_GetConsumerInfo(&made, link_.stream(), names_.todo_stream.c_str(), kWorkers, &options, nullptr) != NATS_OK)
    return;
  const Held<jsConsumerInfo> info(made);
  owner();
  const std::lock_guard lock(status_mutex_);
  status_.waiting = static_cast<std::int64_t>(info->NumPending);
  status_.idle_lanes = info->NumWaiting;
  status_.redelivered = static_cast<std::uint64_t>(info->NumRedelivered);
}

std::string PoolHome::failure() const {
  if (std::string why = link_.failure(); !why.empty()) return why;
  const std::lock_guard lock(status_mutex_);
  return failure_;
}

}  // namespace iqd::hosts
