// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "pipeline/spec/spec.hpp"
#include "pipeline/spec_plan.hpp"
#include "tests/support/recording_outlet.hpp"
#include "tests/support/scripted_source.hpp"
#include "tests/support/word_stages.hpp"

/// The catalogue for these tests' files: the stages of words, two sources (`tape` can wait, `radio` cannot), a sink
/// that takes everything, outlets that record.
namespace iqd::testing {

/// What the outlets on it have kept; the test may count while they keep more.
struct KeepingSocket {
  std::deque<Lease> leases;
  std::atomic<int> count{0};
};

/// An outlet on a shared socket. The socket keeps the first results of each outlet until all are closed.
class KeepingOutlet final : public Outlet {
 public:
  explicit KeepingOutlet(std::shared_ptr<KeepingSocket> socket) : socket_(std::move(socket)) {}
  bool send(const Message&, Lease lease, bool) override {
    if (kept_++ < 2) {
      socket_->leases.push_back(std::move(lease));
      ++socket_->count;
    }
    return true;
  }

 private:
  std::shared_ptr<KeepingSocket> socket_;
  int kept_ = 0;
};

/// Scripts of the sources, and what outlets and sinks received; a test sets it before it makes a pipeline.
struct Theatre {
  std::deque<Script> scripts;  // of the source, one per opening
  std::shared_ptr<SourceView> view = std::make_shared<SourceView>();
  std::deque<Record> records;   // one per outlet, in the order of opening
  std::atomic<int> sunk{0};     // messages received by the sink
  std::atomic<double> gain{0};  // as set in the source
  int sinks_opened = 0;
  std::weak_ptr<KeepingSocket> socket;  // of outlets whose topic is `kept`
  int kept() const {
    const auto open = socket.lock();
    return open ? open->count.load() : 0;
  }
  static Theatre*& now() {
    static Theatre* instance = nullptr;
    return instance;
  }
  Theatre() { now() = this; }
  ~Theatre() { now() = nullptr; }
};

class NamedOptions final : public SourceOptions {
 public:
  explicit NamedOptions(bool can_wait) : can_wait_(can_wait) {}
  void fields(FieldVisitor& v) override {
    v.field("rate", rate_, {.help = "sample rate", .unit = Unit::rate, .low = 1});
    v.field("channels", channels_, {.help = "how many", .low = 1, .high = 8});
    v.field("args", args_, {.help = "which one"});
    v.field("gain", gain_, {.help = "13 is refused", .live = true});
  }
  StreamInfo describe(const Section& section) const override {
    if (rate_ == 13) section.problem("rate", "brings bad luck");
    return info();
  }
  Claims claims() const override {
    return args_.empty() ? Claims() : Claims{{Claim::Kind::radio, "radio '" + args_ + "'", "args"}};
  }
  std::unique_ptr<Source> open() const override {
    Theatre& t = *Theatre::now();
    if (t.scripts.empty()) throw SetupError("no such device");
    Script script = std::move(t.scripts.front());
    t.scripts.pop_front();
    StreamInfo granted = info();
    if (script.rate_hz > 0) granted.rate_hz = script.rate_hz;
    return std::make_unique<Retunable>(granted, std::move(script), *t.view);
  }

 private:
  struct Retunable final : ScriptedSource {
    using ScriptedSource::ScriptedSource;
    std::optional<std::int64_t> retune(const SourceOptions& options) override {
      const double gain = same_kind<NamedOptions>(options).gain_;
      if (gain == 13) throw SetupError("a gain of 13 is too much");
      Theatre::now()->gain = gain;
      return {};
    }
  };
  StreamInfo info() const {
    return {.element = Element::i32,
            .channels = static_cast<int>(channels_),
            .rate_hz = rate_,
            .can_wait = can_wait_,
            .reconnects = !can_wait_};
  }
  bool can_wait_;
  double rate_ = 1e6;
  std::int64_t channels_ = 1;
  std::string args_;
  double gain_ = 0;
};

class CountingSinkOptions final : public SinkOptions {
 public:
  void fields(FieldVisitor& v) override { v.field("path", path_, {.help = "where to", .required = true}); }
  void check(const PortFormat& format, const Section& section) const override {
    if (format.is_known() && format.element != Element::i32) section.problem("path", "takes i32 only");
    if (path_ == "/gone" && !is_open_) section.problem("path", "is not there");
  }
  void note_open() override { is_open_ = true; }
  Claims claims() const override {
    if (path_.starts_with("tcp://")) return {{Claim::Kind::address, path_, "path"}};
    return path_.starts_with("/") ? Claims{{Claim::Kind::file, path_, "path"}} : Claims();
  }
  std::unique_ptr<Sink> open(const PortFormat&) const override {
    struct Counting final : Sink {
      bool send(const Message&) override { return ++Theatre::now()->sunk > 0; }
    };
    ++Theatre::now()->sinks_opened;
    return std::make_unique<Counting>();
  }

 private:
  std::string path_;
  bool is_open_ = false;
};

class RecordingOptions final : public OutletOptions {
 public:
  void fields(FieldVisitor& v) override {
    v.field("topic", topic_, {.help = "name", .required = true});
    v.field("bind", bind_, {.help = "address"});
    v.field("connect", connect_, {.help = "address of a reader"});
  }
  void check(const PortFormat&, const Section& section) const override {
    if (bind_.empty() && connect_.empty()) section.problem("", "needs a `bind:`");
  }
  std::string endpoint() const override { return bind_; }
  std::string socket() const override { return bind_ + connect_; }
  std::string topic() const override { return topic_; }
  std::unique_ptr<Outlet> open(const PortFormat&, bool, std::int64_t) const override {
    if (topic_ == "kept") {
      auto socket = Theatre::now()->socket.lock();
      if (!socket) Theatre::now()->socket = socket = std::make_shared<KeepingSocket>();
      return std::make_unique<KeepingOutlet>(std::move(socket));
    }
    return std::make_unique<RecordingOutlet>(Theatre::now()->records.emplace_back());
  }

 private:
  std::string topic_, bind_, connect_;
};

inline Catalogue test_catalogue() {
  static const DriverEntry drivers[] = {
      {"tape", "can wait", []() -> std::unique_ptr<SourceOptions> { return std::make_unique<NamedOptions>(true); },
       nullptr, nullptr},
      {"radio", "cannot", []() -> std::unique_ptr<SourceOptions> { return std::make_unique<NamedOptions>(false); },
       nullptr, nullptr},
      {"drain", "a sink", nullptr,
       []() -> std::unique_ptr<SinkOptions> { return std::make_unique<CountingSinkOptions>(); }, nullptr},
  };
  return {word_stages(), drivers,
          []() -> std::unique_ptr<OutletOptions> { return std::make_unique<RecordingOptions>(); }};
}

/// All problems of a file, one line each.
inline std::string problems_of(const std::string& text) {
  Problems problems;
  const Document document = parse_document(text, "x.yaml", problems);
  const Spec spec = read_spec(document, test_catalogue(), problems);
  check_spec(spec, test_catalogue(), problems);
  std::string lines;
  for (const Problem& p : problems) lines += p.text() + "\n";
  return lines;
}

}  // namespace iqd::testing
