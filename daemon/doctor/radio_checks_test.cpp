// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/radio_checks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/scratch_folder.hpp"

namespace iqd {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

RadioUse usrp(const std::string& args, double bits_per_s = 0) {
  RadioUse use{"lab", "uhd", device_args(args), {}, bits_per_s, {}};
  use.hosts = hosts_in(use.args);
  return use;
}

Finding named(const Findings& all, std::string_view name) {
  const auto found = std::ranges::find_if(all, [&](const Finding& f) { return f.name == name; });
  return found == all.end() ? Finding{"no such finding", "", Verdict::ok, ""} : *found;
}

/// A made-up machine: eth0 to the world, eth1 to a network of radios.
class Machine : public ScratchFolder {
 public:
  Machine() {
    write("proc/net/route",
          "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
          "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
          "eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
          "eth1\t000AA8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n");
    card("eth0", 1000, 1500);
    card("eth1", 10'000, 9000);
  }
  void card(const std::string& name, int megabits, int mtu) const {
    shows(name, "speed", std::to_string(megabits));
    shows(name, "mtu", std::to_string(mtu));
    shows(name, "duplex", "full");
    shows(name, "operstate", "up");
    shows(name, "device/vendor", "0x8086");
  }
  void shows(const std::string& name, const std::string& file, const std::string& text) const {
    write("sys/class/net/" + name + "/" + file, text + "\n");
  }
  void usb(const std::string& port, const char* vendor, const char* product, const char* speed) const {
    const std::string folder = "sys/bus/usb/devices/" + port + "/";
    write(folder + "idVendor", std::string(vendor) + "\n");
    write(folder + "idProduct", std::string(product) + "\n");
    write(folder + "speed", std::string(speed) + "\n");
    write(folder + "busnum", "2\n");
    write(folder + "devnum", "11\n");
  }
};

TEST(Network, TheNarrowestRouteHolds) {
  const Machine m;
  const std::string table = m.text("proc/net/route");
  EXPECT_EQ(way_to(table, "192.168.10.2")->interface, "eth1");
  EXPECT_EQ(way_to(table, "192.168.10.2")->gateway, "");
  EXPECT_EQ(way_to(table, "10.0.0.7")->interface, "eth0");
  EXPECT_EQ(way_to(table, "192.168.11.2")->gateway, "10.0.0.1");
  EXPECT_FALSE(way_to("Iface Destination\nrubbish\n", "192.168.11.2"));
  EXPECT_FALSE(way_to(table, "no address"));
}

TEST(Network, ARadioBehindACardThatIsSetUp) {
  const Machine m;
  const Findings all = check_network({usrp("addr=192.168.10.2", 320e6)}, m.path());
  for (const Finding& f : all) EXPECT_EQ(f.verdict, Verdict::ok) << f.name << ": " << f.found;
  EXPECT_EQ(named(all, "radio at 192.168.10.2").found, "via eth1");
  EXPECT_EQ(named(all, "MTU of eth1").found, "9000");
  EXPECT_EQ(named(all, "speed of eth1").found, "10000 Mbit/s");
  EXPECT_EQ(named(all, "losses of eth1").found, "none");
}

TEST(Network, ACardThatIsNot) {
  const Machine m;
  m.shows("eth1", "mtu", "1500");
  m.shows("eth1", "statistics/rx_missed_errors", "17");
  m.shows("eth1", "statistics/rx_fifo_errors", "3");
  // Two radios share it: together they want more than it has.
  const Findings all = check_network({usrp("addr=192.168.10.2", 6e9), usrp("addr=192.168.10.3", 6e9)}, m.path());
  EXPECT_EQ(named(all, "MTU of eth1").verdict, Verdict::warn);
  EXPECT_THAT(named(all, "MTU of eth1").mend, StartsWith("sudo ip link set dev eth1 mtu 9000"));
  EXPECT_EQ(named(all, "speed of eth1").verdict, Verdict::bad);
  EXPECT_EQ(named(all, "speed of eth1").found, "10000 Mbit/s, the samples need 12600 Mbit/s");
  EXPECT_EQ(named(all, "losses of eth1").found, "20 packets dropped by the full card since boot");
  EXPECT_THAT(named(all, "losses of eth1").mend, StartsWith("sudo ethtool -G eth1 rx "));
  m.shows("eth1", "statistics/rx_crc_errors", "1");
  EXPECT_THAT(named(check_network({usrp("addr=192.168.10.2")}, m.path()), "losses of eth1").mend, HasSubstr("cable"));
  m.shows("eth1", "operstate", "down");
  const Findings down = check_network({usrp("addr=192.168.10.2")}, m.path());
  EXPECT_EQ(named(down, "link of eth1").verdict, Verdict::bad);
  EXPECT_THAT(named(down, "link of eth1").mend, StartsWith("sudo ip link set dev eth1 up"));
}

TEST(Network, LargePacketsAreForQuickUsrpsOnly) {
  const Machine m;
  m.shows("eth1", "mtu", "1500");
  RadioUse remote{"lab", "soapy", device_args("driver=remote,remote=tcp://192.168.10.2:55132"), {}, 0, {}};
  remote.hosts = hosts_in(remote.args);
  EXPECT_EQ(named(check_network({remote}, m.path()), "MTU of eth1").verdict, Verdict::ok);
  EXPECT_EQ(named(check_network({usrp("addr=10.0.0.2")}, m.path()), "MTU of eth0").verdict, Verdict::ok);
  m.shows("eth0", "mtu", "1400");
  EXPECT_EQ(named(check_network({usrp("addr=10.0.0.2")}, m.path()), "MTU of eth0").verdict, Verdict::warn);
}

TEST(Network, ARadioThatNoNetworkLeadsTo) {
  const Machine m;
  const Finding routed = named(check_network({usrp("addr=192.168.11.2")}, m.path()), "radio at 192.168.11.2");
  EXPECT_EQ(routed.verdict, Verdict::warn);
  EXPECT_THAT(routed.found, HasSubstr("through the router 10.0.0.1"));
  EXPECT_THAT(routed.mend, HasSubstr("sudo ip addr add 192.168.11.1/24 dev"));
  m.write("proc/net/route", "Iface Destination Gateway Flags RefCnt Use Metric Mask\n");
  const Finding lost = named(check_network({usrp("addr=192.168.11.2")}, m.path()), "radio at 192.168.11.2");
  EXPECT_EQ(lost.verdict, Verdict::bad);
  EXPECT_THAT(lost.mend, HasSubstr("192.168.11.1/24"));
  const Findings own = check_network({usrp("addr=127.0.0.1")}, m.path());
  ASSERT_EQ(own.size(), 1u);
  EXPECT_EQ(own[0].found, "on this machine");
}

TEST(Network, FarFromTheProcessorsOfThePipeline) {
  const Machine m;
  m.write("sys/devices/system/node/online", "0-1\n");
  m.write("sys/devices/system/node/node1/cpulist", "8-15\n");
  m.shows("eth1", "device/numa_node", "1");
  RadioUse radio = usrp("addr=192.168.10.2");
  EXPECT_EQ(named(check_network({radio}, m.path()), "NUMA node of eth1").verdict, Verdict::ok);
  EXPECT_THAT(named(check_network({radio}, m.path()), "NUMA node of eth1").mend, HasSubstr("numactl --cpunodebind=1"));
  radio.realtime.cpus = {8, 9};
  EXPECT_EQ(named(check_network({radio}, m.path()), "NUMA node of eth1").mend, "");
  radio.realtime.cpus = {3, 9};
  const Finding far = named(check_network({radio}, m.path()), "NUMA node of eth1");
  EXPECT_EQ(far.verdict, Verdict::warn);
  EXPECT_THAT(far.found, HasSubstr("has 3, on another node"));
  EXPECT_THAT(far.mend, HasSubstr("8-15"));
}

TEST(Network, InterruptsOnTheRadiosProcessors) {
  const Machine m;
  m.shows("eth1", "device/msi_irqs/40", "");
  m.shows("eth1", "device/msi_irqs/41", "");
  m.write("proc/irq/40/smp_affinity_list", "0-1\n");
  m.write("proc/irq/41/smp_affinity_list", "2\n");
  RadioUse radio = usrp("addr=192.168.10.2");
  radio.realtime.cpus = {2, 3};
  const Finding shared = named(check_network({radio}, m.path()), "interrupts of eth1");
  EXPECT_EQ(shared.verdict, Verdict::warn);
  EXPECT_THAT(shared.found, HasSubstr("gives 2 to the radio"));
  EXPECT_THAT(shared.mend, HasSubstr("/sys/class/net/eth1/device/msi_irqs"));
  radio.realtime.cpus = {4};
  EXPECT_EQ(named(check_network({radio}, m.path()), "interrupts of eth1").verdict, Verdict::ok);
}

TEST(Network, WithoutAPipelineCardsAreShownAndHintsGiven) {
  const Machine m;
  m.shows("eth1", "mtu", "1500");
  m.shows("veth7", "mtu", "1500");  // no card: it has no device
  const Findings all = check_interfaces(m.path());
  EXPECT_EQ(named(all, "MTU of eth1").verdict, Verdict::ok);
  EXPECT_THAT(named(all, "MTU of eth1").mend, HasSubstr("mtu 9000"));
  EXPECT_EQ(named(all, "MTU of eth0").mend, "");
  EXPECT_EQ(named(all, "MTU of veth7").name, "no such finding");
}

TEST(Network, RingsAndHalfDuplex) {
  EXPECT_EQ(judge_ring("eth1", 4096, 4096).verdict, Verdict::ok);
  EXPECT_EQ(judge_ring("eth1", 512, 4096).verdict, Verdict::warn);
  EXPECT_EQ(judge_ring("eth1", 512, 4096).mend, "sudo ethtool -G eth1 rx 4096");
  EXPECT_EQ(judge_speed({.name = "eth1", .megabits = 100, .duplex = "half"}, 0).verdict, Verdict::bad);
  EXPECT_EQ(judge_speed({.name = "eth1", .megabits = -1}, 1e9).found, "not visible");
}

TEST(Network, BuffersAreForRadiosOnTheNetwork) {
  EXPECT_FALSE(wanted_buffers({usrp("serial=1")}));
  EXPECT_EQ(wanted_buffers({usrp("addr=192.168.10.2")})->send, 1'048'576);
  EXPECT_EQ(wanted_buffers({usrp("addr=192.168.10.2,type=x300")})->send, 33'554'432);
}

TEST(Usb, ARadioInAnOldPort) {
  const Machine m;
  m.usb("1-2", "1d6b", "0002", "480");  // a hub
  m.usb("2-1", "2500", "0020", "480");
  m.write("dev/bus/usb/002/011", "");
  m.write("sys/module/usbcore/parameters/usbfs_memory_mb", "16\n");
  const Findings all = check_usb({}, m.path());
  EXPECT_EQ(named(all, "USB of USRP B200/B210").verdict, Verdict::warn);
  EXPECT_EQ(named(all, "USB of USRP B200/B210").found, "480 Mbit/s, it supports 5000");
  EXPECT_THAT(named(all, "USB of USRP B200/B210").mend, HasSubstr("USB 3"));
  EXPECT_EQ(named(all, "access to USRP B200/B210").found, "granted");
  EXPECT_EQ(named(all, "USB transfers").verdict, Verdict::warn);
  EXPECT_EQ(named(all, "USB transfers").mend, "echo 256 | sudo tee /sys/module/usbcore/parameters/usbfs_memory_mb");
  EXPECT_EQ(all.size(), 3u);
  m.usb("2-1", "2500", "0020", "5000");
  m.write("sys/module/usbcore/parameters/usbfs_memory_mb", "0\n");
  for (const Finding& f : check_usb({}, m.path())) EXPECT_EQ(f.verdict, Verdict::ok) << f.name;
}

TEST(Usb, WhoMayOpenIt) {
  const UsbRadio radio{"RTL-SDR", "0bda", 480, 480, "dev/bus/usb/001/004"};
  EXPECT_EQ(judge_usb_access(radio, true, 0600, "root").verdict, Verdict::ok);
  const Finding by_group = judge_usb_access(radio, false, 0660, "plugdev");
  EXPECT_EQ(by_group.verdict, Verdict::bad);
  EXPECT_EQ(by_group.found, "no permission to open /dev/bus/usb/001/004");
  EXPECT_EQ(by_group.mend, "sudo usermod -aG plugdev $USER  # then log in again");
  for (const auto& [mode, group] : {std::pair<mode_t, const char*>{0664, "root"}, {0600, "plugdev"}})
    EXPECT_THAT(judge_usb_access(radio, false, mode, group).mend, HasSubstr("udev"));
}

TEST(Usb, TheKernelTakesATelevisionStick) {
  const Machine m;
  EXPECT_EQ(named(check_usb({}, m.path()), "RTL-SDR's kernel driver").name, "no such finding");
  m.usb("1-3", "0bda", "2838", "480");
  EXPECT_EQ(named(check_usb({}, m.path()), "RTL-SDR's kernel driver").verdict, Verdict::ok);
  m.write("sys/module/dvb_usb_rtl28xxu/refcnt", "0\n");
  const Finding f = named(check_usb({}, m.path()), "RTL-SDR's kernel driver");
  EXPECT_EQ(f.verdict, Verdict::warn);
  EXPECT_THAT(f.mend, HasSubstr("sudo rmmod dvb_usb_rtl28xxu"));
}

TEST(Images, AreForUsrpsThatHaveNone) {
  const Machine m;
  EXPECT_EQ(check_images({}, m.path(), nullptr).verdict, Verdict::ok);
  EXPECT_EQ(check_images({usrp("addr=192.168.10.2")}, m.path(), nullptr).verdict, Verdict::ok);
  const Finding missing = check_images({usrp("type=b200")}, m.path(), nullptr);
  EXPECT_EQ(missing.verdict, Verdict::bad);
  EXPECT_EQ(missing.mend, "sudo uhd_images_downloader");
  m.usb("2-1", "2500", "0020", "5000");
  EXPECT_EQ(check_images({}, m.path(), nullptr).verdict, Verdict::bad);
  m.write("usr/share/uhd/4.3.0/images/usrp_b200_fw.hex", "x");
  const Finding there = check_images({usrp("type=b200")}, m.path(), nullptr);
  EXPECT_EQ(there.verdict, Verdict::ok);
  EXPECT_EQ(there.found, m / "usr/share/uhd/4.3.0/images");
  // What the variable names is all that libuhd looks into.
  EXPECT_EQ(check_images({usrp("type=b200")}, m.path(), "/no/such").verdict, Verdict::bad);
  EXPECT_EQ(check_images({}, m.path(), (m / "usr/share/uhd/4.3.0/images").c_str()).verdict, Verdict::ok);
}

TEST(MemoryLayout, OneNodeNeedsNoAdvice) {
  const Machine m;
  m.write("sys/devices/system/node/online", "0\n");
  m.write("proc/sys/kernel/numa_balancing", "1\n");
  const Findings all = check_memory_layout({}, m.path());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].found, "none");
  m.write("sys/devices/system/node/online", "0-1\n");
  const Findings two = check_memory_layout({}, m.path());
  EXPECT_THAT(named(two, "NUMA nodes").mend, HasSubstr("numactl"));
  EXPECT_EQ(named(two, "NUMA balancing").verdict, Verdict::warn);
  EXPECT_THAT(named(two, "NUMA balancing").mend, HasSubstr("sysctl -w kernel.numa_balancing=0"));
  m.write("proc/sys/kernel/numa_balancing", "0\n");
  EXPECT_EQ(named(check_memory_layout({}, m.path()), "NUMA balancing").verdict, Verdict::ok);
}

TEST(MemoryLayout, HugePagesAreForDpdk) {
  const Machine m;
  m.write("proc/meminfo", "MemTotal: 8 kB\nHugePages_Total:       0\nHugepagesize:       2048 kB\n");
  const RadioUse dpdk = usrp("addr=192.168.10.2,use_dpdk=1");
  const Finding none = check_memory_layout({dpdk}, m.path()).front();
  EXPECT_EQ(none.verdict, Verdict::bad);
  EXPECT_THAT(none.mend, HasSubstr("sysctl -w vm.nr_hugepages=512"));
  m.write("proc/meminfo", "HugePages_Total:     512\nHugepagesize:       2048 kB\n");
  EXPECT_EQ(check_memory_layout({dpdk}, m.path()).front().verdict, Verdict::ok);
  EXPECT_EQ(check_memory_layout({dpdk}, m.path()).front().mend, "");
  const Finding idle = check_memory_layout({}, m.path()).front();
  EXPECT_THAT(idle.found, HasSubstr("1.07 GB"));
  EXPECT_THAT(idle.mend, HasSubstr("vm.nr_hugepages=0"));
}

TEST(Disk, HasRoomForSoLong) {
  EXPECT_EQ(judge_disk("/data", 144e9, 40e6).found, "144.0 GB free, full after 60 min");
  EXPECT_EQ(judge_disk("/data", 144e9, 40e6).verdict, Verdict::ok);
  const Finding little = judge_disk("/data", 4e9, 40e6);
  EXPECT_EQ(little.found, "4.0 GB free, full after 100 s");
  EXPECT_EQ(little.verdict, Verdict::warn);
  EXPECT_THAT(little.mend, HasSubstr("du -xsh /data/*"));
  EXPECT_EQ(judge_disk("/data", 144e9, 1e6).found, "144.0 GB free, full after 40.0 h");
  EXPECT_EQ(judge_disk("/data", 4e9, 0).verdict, Verdict::ok);  // of a port whose rate is not known
  EXPECT_EQ(judge_disk("/data", 4e8, 0).verdict, Verdict::warn);
}

TEST(RadioChecks, FindNoFaultInWhatIsNotShown) {
  const ScratchFolder empty;
  const std::vector<RadioUse> radios{usrp("addr=192.168.10.2", 1e9), usrp("serial=1", 1e9)};
  for (const Findings& part : {check_network(radios, empty.path()), check_interfaces(empty.path()),
                               check_usb(radios, empty.path()), check_memory_layout(radios, empty.path())})
    for (const Finding& f : part) EXPECT_EQ(f.verdict, Verdict::ok) << f.name << ": " << f.found;
}

}  // namespace
}  // namespace iqd
