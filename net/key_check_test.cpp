// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "net/key_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "net/keys.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd::net {
namespace {

/// Asks what libzmq would ask about a peer. No other thread takes part.
class KeyCheckTest : public ::testing::Test {
 protected:
  KeyCheckTest() { ::zmq_connect(asks_.get(), "inproc://zeromq.zap.01"); }
  std::string status_for(const std::vector<std::string>& rest) {
    std::vector<std::string> question{"1.0", "7", "iqd", "10.1.2.3", ""};
    question.insert(question.end(), rest.begin(), rest.end());
    for (std::size_t i = 0; i < question.size(); ++i)
      ::zmq_send(asks_.get(), question[i].data(), question[i].size(), i + 1 < question.size() ? ZMQ_SNDMORE : 0);
    refusal_ = check_.answer();
    const std::vector<std::string> reply = receive_frames(asks_.get());
    if (reply.size() != 6) return "an invalid reply";
    EXPECT_EQ(reply[1], "7") << "the number of the request";
    return reply[2];
  }
  static std::string bytes_of(const KeyPair& keys) {
    std::string bytes(32, '\0');
    ::zmq_z85_decode(reinterpret_cast<std::uint8_t*>(bytes.data()), keys.public_key.c_str());
    return bytes;
  }

  ScratchFolder folder_;
  Context context_ = make_context();
  SocketHandle guarded_{::zmq_socket(context_.get(), ZMQ_PUSH)};
  KeyCheck check_{context_.get(), guarded_.get(), (folder_.path() / "list").string()};
  SocketHandle asks_{::zmq_socket(context_.get(), ZMQ_REQ)};
  std::optional<KeyCheck::Refusal> refusal_;
  KeyPair bob_ = make_key_pair();
};

TEST_F(KeyCheckTest, AKeyOnTheListMayConnect) {
  folder_.write("list", bob_.public_key + "\n");
  EXPECT_EQ(status_for({"CURVE", bytes_of(bob_)}), "200");
  EXPECT_FALSE(refusal_);
}

TEST_F(KeyCheckTest, OthersAreRefusedWithAReason) {
  folder_.write("list", bob_.public_key + "\n");
  const KeyPair eve = make_key_pair();
  EXPECT_EQ(status_for({"CURVE", bytes_of(eve)}), "300");
  ASSERT_TRUE(refusal_);
  EXPECT_EQ(refusal_->peer, "10.1.2.3");
  EXPECT_THAT(refusal_->why, ::testing::StartsWith("its key " + eve.public_key + " is not in "));
  EXPECT_EQ(status_for({"NULL"}), "300");
  ASSERT_TRUE(refusal_);
  EXPECT_EQ(refusal_->why, "it uses no keys");
}

TEST_F(KeyCheckTest, TheListIsReadEachTime) {
  EXPECT_EQ(status_for({"CURVE", bytes_of(bob_)}), "300") << "there is no list yet";
  ASSERT_TRUE(refusal_);
  EXPECT_THAT(refusal_->why, ::testing::StartsWith("no new peer can connect until the list is fixed: "));
  folder_.write("list", bob_.public_key + "\n");
  EXPECT_EQ(status_for({"CURVE", bytes_of(bob_)}), "200");
}

}  // namespace
}  // namespace iqd::net
