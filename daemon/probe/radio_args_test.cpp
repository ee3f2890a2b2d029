// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/radio_args.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"

namespace iqd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RadioArgs, AreKeysWithValues) {
  EXPECT_EQ(malformed(""), "");
  EXPECT_EQ(malformed("addr=192.168.10.2"), "");
  EXPECT_EQ(malformed("driver=remote, remote=tcp://radio-host:55132,remote:driver=rtlsdr"), "");
  EXPECT_THAT(malformed("192.168.10.2"), HasSubstr("addr=192.168.10.2"));
  EXPECT_THAT(malformed("addr=1.2.3.4,"), HasSubstr("after the last"));
  EXPECT_THAT(malformed(",addr=1.2.3.4"), HasSubstr("between two commas"));
  EXPECT_THAT(malformed("=1.2.3.4"), HasSubstr("no key"));
  EXPECT_THAT(malformed("addr="), HasSubstr("no value"));
  EXPECT_THAT(malformed("addr=1.2.3.4,addr=1.2.3.5"), HasSubstr("twice"));
}

TEST(RadioArgs, AreSoapysWhereTheyNameADriver) {
  const RadioArgs remote{"driver=remote,remote=tcp://radio-host:55132", ""};
  EXPECT_EQ(remote.taker().name, "soapy");
  EXPECT_THAT(remote.use().hosts, ElementsAre("radio-host"));
  EXPECT_EQ(remote.use().arg("driver"), "remote");
  EXPECT_EQ((RadioArgs{"serial=7", "soapy"}).taker().name, "soapy");
}

TEST(RadioArgs, OthersAreUhdsWhereItIsBuiltIn) {
  const RadioArgs usrp{"addr=192.168.10.2", ""};
  try {
    EXPECT_EQ(usrp.taker().name, "uhd");
    EXPECT_THAT(usrp.use().hosts, ElementsAre("192.168.10.2"));
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("without UHD"));
  }
}

TEST(RadioArgs, ADriverThatHasNoRadiosIsRefused) {
  for (const char* name : {"file", "nobody"}) EXPECT_THROW((RadioArgs{"a=b", name}).taker(), UsageError) << name;
  EXPECT_THROW((RadioArgs{"1.2.3.4", "soapy"}).taker(), UsageError);
}

}  // namespace
}  // namespace iqd
