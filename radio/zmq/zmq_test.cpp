// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zmq.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wire.hpp"
#include "net/keys.hpp"
#include "radio/fields_for_test.hpp"
#include "radio/zmq/header.hpp"
#include "radio/zmq/options.hpp"
#include "radio/zmq/zmq_sink.hpp"
#include "radio/zmq/zmq_source.hpp"

namespace iqd::radio::zmq {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Event = Received::Event;
using Values = std::map<std::string, std::string>;

std::string address() {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return "inproc://" + std::string(test->test_suite_name()) + test->name();
}

PortFormat stream_port(std::int64_t channels, Element element, std::int64_t most = 1000) {
  PortFormat f;
  f.pipeline = "p";
  f.port = "filter.out";
  f.element = element;
  if (channels > 1) f.dims.push_back({"channel", channels});
  f.dims.push_back({"n", most});
  f.varying = static_cast<int>(f.dims.size()) - 1;
  f.rate_hz = f.item_rate_hz = 1e6;
  return f;
}

std::unique_ptr<Sink> open_sink(const PortFormat& format, Values values = {}) {
  ZmqSinkOptions o;
  values.emplace("bind", address());
  assign(o, values);
  return o.open(format);
}

struct Opened {
  explicit Opened(Values values = {}) {
    ZmqSourceOptions o;
    if (!values.count("bind")) values.emplace("connect", address());
    values.emplace("kind", "pull");
    values.emplace("rate", "1e6");
    assign(o, values);
    source = o.open();
    const StreamInfo info = source->info();
    for (int c = 0; c < info.channels; ++c) memory.emplace_back(8 * 4096);
    for (auto& m : memory) into.push_back(m.data());
  }
  Received receive(std::int64_t most = 4096) { return source->receive(into, most); }
  std::uint64_t refused() const { return dynamic_cast<const ZmqSource&>(*source).refused(); }
  template <class T> const T* channel(std::size_t c = 0) const { return reinterpret_cast<const T*>(memory[c].data()); }

  std::unique_ptr<Source> source;
  std::vector<std::vector<std::byte>> memory;
  std::vector<std::byte*> into;
};

template <class T> Message message_of(const PortFormat& format, const std::vector<T>& samples, SampleIndex sample = 0) {
  Message m;
  m.format = &format;
  m.sample = sample;
  m.time_ns = 1'000'000'000 + sample * 1000;
  m.extent = static_cast<std::int64_t>(samples.size()) / (format.dims.size() == 2 ? format.dims[0].extent : 1);
  m.payload = std::as_bytes(std::span(samples));
  return m;
}

/// A plain socket that sends any given frames.
struct Sender {
  Sender() : socket(ZMQ_PUSH, Endpoint{address(), "", {}}) { socket.open(kAnswerBytes); }
  void send(const std::vector<std::string>& frames) {
    std::size_t left = frames.size();
    for (const std::string& f : frames)
      ASSERT_GE(::zmq_send(socket.handle(), f.data(), f.size(), --left ? ZMQ_SNDMORE : 0), 0);
  }
  Socket socket;
};

/// The positions of retunes in the pieces of a message, and the frequency after each.
std::vector<std::pair<std::int64_t, double>> tunings(Opened& o, std::int64_t samples, std::int64_t step) {
  std::vector<std::pair<std::int64_t, double>> all;
  for (std::int64_t at = 0; at < samples;) {
    const Received got = o.receive(step);
    if (got.event != Event::samples) return {};
    if (got.tuned >= 0) all.emplace_back(at + got.tuned, o.source->info().frequency_hz);
    at += got.samples;
  }
  return all;
}

TEST(Zmq, ARetuneOfTheOtherSideIsPassedOn) {
  PortFormat format = stream_port(1, Element::cf32);
  format.frequency_hz = 100e6;
  format.item_rate_hz = 0.5e6;  // after a stage that decimates: 2 source samples per sample
  const auto sink = open_sink(format);
  Opened o(Values{{"rate", "0.5e6"}});
  const std::vector<cf32> x(100);
  const auto send = [&](SampleIndex sample, SampleIndex tuned, double retuned_hz) {
    Message m = message_of(format, x, sample);
    m.tuned = tuned;
    m.retuned_hz = retuned_hz;
    ASSERT_TRUE(sink->send(m));
  };
  using ::testing::Pair;
  send(0, -1, 0);
  EXPECT_THAT(tunings(o, 100, 30), ElementsAre(Pair(0, 100e6))) << "from the first header";
  send(200, -1, 0);
  EXPECT_THAT(tunings(o, 100, 30), IsEmpty());
  send(400, 521, 1e6);
  EXPECT_THAT(tunings(o, 100, 30), ElementsAre(Pair(61, 101e6)));
  send(600, 600, 1e6);
  EXPECT_THAT(tunings(o, 100, 30), ElementsAre(Pair(0, 101e6))) << "a new gain";
  send(1000, -1, 2e6);
  EXPECT_THAT(tunings(o, 100, 30), ElementsAre(Pair(0, 102e6))) << "the message that reported it was lost";
  send(1200, 5'000'000'000'000, 3e6);
  EXPECT_THAT(tunings(o, 100, 30), ElementsAre(Pair(99, 103e6)));
}

TEST(Zmq, AFrequencyOfTheConfigurationHolds) {
  PortFormat format = stream_port(1, Element::cf32);
  format.frequency_hz = 100e6;
  const auto sink = open_sink(format);
  Opened o(Values{{"frequency", "7e6"}});
  const std::vector<cf32> x(100);
  ASSERT_TRUE(sink->send(message_of(format, x)));
  EXPECT_THAT(tunings(o, 100, 100), IsEmpty());
  Message m = message_of(format, x, 100);
  m.tuned = 150;
  ASSERT_TRUE(sink->send(m));
  EXPECT_THAT(tunings(o, 100, 100), ElementsAre(::testing::Pair(50, 7e6)));
}

TEST(Zmq, WhatASinkSendsASourceReceivesInPieces) {
  const PortFormat format = stream_port(2, Element::sc16);
  const auto sink = open_sink(format);
  Opened o({{"channels", "2"}, {"element", "sc16"}});
  std::vector<sc16> sent(2 * 700);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = {static_cast<std::int16_t>(i), -7};
  ASSERT_TRUE(sink->send(message_of(format, sent)));
  ASSERT_TRUE(sink->send(message_of(format, sent, 700)));
  const Received first = o.receive(500);
  EXPECT_EQ(first.event, Event::samples);
  EXPECT_EQ(first.samples, 500);
  EXPECT_TRUE(first.has_time);
  EXPECT_EQ(first.time_ns, 1'000'000'000);
  EXPECT_EQ(o.channel<sc16>(1)[499], sent[700 + 499]);
  const Received second = o.receive(500);
  EXPECT_EQ(second.samples, 200);
  EXPECT_EQ(second.time_ns, 1'000'500'000);
  EXPECT_EQ(o.channel<sc16>(0)[0], sent[500]);
  EXPECT_EQ(o.channel<sc16>(1)[199], sent[1399]);
  const Received third = o.receive(1000);
  EXPECT_EQ(third.samples, 700);
  EXPECT_EQ(third.lost, 0);
  EXPECT_EQ(o.receive().event, Event::nothing);
}

TEST(Zmq, WhatIsMissingIsToldInTheStreamsOwnSamples) {
  PortFormat format = stream_port(1, Element::cf32);
  format.rate_hz = 4e6;  // the port's stage decimates by 4
  const auto sink = open_sink(format);
  Opened o;
  const std::vector<cf32> samples(100);
  for (const SampleIndex at : {8000, 8400, 8400 + 400 + 4 * 33})
    ASSERT_TRUE(sink->send(message_of(format, samples, at)));
  EXPECT_EQ(o.receive().lost, 0) << "a stream may start anywhere";
  EXPECT_EQ(o.receive().lost, 0);
  EXPECT_EQ(o.receive().lost, 33);
  EXPECT_EQ(o.refused(), 0u);
}

TEST(Zmq, APeerThatBeganAnewIsABreak) {
  const PortFormat format = stream_port(1, Element::cf32);
  const auto sink = open_sink(format);
  Opened o;
  ASSERT_TRUE(sink->send(message_of(format, std::vector<cf32>(100), 5000)));
  ASSERT_TRUE(sink->send(message_of(format, std::vector<cf32>(100), 0)));
  EXPECT_EQ(o.receive().samples, 100);
  ASSERT_TRUE(sink->send(message_of(format, std::vector<cf32>(100), std::int64_t{1} << 50)));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(o.receive().event, Event::overflow);
    const Received got = o.receive();
    EXPECT_EQ(got.samples, 100);
    EXPECT_EQ(got.lost, 0);
  }
}

TEST(Zmq, WhatIsNoMessageIsCountedAndLeftOut) {
  Sender sender;
  Opened o;
  const std::string payload(80, '\0');
  const std::string good = R"(t {"dtype":"<c8","shape":[10]})";
  const std::vector<std::vector<std::string>> bad = {
      {"just one frame"},
      {good, payload, "a third"},
      {"nospace", payload},
      {"t {", payload},
      {R"(t {"dtype":"<c8","shape":[10]} more)", payload},
      {R"(t {"dtype":"<f4","shape":[20]})", payload},
      {R"(t {"dtype":"<c16","shape":[5]})", payload},
      {R"(t {"dtype":"<c8","shape":[11]})", payload},
      {R"(t {"dtype":"<c8","shape":[-10]})", payload},
      {R"(t {"dtype":"<c8","shape":[0,0]})", ""},
      {R"(t {"dtype":"<c8","shape":[2,5]})", payload},
      {R"(t {"dtype":"<c8"})", payload},
      {R"(t {"dtype":"<i2","datatype":"ci16_le","shape":[20,2]})", payload},
      {R"(t {"dtype":"<c8","shape":[10],"sample_rate":2e6})", payload},
      {R"(t {"dtype":"<c8","shape":[10],"sample":9223372036854775807})", payload},
      {R"(t {"dtype":"<c8","shape":[10],"sample_rate":1e300,"item_rate":1e6})", payload},
      {good, ""},
      {"", ""},
  };
  for (const auto& frames : bad) sender.send(frames);
  sender.send({good, payload});
  Received got;
  while ((got = o.receive()).event == Event::nothing && o.refused() <= bad.size()) {
  }
  EXPECT_EQ(o.refused(), bad.size());
  EXPECT_EQ(got.event, Event::samples);
  EXPECT_EQ(got.samples, 10);
  EXPECT_FALSE(got.has_time);
}

TEST(Zmq, PublishersAreFilteredByExactTopic) {
  const std::string at = "ipc:///tmp/iqd-zmq-test-" + std::to_string(::getpid());
  const PortFormat format = stream_port(1, Element::cf32);
  Opened o({{"bind", at}, {"kind", "sub"}, {"topic", "rx"}});
  const auto wanted = open_sink(format, {{"bind", ""}, {"connect", at}, {"kind", "pub"}, {"topic", "rx"}});
  const auto other = open_sink(format, {{"bind", ""}, {"connect", at}, {"kind", "pub"}, {"topic", "rx1"}});
  Received got;
  for (int i = 0; i < 50 && got.event != Event::samples; ++i) {
    ASSERT_TRUE(other->send(message_of(format, std::vector<cf32>(99))));
    ASSERT_TRUE(wanted->send(message_of(format, std::vector<cf32>(7))));
    got = o.receive();
  }
  EXPECT_EQ(got.samples, 7);
  EXPECT_EQ(o.refused(), 0u);
}

TEST(Zmq, ASinkWithoutAReaderWaitsOnceThenLoses) {
  const PortFormat format = stream_port(1, Element::cf32);
  const auto sink = open_sink(format, {{"wait", "0.1"}});
  const Message m = message_of(format, std::vector<cf32>(10));
  std::int64_t start = steady_ns();
  EXPECT_FALSE(sink->send(m));
  EXPECT_GT(steady_ns() - start, 90'000'000);
  start = steady_ns();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(sink->send(m));
  EXPECT_LT(steady_ns() - start, 90'000'000);
}

TEST(Zmq, ASlowReaderMakesAPushWaitAndLosesNothing) {
  const PortFormat format = stream_port(1, Element::cf32);
  const auto sink = open_sink(format, {{"hwm_bytes", "16000"}, {"wait", "60"}});
  Opened o;
  constexpr int kMessages = 300;
  std::thread sender([&] {
    for (int i = 0; i < kMessages; ++i) ASSERT_TRUE(sink->send(message_of(format, std::vector<cf32>(1000), i * 1000)));
    sink->finish();
  });
  std::int64_t samples = 0;
  while (samples < kMessages * 1000) {
    const Received got = o.receive();
    ASSERT_EQ(got.event, Event::samples);
    ASSERT_EQ(got.lost, 0);
    samples += got.samples;
    if (samples % 50'000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  sender.join();
}

TEST(Zmq, FactsMakeTheHeaderGrow) {
  const PortFormat format = stream_port(1, Element::cf32);
  const auto sink = open_sink(format);
  Opened o;
  const std::vector<cf32> samples(500);
  const std::vector<std::int64_t> start(500, INT64_MIN);
  const FactColumn column{"start", Element::i64, reinterpret_cast<const std::byte*>(start.data())};
  Message m = message_of(format, samples);
  m.facts = {&column, 1};
  ASSERT_TRUE(sink->send(m));
  EXPECT_EQ(o.receive().samples, 500);
}

TEST(ZmqHeader, ReadsWhatWriteHeaderWrites) {
  PortFormat format = stream_port(2, Element::sc16);
  format.rate_hz = 20.625e6;
  format.pipeline = "a \"quoted\" \\ name";
  Message m = message_of(format, std::vector<sc16>(20), 123456789012);
  m.gap = 42;
  std::vector<char> text(header_bound(format, 2, 0, 0));
  const auto h = parse_header({text.data(), write_header(m, "iq", text)});
  ASSERT_TRUE(h);
  EXPECT_EQ(h->topic, "iq");
  EXPECT_EQ(h->sample, 123456789012);
  EXPECT_EQ(h->time_ns, m.time_ns);
  EXPECT_EQ(h->gap, 42);
  EXPECT_EQ(h->sample_rate_hz, 20.625e6);
  EXPECT_EQ(h->item_rate_hz, 1e6);
  const auto layout = layout_of(*h, m.payload.size());
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->element, Element::sc16);
  EXPECT_EQ(layout->channels, 2);
  EXPECT_EQ(layout->samples, 10);
}

/// Whatever the parser accepts must equal the result of a full JSON reader.
void compare(const std::string& text) {
  const auto ours = parse_header("t " + text);
  const json theirs = json::parse(text, nullptr, false);
  if (!theirs.is_object() || !ours) return;
  const json null;
  const auto at = [&](const char* key) { return theirs.contains(key) ? theirs[key] : null; };
  if (at("sample").is_number_integer()) {
    EXPECT_EQ(ours->sample, at("sample").get<std::int64_t>()) << text;
  }
  if (at("sample_rate").is_number()) {
    EXPECT_EQ(ours->sample_rate_hz, at("sample_rate").get<double>()) << text;
  }
  if (at("shape").is_array()) {
    EXPECT_EQ(ours->rank, static_cast<int>(at("shape").size())) << text;
  }
}

TEST(ZmqHeader, SurvivesWhateverComes) {
  const std::string seed =
      R"({"v":1,"port":"a.b\"c","sample":12345,"time_ns":17,"x":[1,{"y":[true,null,-1.5e3]}],"dtype":"<c8",)"
      R"("shape":[3,100],"sample_rate":2.5e6,"gap":0,"packets":[{"start":1},{"start":2}]})";
  ASSERT_TRUE(parse_header("t " + seed));
  ASSERT_EQ(parse_header("t " + seed)->sample, 12345);
  const std::string alphabet = "{}[]\",:\\0129-+.eEtfn \t\n\x01\xff";
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return random() % n; };
  for (int round = 0; round < 50'000; ++round) {
    std::string text = seed;
    for (std::size_t change = 0, changes = 1 + below(4); change < changes && !text.empty(); ++change) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0: text[at] = alphabet[below(alphabet.size())]; break;
        case 1: text.erase(at, 1 + below(8)); break;
        case 2: text.insert(at, 1, alphabet[below(alphabet.size())]); break;
        default: text.resize(at);
      }
    }
    if (round % 10 == 0) compare(text);
    // A buffer of the exact size, so that the sanitizer detects a read beyond it.
    const std::vector<char> exact(text.begin(), text.end());
    if (const auto h = parse_header({exact.data(), exact.size()})) (void)layout_of(*h, below(5000));
  }
  EXPECT_FALSE(parse_header("t " + std::string(100'000, '[')));
  EXPECT_FALSE(parse_header("t {\"x\":" + std::string(100'000, '[')));
  EXPECT_FALSE(parse_header(""));
  EXPECT_FALSE(parse_header(" "));
}

TEST(ZmqOptions, WhatIsWrongIsSaid) {
  const auto source = [](Values values) {
    ZmqSourceOptions o;
    assign(o, values);
    return complaints([&](const Section& s) { o.describe(s); });
  };
  EXPECT_THAT(source({{"connect", "tcp://127.0.0.1:5555"}}), IsEmpty());
  EXPECT_THAT(source({{"bind", "tcp://[::1]:5555"}}), IsEmpty());
  EXPECT_THAT(source({}), ElementsAre(AllOf(HasSubstr("bind"), HasSubstr("connect"))));
  EXPECT_THAT(source({{"bind", "ipc://a"}, {"connect", "ipc://b"}}), ElementsAre(HasSubstr("exactly one")));
  for (const char* bad : {"localhost:5555", "tcp://localhost", "tcp://localhost:99999", "udp://localhost:5555"})
    EXPECT_THAT(source({{"connect", bad}}), ElementsAre(HasSubstr("tcp://"))) << bad;
  EXPECT_THAT(source({{"bind", "tcp://*:5555"}}), ElementsAre(HasSubstr("insecure")));
  EXPECT_THAT(source({{"bind", "tcp://*:5555"}, {"insecure", "true"}}), IsEmpty());
  EXPECT_THAT(source({{"bind", "ipc://a"}, {"topic", "a b"}}), ElementsAre(HasSubstr("topic")));
  EXPECT_THAT(source({{"connect", "tcp://lab7:5555"}}), ElementsAre(HasSubstr("iqd keygen")));
  ZmqSinkOptions sink;
  assign(sink, {{"bind", "ipc://a"}, {"topic", "a b"}});
  EXPECT_THAT(complaints([&](const Section& s) { sink.check(stream_port(1, Element::cf32), s); }),
              ElementsAre(HasSubstr("topic")));
}

/// One iqd sends to another over CURVE; with a wrong key nothing arrives.
TEST(Zmq, KeysOfBothSides) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("iqd-zmq-keys-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  for (const char* name : {"sends", "reads", "other"}) net::write_key_files(folder, name, true);
  const std::string at = "ipc://" + (folder / "socket").string();
  const PortFormat format = stream_port(1, Element::cf32);
  SinkSettings settings;
  settings.endpoints = {{at}, {}, {true, folder / "sends.secret", folder / "reads.pub", "", false}};
  settings.kind = SinkKind::pub;
  settings.topic = "t";
  ZmqSink sink(settings, format);
  const auto source = [&](const char* own) {
    SourceSettings s;
    s.endpoints = {{}, {at}, {true, folder / (std::string(own) + ".secret"), "", folder / "sends.pub", false}};
    s.rate_hz = 1e6;
    return std::make_unique<ZmqSource>(s);
  };
  const auto right = source("reads"), wrong = source("other");
  std::vector<std::byte> memory(8 * 4096);
  std::byte* into[] = {memory.data()};
  Received got;
  for (int i = 0; i < 200 && got.event != Event::samples; ++i) {
    ASSERT_TRUE(sink.send(message_of(format, std::vector<cf32>(10))));
    got = right->receive(into, 4096);
  }
  EXPECT_EQ(got.samples, 10);
  EXPECT_EQ(wrong->receive(into, 4096).event, Event::nothing);
  std::filesystem::remove_all(folder);
}

TEST(ZmqOptions, APortInUseSaysSo) {
  const PortFormat format = stream_port(1, Element::cf32);
  const auto first = open_sink(format);
  try {
    open_sink(format);
    ADD_FAILURE() << "two sockets at one address";
  } catch (const SetupError& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr(address()), HasSubstr("another program")));
  }
}

TEST(Zmq, TheRateIsThatOfTheFirstHeader) {
  const PortFormat format = stream_port(1, Element::cf32);
  const auto sink = open_sink(format);
  ZmqSourceOptions o;
  assign(o, {{"connect", address()}, {"kind", "pull"}});
  std::jthread sender([&] {
    const std::vector<cf32> samples(100, cf32(0.5f, 0));
    sink->send(message_of(format, samples, 700));
  });
  const std::unique_ptr<Source> source = o.open();
  EXPECT_EQ(source->info().rate_hz, 1e6);
  std::vector<std::byte> memory(8 * 4096);
  std::byte* const into[] = {memory.data()};
  const Received got = source->receive(into, 4096);
  EXPECT_EQ(got.samples, 100) << "the first message is not lost";
  EXPECT_EQ(got.lost, 0);
  EXPECT_EQ(got.time_ns, 1'000'700'000);
  EXPECT_EQ(reinterpret_cast<const cf32*>(memory.data())[99], cf32(0.5f, 0));
}

TEST(Zmq, WithoutARateTheStreamIsKnownButForIt) {
  const auto described = [](const Values& values) {
    Problems problems;
    ZmqSourceOptions o;
    assign(o, values);
    const StreamInfo info = o.describe(Section("zmq", {}, problems));
    return std::pair(info.known, problems.empty() ? "" : problems.front().text());
  };
  EXPECT_EQ(described({{"connect", "ipc://x"}}), std::pair(StreamInfo::Known::type, std::string()));
  EXPECT_EQ(described({{"connect", "ipc://x"}, {"rate", "1e6"}}), std::pair(StreamInfo::Known::whole, std::string()));
  EXPECT_THAT(described({{"connect", "ipc://x"}, {"framing", "raw"}}).second, HasSubstr("zmq.rate: is required"));
  EXPECT_THAT(described({{"connect", "ipc://x"}, {"kind", "req"}}).second, HasSubstr("zmq.rate: is required"));
  ZmqSourceOptions o;
  EXPECT_GT(o.opening_wait_s(), 5);
  assign(o, {{"connect", "ipc://x"}});
  EXPECT_EQ(o.waits_for(), std::vector<std::string>{"ipc://x"});
  assign(o, {{"rate", "1e6"}});
  EXPECT_EQ(o.opening_wait_s(), 0);
  EXPECT_TRUE(o.waits_for().empty());
}

}  // namespace
}  // namespace iqd::radio::zmq
