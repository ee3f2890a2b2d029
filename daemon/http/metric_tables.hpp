// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <prometheus/metric_type.h>

#include <cmath>
#include <limits>

#include "daemon/http/metrics_process.hpp"
#include "daemon/http/service.hpp"

/// Metrics with one number for each pipeline, channel, port, endpoint or process: name, type, help, value.
namespace iqd::metric_tables {

using prometheus::MetricType;
using Status = PipelineStatus;
using Port = PipelineStatus::Port;
using Channel = PipelineStatus::Channel;

inline constexpr MetricType kCounter = MetricType::Counter;
inline constexpr MetricType kGauge = MetricType::Gauge;

/// A metric with one number for each T.
template <class T> struct Row {
  const char* name;
  MetricType type;
  const char* help;
  double (*value)(const T& of);
};
template <auto kMember, class T> double of(const T& t) {
  return static_cast<double>(t.*kMember);
}

// Each help says what is measured and, if it should not grow, what to do. docs/metrics.md has the same texts.
inline constexpr Row<Status> kPipeline[] = {
    {"iqd_samples_in_flight", kGauge,
     "Samples received, but not yet published or dropped; if it keeps growing, the stages are too slow.",
     of<&Status::in_flight>},
    {"iqd_sample_rate_hertz", kGauge, "Sample rate that the source reports.", of<&Status::rate_hz>},
    {"iqd_block_deadline_seconds", kGauge,
     "Duration of a block, which is the deadline for processing it; compare it with iqd_block_latency_seconds.",
     of<&Status::block_s>},
    {"iqd_lanes", kGauge, "Blocks that can be processed in parallel (`lanes:`).", of<&Status::lanes>},
    {"iqd_lanes_busy", kGauge,
     "Lanes that are processing a block; if all always are, the stages are too slow: use more lanes or fewer stages.",
     of<&Status::lanes_busy>},
    {"iqd_slots", kGauge, "Number of result slots.", of<&Status::slots>},
    {"iqd_slots_free", kGauge,
     "Result slots that are free; if it gets near 0, a subscriber or a sink is slow: check the ports.",
     of<&Status::slots_free>},
    {"iqd_gpu_share_processors", kGauge,
     "Multiprocessors of the pipeline's part of each GPU, if the file divides it (`gpu: {share: …}`).",
     [](const Status& s) { return s.gpu_share > 0 ? s.gpu_share : std::numeric_limits<double>::quiet_NaN(); }},
    {"iqd_device_memory_bytes", kGauge, "GPU memory that the plan uses.", of<&Status::device_bytes>},
    {"iqd_reloads_total", kCounter, "Changes of the running plan by reload or live key.", of<&Status::reloads>},
};

inline constexpr Row<Status> kRadio[] = {
    {"iqd_radio_frequency_hertz", kGauge, "Frequency that the radio is tuned to; 0 if unknown.",
     of<&Status::frequency_hz>},
};

inline constexpr Row<Status> kCalibration[] = {
    {"iqd_source_calibrated", kGauge,
     "1 while the source's `calibration` is valid; 0 after a retune: channels are then passed on uncorrected. Tune "
     "back, or run `iqd calibrate` again.",
     of<&Status::calibrated>},
};

inline constexpr Row<Channel> kChannels[] = {
    {"iqd_radio_rms_dbfs", kGauge,
     "RMS level of a channel in the last second in dBFS; 0 dBFS is a tone of amplitude 1. Much below -60, the ADC's "
     "bits are wasted: raise the gain.",
     of<&Channel::rms_dbfs>},
    {"iqd_radio_peak_dbfs", kGauge,
     "Peak of the real and imaginary parts in the last second in dBFS; at 0 the channel clips: lower the gain.",
     of<&Channel::peak_dbfs>},
    {"iqd_radio_clipped_samples_total", kCounter,
     "Samples of a channel whose real or imaginary part was at full scale; compare it with iqd_samples_received_total, "
     "and lower the gain.",
     of<&Channel::clipped>},
    {"iqd_radio_overloads_total", kCounter,
     "Times a channel began to clip more than one sample in 10,000; lower the gain, or attenuate the input.",
     of<&Channel::overloads>},
};

inline constexpr Row<Port> kPorts[] = {
    {"iqd_port_messages_total", kCounter,
     "Messages handed to the outlet; constant while nothing is found or published.", of<&Port::messages>},
    {"iqd_port_bytes_total", kCounter, "Payload handed to the outlet; compare it with the network's capacity.",
     of<&Port::bytes>},
    {"iqd_port_refused_total", kCounter,
     "Messages that the outlet did not take and that are lost: the reader is too slow or disconnected, or the disk is "
     "full. For `apply`: values that the stage refused; the log says why.",
     of<&Port::refused>},
    {"iqd_transmit_underflows_total", kCounter,
     "Times a transmitter ran out of samples; use longer blocks, or speed up the stages before it.",
     [](const Port& p) { return static_cast<double>(p.sink.underflows); }},
    {"iqd_transmit_late_total", kCounter,
     "Bursts that arrived after their transmit time; schedule them later, or use shorter blocks.",
     [](const Port& p) { return static_cast<double>(p.sink.late); }},
    {"iqd_transmit_sequence_errors_total", kCounter,
     "Times packets were lost on the way to a transmitter; check cable, switch and socket buffers (`iqd doctor`).",
     [](const Port& p) { return static_cast<double>(p.sink.sequence_errors); }},
};

inline constexpr Row<PeerCounts> kEndpoints[] = {
    {"iqd_endpoint_connections", kGauge, "Connected readers; 0: nobody listens.", of<&PeerCounts::connected>},
    {"iqd_endpoint_handshake_failures_total", kCounter,
     "Connections refused because of their key or protocol; add the reader's key to the allow-list, or find out who "
     "connects.",
     of<&PeerCounts::handshake_failures>},
    {"iqd_endpoint_cut_off_total", kCounter,
     "Readers that iqd disconnected because they sent too much; the log names them, docs/limits.md has the limits.",
     of<&PeerCounts::cut_off>},
};

inline constexpr Row<PoolStatus> kPools[] = {
    {"iqd_pool_connected", kGauge, "1 while the pool's server is connected; if not, check the server and the log.",
     of<&PoolStatus::connected>},
    {"iqd_pool_workers", kGauge, "Workers that reported within the last seconds; 0: start one.",
     of<&PoolStatus::workers>},
    {"iqd_pool_room_blocks", kGauge,
     "Blocks that may be at other hosts now: as many as they finished lately, and a few more; 0: the pool is not "
     "usable.",
     of<&PoolStatus::room>},
    {"iqd_pool_waiting_blocks", kGauge,
     "Blocks at the server that no worker has fetched; if it stays above 0, add workers.",
     [](const PoolStatus& p) { return p.waiting < 0 ? std::nan("") : static_cast<double>(p.waiting); }},
    {"iqd_pool_idle_lanes", kGauge, "Lanes of workers that wait for a block.",
     [](const PoolStatus& p) { return p.idle_lanes < 0 ? std::nan("") : static_cast<double>(p.idle_lanes); }},
    {"iqd_pool_again_total", kCounter,
     "Blocks that were published again, since the server did not answer; check the network.", of<&PoolStatus::again>},
    {"iqd_pool_twice_total", kCounter,
     "Results of blocks that were settled before; a worker was silent for longer than `ack_wait`, or slower than "
     "`patience`.",
     of<&PoolStatus::twice>},
    {"iqd_pool_late_total", kCounter, "Results of an earlier start of this pipeline.", of<&PoolStatus::late>},
    {"iqd_pool_wrong_total", kCounter,
     "Messages among the results that are none, or do not fit; find out who publishes them.", of<&PoolStatus::wrong>},
};

inline constexpr Row<WorkStatus> kWork[] = {
    {"iqd_work_lanes", kGauge, "Blocks of pools that this worker can compute in parallel.", of<&WorkStatus::lanes>},
    {"iqd_work_lanes_busy", kGauge, "Lanes that compute a block of a pool; if all always are, add workers.",
     of<&WorkStatus::busy>},
};

inline constexpr Row<ProcessFigures> kProcess[] = {
    {"process_cpu_seconds_total", kCounter, "CPU time that iqd has used; a busy thread uses up to one core.",
     of<&ProcessFigures::cpu_s>},
    {"process_resident_memory_bytes", kGauge, "Memory in use; constant once iqd has warmed up.",
     of<&ProcessFigures::resident_bytes>},
    {"process_virtual_memory_bytes", kGauge,
     "Address space in use; larger than the memory, since rings are mapped twice.", of<&ProcessFigures::virtual_bytes>},
    {"process_open_fds", kGauge, "File descriptors in use; near process_max_fds, readers are refused.",
     of<&ProcessFigures::open_files>},
    {"process_max_fds", kGauge, "Limit of file descriptors; raise LimitNOFILE for many readers.",
     of<&ProcessFigures::most_files>},
    {"iqd_connections_refused_total", kCounter,
     "Connections closed at once because peers already use all descriptors allowed to them; find out who connects, or "
     "raise LimitNOFILE.",
     of<&ProcessFigures::refused>},
    {"process_threads", kGauge, "Number of threads; constant once iqd has warmed up.", of<&ProcessFigures::threads>},
    {"process_start_time_seconds", kGauge,
     "Start time of iqd in seconds since 1970; if it changes, iqd has been restarted.", of<&ProcessFigures::started_s>},
};

}  // namespace iqd::metric_tables
