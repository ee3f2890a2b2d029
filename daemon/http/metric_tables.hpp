// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_type.h>

#include "daemon/http/metrics_process.hpp"
#include "daemon/http/service.hpp"

/// The metrics that are one number of each pipeline, channel, port, endpoint or process: name, type, help, number.
namespace iqd::metric_tables {

using prometheus::MetricType;
using Status = PipelineStatus;
using Port = PipelineStatus::Port;
using Channel = PipelineStatus::Channel;

inline constexpr MetricType kCounter = MetricType::Counter;
inline constexpr MetricType kGauge = MetricType::Gauge;

/// A metric that is one number of each T.
template <class T> struct Row {
  const char* name;
  MetricType type;
  const char* help;
  double (*value)(const T& of);
};
template <auto kMember, class T> double of(const T& t) {
  return static_cast<double>(t.*kMember);
}

// Each help says what is counted and, where it should not grow, what to do about it. docs/metrics.md shows the same.
inline constexpr Row<Status> kPipeline[] = {
    {"iqd_samples_in_flight", kGauge,
     "Samples received and neither published nor dropped yet; if it only grows, the stages are too slow.",
     of<&Status::in_flight>},
    {"iqd_sample_rate_hertz", kGauge, "Samples a second that the source says it gives.", of<&Status::rate_hz>},
    {"iqd_block_deadline_seconds", kGauge,
     "How long a block lasts: the time in which it has to be done, and what iqd_block_latency_seconds is held against.",
     of<&Status::block_s>},
    {"iqd_lanes", kGauge, "Blocks that may be at work at once (`lanes:`).", of<&Status::lanes>},
    {"iqd_lanes_busy", kGauge,
     "Lanes that have a block now; if all always have, the stages are at their limit: more lanes, or less to do.",
     of<&Status::lanes_busy>},
    {"iqd_slots", kGauge, "Result slots there are.", of<&Status::slots>},
    {"iqd_slots_free", kGauge,
     "Result slots that nobody holds; if it comes near 0, a subscriber or a sink is slow: look at the ports.",
     of<&Status::slots_free>},
    {"iqd_device_memory_bytes", kGauge, "What the plan takes of all devices' memory.", of<&Status::device_bytes>},
    {"iqd_reloads_total", kCounter, "Changes of the running plan, by reload or live key.", of<&Status::reloads>},
};

inline constexpr Row<Status> kRadio[] = {
    {"iqd_radio_frequency_hertz", kGauge, "Where the radio is tuned to; 0: it does not say.",
     of<&Status::frequency_hz>},
};

inline constexpr Row<Status> kCalibration[] = {
    {"iqd_source_calibrated", kGauge,
     "1 while the source's `calibration` holds, 0 while it does not, since the source was tuned: its channels are "
     "passed on as they come then; set it back, or measure again with `iqd calibrate`.",
     of<&Status::calibrated>},
};

inline constexpr Row<Channel> kChannels[] = {
    {"iqd_radio_rms_dbfs", kGauge,
     "How strong a channel was in the last second, in dB of full scale, which a tone of amplitude 1 has; much below "
     "-60 wastes the converter's bits: raise the gain.",
     of<&Channel::rms_dbfs>},
    {"iqd_radio_peak_dbfs", kGauge,
     "The largest real or imaginary part of the last second, in dB of full scale; at 0 it clips: lower the gain.",
     of<&Channel::peak_dbfs>},
    {"iqd_radio_clipped_samples_total", kCounter,
     "Samples of a channel of which a part was at the end of the scale; hold it against iqd_samples_received_total, "
     "and lower the gain.",
     of<&Channel::clipped>},
    {"iqd_radio_overloads_total", kCounter,
     "Times a channel began to clip more than one sample in 10,000; lower the gain, or attenuate what comes in.",
     of<&Channel::overloads>},
};

inline constexpr Row<Port> kPorts[] = {
    {"iqd_port_messages_total", kCounter, "Messages handed over; it stands still where nothing is found or published.",
     of<&Port::messages>},
    {"iqd_port_bytes_total", kCounter, "Payload handed over; compare it with what the network carries.",
     of<&Port::bytes>},
    {"iqd_port_refused_total", kCounter,
     "Messages that could not be taken and are lost; the reader is too slow or away, or the disk is full. Of `apply`: "
     "values that the stage refused; the log says why.",
     of<&Port::refused>},
    {"iqd_transmit_underflows_total", kCounter,
     "Times a transmitter ran out of samples; use longer blocks, or make the stages before it quicker.",
     [](const Port& p) { return static_cast<double>(p.sink.underflows); }},
    {"iqd_transmit_late_total", kCounter,
     "Bursts that came after the time they were to be sent at; start them later, or use shorter blocks.",
     [](const Port& p) { return static_cast<double>(p.sink.late); }},
    {"iqd_transmit_sequence_errors_total", kCounter,
     "Times packets were lost on the way to a transmitter; check cable, switch and socket buffers (`iqd doctor`).",
     [](const Port& p) { return static_cast<double>(p.sink.sequence_errors); }},
};

inline constexpr Row<PeerCounts> kEndpoints[] = {
    {"iqd_endpoint_connections", kGauge, "Readers that are connected now; 0: nobody listens.",
     of<&PeerCounts::connected>},
    {"iqd_endpoint_handshake_failures_total", kCounter,
     "Connections refused for their keys or their protocol; put the reader's key on the allow-list, or find out who "
     "knocks.",
     of<&PeerCounts::handshake_failures>},
    {"iqd_endpoint_cut_off_total", kCounter,
     "Readers that iqd disconnected because they sent too much; the log names them, docs/limits.md has the limits.",
     of<&PeerCounts::cut_off>},
};

inline constexpr Row<ProcessFigures> kProcess[] = {
    {"process_cpu_seconds_total", kCounter, "Processor time that iqd has taken; near one core a busy thread is normal.",
     of<&ProcessFigures::cpu_s>},
    {"process_resident_memory_bytes", kGauge, "Memory in use; once warm it should stay as it is.",
     of<&ProcessFigures::resident_bytes>},
    {"process_virtual_memory_bytes", kGauge,
     "Addresses in use; rings are mapped twice, so it is larger than the memory.", of<&ProcessFigures::virtual_bytes>},
    {"process_open_fds", kGauge, "File descriptors in use; near process_max_fds readers will be refused.",
     of<&ProcessFigures::open_files>},
    {"process_max_fds", kGauge, "File descriptors that may be in use; raise LimitNOFILE for many readers.",
     of<&ProcessFigures::most_files>},
    {"iqd_connections_refused_total", kCounter,
     "Connections that were closed at once, since peers have all descriptors that they may have; find out who "
     "connects, or raise LimitNOFILE.",
     of<&ProcessFigures::refused>},
    {"process_threads", kGauge, "Threads; once warm it should stay as it is.", of<&ProcessFigures::threads>},
    {"process_start_time_seconds", kGauge, "When iqd was started, since 1970; if it changes, iqd has been restarted.",
     of<&ProcessFigures::started_s>},
};

}  // namespace iqd::metric_tables
