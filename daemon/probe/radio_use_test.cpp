// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/radio_use.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/command/commands.hpp"
#include "daemon/doctor/sys_files.hpp"
#include "tests/support/scratch_folder.hpp"

namespace iqd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(SysFiles, ListsOfProcessors) {
  EXPECT_THAT(list_in("0-3,8"), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(list_in("5"), ElementsAre(5));
  EXPECT_THAT(list_in(""), IsEmpty());
  EXPECT_THAT(list_in("3-1,x,-2,4-,0-999999999999"), IsEmpty());
}

TEST(RadioUse, ReadsDeviceArguments) {
  const auto args = device_args(" addr0 = 192.168.10.2, type=x300,,flag");
  EXPECT_EQ(args.size(), 3u);
  EXPECT_EQ(args.at("addr0"), "192.168.10.2");
  EXPECT_EQ(args.at("type"), "x300");
  EXPECT_EQ(args.at("flag"), "");
  EXPECT_THAT(device_args(""), IsEmpty());
}

TEST(RadioUse, FindsTheHostsOfRadios) {
  const auto hosts = [](std::string_view args) { return hosts_in(device_args(args)); };
  EXPECT_THAT(hosts("addr0=192.168.10.2,addr1=192.168.11.2"), ElementsAre("192.168.10.2", "192.168.11.2"));
  EXPECT_THAT(hosts("addr=192.168.10.2,second_addr=192.168.20.2,mgmt_addr=10.0.0.9"),
              ElementsAre("192.168.10.2", "192.168.20.2"));
  EXPECT_THAT(hosts("driver=remote,remote=tcp://radio-host:55132,remote:driver=rtlsdr"), ElementsAre("radio-host"));
  EXPECT_THAT(hosts("driver=remote,remote=10.1.2.3"), ElementsAre("10.1.2.3"));
  EXPECT_THAT(hosts("driver=plutosdr,uri=ip:192.168.2.1"), ElementsAre("192.168.2.1"));
  EXPECT_THAT(hosts("driver=plutosdr,uri=usb:1.2.3"), IsEmpty());
  EXPECT_THAT(hosts("driver=rtlsdr,serial=1"), IsEmpty());
  EXPECT_THAT(hosts("driver=warp"), ElementsAre("10.0.0.1"));
  EXPECT_THAT(hosts("driver=warp,node=0/4"), ElementsAre("10.0.0.1", "10.0.0.5"));
  EXPECT_THAT(hosts("driver=warp,node=0/1,address=127.0.0.1"), ElementsAre("127.0.0.1"));
}

TEST(RadioUse, ReadsAFile) {
  const ScratchFolder folder;
  const auto loaded = load(folder.write("p.yaml", R"(
name: lab
source: {uhd: {args: "addr=192.168.10.2", rate: 10 MS/s, channels: [0, 1], wire_format: sc8}}
realtime: {cpus: [2, 3]}
sinks:
  - {port: source, file: {path: x}}
  - {port: source, soapy: {args: "driver=iqdsim", rate: 10 MS/s, channels: [0, 1]}}
)"));
  EXPECT_THAT(loaded->problems, IsEmpty());
  const auto radios = radios_in(loaded->spec);
  ASSERT_EQ(radios.size(), 2u);
  EXPECT_EQ(radios[0].pipeline, "lab");
  EXPECT_TRUE(radios[0].is_uhd());
  EXPECT_THAT(radios[0].hosts, ElementsAre("192.168.10.2"));
  EXPECT_EQ(radios[0].bits_per_s, 2 * 2 * 8 * 10e6);
  EXPECT_THAT(radios[0].realtime.cpus, ElementsAre(2, 3));
  EXPECT_EQ(radios[1].driver, "soapy");
  EXPECT_EQ(radios[1].arg("driver"), "iqdsim");
  EXPECT_EQ(radios[1].bits_per_s, 2 * 4 * 8 * 10e6);
  EXPECT_FALSE(radios[1].is_uhd());
}

}  // namespace
}  // namespace iqd
