// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "publish/publish_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.hpp"
#include "base/wire.hpp"
#include "config/reader.hpp"
#include "tests/support/zmq_reader.hpp"

namespace iqd::publish {
namespace {

using testing::LeaseCount;
using testing::soon;
using testing::ZmqReader;

PortFormat samples() {
  PortFormat f;
  f.pipeline = "lab";
  f.port = "fir.out";
  f.element = Element::cf32;
  f.dims = {{"n", 1000}};
  f.varying = 0;
  f.rate_hz = f.item_rate_hz = 1e6;
  return f;
}

/// A YAML entry, and its problems.
struct Entry {
  explicit Entry(const std::string& yaml, const PortFormat& format = samples()) {
    const Document document = parse_document(yaml, "x.yaml", problems);
    const Section section = read_fields(
        document.root, [this](FieldVisitor& v) { options->fields(v); }, problems);
    options->check(format, section);
  }
  std::string text() const {
    std::string all;
    for (const Problem& p : problems) all += p.text() + "\n";
    return all;
  }
  Problems problems;
  std::unique_ptr<OutletOptions> options = make_options();
};

std::string problems_of(const std::string& yaml, const PortFormat& format = samples()) {
  return Entry(yaml, format).text();
}

TEST(PublishOptions, RightOnes) {
  EXPECT_EQ(problems_of("{topic: a, bind: 'tcp://127.0.0.1:5555'}"), "");
  EXPECT_EQ(problems_of("{topic: a.b_c, connect: 'tcp://lab7:5555', kind: push, hwm_bytes: 4 MiB, insecure: true}"),
            "");
  EXPECT_EQ(problems_of("{topic: a, bind: 'ipc:///run/iqd/a'}"), "");
  EXPECT_EQ(problems_of("{topic: a, bind: 'tcp://localhost:1'}"), "");
  EXPECT_EQ(problems_of("{topic: a, bind: 'tcp://[::1]:1'}"), "");
  EXPECT_EQ(problems_of("{topic: a, bind: 'tcp://0.0.0.0:1', insecure: true}"), "");
  EXPECT_EQ(problems_of("{topic: a, bind: 'tcp://127.0.0.1:1', framing: gnuradio-tags}"), "");
}

TEST(PublishOptions, WrongOnesSayWhatToDo) {
  EXPECT_EQ(problems_of("{topic: a b, bind: 'tcp://127.0.0.1:1'}"),
            "x.yaml:1:2 topic: 'a b' contains a space, which ends the topic on the wire; use . or _\n");
  EXPECT_EQ(problems_of("{topic: '', bind: 'tcp://127.0.0.1:1'}"), "x.yaml:1:2 topic: is empty: subscribers need it\n");
  EXPECT_EQ(problems_of("{bind: 'tcp://127.0.0.1:1'}"), "x.yaml:1:1 topic: is required\n");
  EXPECT_EQ(problems_of("{topic: a}"),
            "x.yaml:1:1: needs either `bind:` or `connect:`, e.g. bind: \"tcp://127.0.0.1:5555\"\n");
  EXPECT_EQ(problems_of("{topic: a, bind: 'tcp://127.0.0.1:1', connect: 'tcp://127.0.0.1:2'}"),
            "x.yaml:1:39 connect: a socket binds or connects, not both: remove `bind:` or `connect:`\n");
  for (const std::string bad : {"127.0.0.1:5555", "inproc://here", "udp://127.0.0.1:1"})
    EXPECT_EQ(problems_of("{topic: a, bind: '" + bad + "'}"),
              "x.yaml:1:12 bind: '" + bad + "' is not an endpoint such as tcp://host:port or ipc://path\n");
  for (const std::string bad : {"tcp://127.0.0.1:99999", "tcp://127.0.0.1:0", "tcp://127.0.0.1:5x", "tcp://127.0.0.1",
                                "tcp://127.0.0.1:", "tcp://:5", "ipc://"})
    EXPECT_THAT(problems_of("{topic: a, insecure: true, bind: '" + bad + "'}"),
                ::testing::HasSubstr("bind: '" + bad + "' is not an endpoint"));
  EXPECT_EQ(problems_of("{topic: a, bind: 'tcp://127.0.0.1:*'}"), "");
  for (const std::string open : {"tcp://*:5555", "tcp://0.0.0.0:1", "tcp://10.0.0.1:1", "tcp://eth0:1"})
    for (const std::string key : {"bind", "connect"})
      EXPECT_EQ(
          problems_of("{topic: a, " + key + ": '" + open + "'}"),
          "x.yaml:1:12 " + key + ": " + open +
              " leads to other hosts, and nothing is encrypted: use 127.0.0.1, or give both sides keys (`curve:`; "
              "`iqd keygen` makes them), or set `insecure: true`\n");
  EXPECT_THAT(problems_of("{topic: a, bind: 'tcp://10.0.0.1:1', curve: {secret: /none, allow: any}}"),
              ::testing::StartsWith("x.yaml:1:46 curve.secret: /none: cannot be read: No such file"));
  EXPECT_EQ(problems_of("{topic: a, bind: 'tcp://127.0.0.1:1', knd: push}"),
            "x.yaml:1:39 knd: unknown key (did you mean 'kind'?)\n");
  PortFormat rows = samples();
  rows.dims = {{"channel", 2}, {"n", 1000}};
  rows.varying = 1;
  EXPECT_EQ(problems_of("{topic: a, bind: 'tcp://127.0.0.1:1', framing: gnuradio-tags}", rows),
            "x.yaml:1:39 framing: gnuradio-tags needs samples of one channel, [n]; fir.out is [channel 2][n 1000]\n");
}

TEST(PublishOptions, EndpointIsWhatItBinds) {
  EXPECT_EQ(Entry("{topic: a, bind: 'tcp://127.0.0.1:1'}").options->endpoint(), "tcp://127.0.0.1:1");
  EXPECT_EQ(Entry("{topic: a, connect: 'tcp://127.0.0.1:1'}").options->endpoint(), "");
}

Message message(const PortFormat& format, std::span<const cf32> x, std::uint64_t seq) {
  Message m;
  m.format = &format;
  m.seq = seq;
  m.sample = 1000 + static_cast<std::int64_t>(seq);
  m.extent = std::ssize(x);
  m.payload = std::as_bytes(x);
  return m;
}

std::size_t header_need(const std::string& yaml, const PortFormat& format) {
  for (const Need& need : Entry(yaml, format).options->needs(format))
    if (need.what == "header of a") return need.bytes;
  return 0;
}

TEST(PublishOptions, AHeaderTakesWhatItCanHold) {
  const std::string json = "{topic: a, bind: 'tcp://127.0.0.1:1'}";
  PortFormat many = samples();
  many.dims[0].extent = 1 << 28;
  EXPECT_LT(header_need(json, many), 4096u) << "samples have no facts";
  EXPECT_EQ(header_need("{topic: a, bind: 'tcp://127.0.0.1:1', framing: struct}", many), 66u);
  many.dims = {{"packet", 100}, {"bit", 6}};
  const std::size_t without = header_need(json, many);
  many.facts = 3;
  const std::size_t three = header_need(json, many);
  EXPECT_GT(three, without + 100 * 3 * 50);
  many.dims[0].extent = 200;
  EXPECT_LE(header_need(json, many), 2 * three);
}

TEST(PublishOptions, TopicsOfOneAddressShareASocket) {
  const PortFormat format = samples();
  const auto socket_of = [&](const std::string& yaml) {
    for (const Need& need : Entry(yaml, format).options->needs(format))
      if (need.shared) return need;
    return Need{};
  };
  const Need a = socket_of("{topic: a, bind: 'tcp://127.0.0.1:1', hwm_bytes: 1 MB}");
  EXPECT_EQ(a.what, socket_of("{topic: b, bind: 'tcp://127.0.0.1:1', hwm_bytes: 1 MB}").what);
  EXPECT_NE(a.what, socket_of("{topic: b, bind: 'tcp://127.0.0.1:2', hwm_bytes: 1 MB}").what);
  EXPECT_EQ(a.more, 1'000'000u);
  EXPECT_EQ(socket_of("{topic: a, bind: 'tcp://127.0.0.1:1', hwm_bytes: 1}").more, 2u * 8000)
      << "at least two messages";
}

TEST(PublishOptions, HeaderAndPayloadArrive) {
  const Entry entry("{topic: iq, bind: 'tcp://127.0.0.1:15620'}");
  const PortFormat format = samples();
  const auto outlet = entry.options->open(format, false, format.bytes(format.most()));
  ZmqReader reader(ZMQ_SUB, "tcp://127.0.0.1:15620");
  reader.subscribe("iq ");
  ASSERT_TRUE(soon([&] { return outlet->subscriptions() == 1; }));
  const std::vector<cf32> x{{1, 2}, {3, 4}, {-5, 0.5f}};
  LeaseCount leases;
  EXPECT_TRUE(outlet->send(message(format, x, 7), leases.take(), false));
  const auto frames = reader.receive();
  ASSERT_EQ(frames.size(), 2u);
  ASSERT_TRUE(frames[0].starts_with("iq {"));
  const auto head = nlohmann::json::parse(frames[0].substr(3));
  EXPECT_EQ(head["seq"], 7);
  EXPECT_EQ(head["sample"], 1007);
  EXPECT_EQ(head["dtype"], "<c8");
  EXPECT_EQ(head["shape"], nlohmann::json({3}));
  EXPECT_EQ(head["port"], "fir.out");
  ASSERT_EQ(frames[1].size(), x.size() * sizeof(cf32));
  EXPECT_EQ(std::memcmp(frames[1].data(), x.data(), frames[1].size()), 0);
  outlet->finish();
  EXPECT_TRUE(soon([&] { return leases.out == 0; }));
}

TEST(PublishOptions, StructHeaderHasItsFixedSize) {
  const Entry entry("{topic: iq, bind: 'tcp://127.0.0.1:15621', kind: push, framing: struct}");
  const PortFormat format = samples();
  const auto outlet = entry.options->open(format, true, format.bytes(format.most()));
  ZmqReader reader(ZMQ_PULL, "tcp://127.0.0.1:15621");
  const std::vector<cf32> x(5);
  LeaseCount leases;
  EXPECT_TRUE(outlet->send(message(format, x, 7), leases.take(), true));
  const auto frames = reader.receive();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].size(), 3 + kStructHeaderBytes);
  EXPECT_EQ(frames[0].substr(0, 3), "iq ");
  EXPECT_EQ(frames[1].size(), 40u);
}

/// Two entries with one endpoint share its socket. Readers select by topic, and the space separates `a` from `ab`.
TEST(PublishOptions, TwoTopicsOnOneEndpoint) {
  const Entry a("{topic: a, bind: 'tcp://127.0.0.1:15622'}"), ab("{topic: ab, bind: 'tcp://127.0.0.1:15622'}");
  const PortFormat format = samples();
  const auto first = a.options->open(format, false, format.bytes(format.most()));
  const auto second = ab.options->open(format, false, format.bytes(format.most()));
  ZmqReader only_a(ZMQ_SUB, "tcp://127.0.0.1:15622"), both(ZMQ_SUB, "tcp://127.0.0.1:15622");
  only_a.subscribe("a ");
  both.subscribe("");
  ASSERT_TRUE(soon([&] { return first->subscriptions() + second->subscriptions() == 2; })) << "counted once";
  const std::vector<cf32> x(3);
  LeaseCount leases;
  for (std::uint64_t seq = 0; seq < 20; ++seq) {
    EXPECT_TRUE(first->send(message(format, x, seq), leases.take(), false));
    EXPECT_TRUE(second->send(message(format, x, seq), leases.take(), false));
  }
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(only_a.receive().at(0).starts_with("a {"));
  EXPECT_TRUE(only_a.receive(50).empty());
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(both.receive().at(0).starts_with(i % 2 ? "ab {" : "a {"));
  first->finish();
  second->finish();
}

std::string refusal(const OutletOptions& options, const PortFormat& format) {
  try {
    options.open(format, false, format.bytes(format.most()));
  } catch (const SetupError& e) {
    return e.what();
  }
  return "none";
}

/// While another thread uses the first, in a program that reloads its file.
TEST(PublishOptions, WhoSharesAnEndpointSaysTheSame) {
  const std::string head = "{topic: a, bind: 'tcp://127.0.0.1:15623'";
  const Entry running(head + "}");
  const auto outlet = running.options->open(samples(), false, samples().bytes(samples().most()));
  const auto expect_differs = [&](const std::string& more, const std::string& key) {
    EXPECT_EQ(
        refusal(*Entry(head + more + "}").options, samples()),
        "publish: `" + key +
            "` differs from the open socket at tcp://127.0.0.1:15623. Entries with the same endpoint share a socket "
            "and need equal values; to change them, restart iqd");
  };
  expect_differs(", kind: push", "kind");
  expect_differs(", hwm_bytes: 1 MiB", "hwm_bytes");
  expect_differs(", curve: {secret: /none, allow: any}", "curve");
  EXPECT_THAT(refusal(*Entry("{topic: a, connect: 'tcp://127.0.0.1:15623'}").options, samples()),
              ::testing::HasSubstr("`bind` differs from"));
  EXPECT_THROW(running.options->open(samples(), true, samples().bytes(samples().most())), SetupError)
      << "`overrun` differs";
  EXPECT_EQ(refusal(*Entry(head + ", framing: struct, insecure: true}").options, samples()), "none");
}

TEST(PublishOptions, AnEntryOpensWhileItsSocketIsInUse) {
  const Entry a("{topic: a, bind: 'tcp://127.0.0.1:15626'}"), b("{topic: b, bind: 'tcp://127.0.0.1:15626'}");
  const PortFormat format = samples();
  const auto first = a.options->open(format, false, format.bytes(format.most()));
  std::atomic<bool> stop{false};
  std::thread publishing([&] {
    const std::vector<cf32> x(3);
    LeaseCount leases;
    for (std::uint64_t seq = 0; !stop; ++seq) EXPECT_TRUE(first->send(message(format, x, seq), leases.take(), true));
    first->finish();
  });
  ZmqReader reader(ZMQ_SUB, "tcp://127.0.0.1:15626");
  for (int i = 0; i < 200; ++i) {
    reader.subscribe(std::to_string(i));
    const auto second = b.options->open(format, false, format.bytes(format.most()));
    EXPECT_EQ(second->peers().endpoint, "tcp://127.0.0.1:15626");
  }
  stop = true;
  publishing.join();
}

/// A plain TCP connection does not count as a reader.
TEST(PublishOptions, PeersAreCounted) {
  const Entry a("{topic: a, bind: 'tcp://127.0.0.1:15627'}"), b("{topic: b, bind: 'tcp://127.0.0.1:15627'}");
  const auto first = a.options->open(samples(), false, samples().bytes(samples().most())),
             second = b.options->open(samples(), false, samples().bytes(samples().most()));
  EXPECT_EQ(first->peers().connected, 0);
  {
    ZmqReader one(ZMQ_SUB, "tcp://127.0.0.1:15627"), two(ZMQ_SUB, "tcp://127.0.0.1:15627");
    EXPECT_TRUE(soon([&] { return first->peers().connected == 2; }, 20'000));
    EXPECT_EQ(second->peers().connected, 2) << "outlets of one endpoint report the same";
  }
  EXPECT_TRUE(soon([&] { return first->peers().connected == 0; }, 20'000));
  EXPECT_EQ(first->peers().handshake_failures, 0u);
}

TEST(PublishOptions, AnotherPipelineCannotHaveTheSameEndpoint) {
  const Entry entry("{topic: a, bind: 'tcp://127.0.0.1:15624'}");
  auto outlet = entry.options->open(samples(), false, samples().bytes(samples().most()));
  PortFormat other = samples();
  other.pipeline = "other";
  EXPECT_TRUE(
      refusal(*entry.options, other).starts_with("publish: cannot bind tcp://127.0.0.1:15624: Address already"));
  outlet.reset();
  EXPECT_EQ(refusal(*entry.options, other), "none") << "the address is free again";
}

/// A stream that ends before its reader has read: closing returns every lease, whatever the reader does.
TEST(PublishOptions, ClosingGivesBackEveryLease) {
  const PortFormat format = samples();
  const std::vector<cf32> x(100'000);
  LeaseCount leases;
  ZmqReader hangs(ZMQ_SUB, "tcp://127.0.0.1:15625", 4096);
  hangs.subscribe("");
  {
    const Entry entry("{topic: a, bind: 'tcp://127.0.0.1:15625'}");
    const auto outlet = entry.options->open(format, false, format.bytes(format.most()));
    ASSERT_TRUE(soon([&] { return outlet->subscriptions() == 1; }));
    for (std::uint64_t seq = 0; seq < 30; ++seq) outlet->send(message(format, x, seq), leases.take(), false);
    EXPECT_GT(leases.out, 0);
    outlet->interrupt();
    outlet->finish();
  }
  EXPECT_EQ(leases.out, 0);
}

}  // namespace
}  // namespace iqd::publish
