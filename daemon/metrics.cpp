// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics.hpp"

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "daemon/metrics_process.hpp"
#include "daemon/radio_view.hpp"

namespace iqd {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;
using Families = std::vector<MetricFamily>;
using Status = PipelineStatus;
using Port = PipelineStatus::Port;
using Channel = PipelineStatus::Channel;

constexpr MetricType kCounter = MetricType::Counter;
constexpr MetricType kGauge = MetricType::Gauge;

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
constexpr Row<Status> kPipeline[] = {
    {"iqd_samples_received_total", kCounter,
     "Samples per channel that the source has given; if it stands still, look at iqd_source_state.",
     of<&Status::received>},
    {"iqd_samples_published_total", kCounter,
     "Samples whose results were all handed over; it has to follow iqd_samples_received_total.",
     of<&Status::published>},
    {"iqd_samples_in_flight", kGauge,
     "Samples received and neither published nor dropped yet; if it only grows, the stages are too slow.",
     of<&Status::in_flight>},
    {"iqd_blocks_total", kCounter, "Blocks published.", of<&Status::blocks>},
    {"iqd_sample_rate_hertz", kGauge, "Samples a second that the source says it gives.", of<&Status::rate_hz>},
    {"iqd_block_deadline_seconds", kGauge,
     "How long a block lasts: the time in which it has to be done, and what iqd_block_latency_seconds is held against.",
     of<&Status::block_s>},
    {"iqd_deadline_misses_total", kCounter,
     "Blocks that took longer than they last; if it grows with drops, use longer blocks, more lanes or fewer stages.",
     of<&Status::deadline_misses>},
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

constexpr Row<Status> kRadio[] = {
    {"iqd_samples_lost_total", kCounter,
     "Samples per channel that never came from the radio, the gaps in the headers; look at overflows and sequence "
     "errors.",
     of<&Status::lost>},
    {"iqd_radio_overflows_total", kCounter,
     "Times the driver said that it lost samples, since they were not fetched in time; raise `realtime: priority`, see "
     "`iqd doctor`.",
     of<&Status::overflows>},
    {"iqd_radio_late_total", kCounter,
     "Times something came after the time it was meant for, and samples were lost over it; look at the radio's clock.",
     of<&Status::late>},
    {"iqd_radio_sequence_errors_total", kCounter,
     "Times packets were lost on the way from the radio; check cable, switch and socket buffers (`iqd doctor`).",
     of<&Status::sequence_errors>},
    {"iqd_radio_time_jumps_total", kCounter,
     "Times the radio's clock jumped without loss of samples; check its reference and PPS.", of<&Status::time_jumps>},
    {"iqd_radio_stalls_total", kCounter,
     "Times no samples came for longer than they should; check the radio's link and power.", of<&Status::stalls>},
    {"iqd_radio_reconnects_total", kCounter, "Times the radio had gone and was opened again; check its link and power.",
     of<&Status::reconnects>},
    {"iqd_radio_retunes_total", kCounter, "Times the radio was set otherwise while it ran, by reload or live key.",
     of<&Status::retunes>},
    {"iqd_radio_frequency_hertz", kGauge, "Where the radio is tuned to; 0: it does not say.",
     of<&Status::frequency_hz>},
};

constexpr Row<Status> kCalibration[] = {
    {"iqd_source_calibrated", kGauge,
     "1 while the source's `calibration` holds, 0 while it does not, since the source was tuned: its channels are "
     "passed "
     "on as they come then; set it back, or measure again with `iqd calibrate`.",
     of<&Status::calibrated>},
};

constexpr Row<Channel> kChannels[] = {
    {"iqd_radio_rms_dbfs", kGauge,
     "How strong a channel was in the last second, in dB of full scale, which a tone of amplitude 1 has; much below "
     "-60 "
     "wastes the converter's bits: raise the gain.",
     of<&Channel::rms_dbfs>},
    {"iqd_radio_peak_dbfs", kGauge,
     "The largest real or imaginary part of the last second, in dB of full scale; at 0 it clips: lower the gain.",
     of<&Channel::peak_dbfs>},
    {"iqd_radio_clipped_samples_total", kCounter,
     "Samples of a channel of which a part was at the end of the scale; hold it against iqd_samples_received_total, "
     "and "
     "lower the gain.",
     of<&Channel::clipped>},
    {"iqd_radio_overloads_total", kCounter,
     "Times a channel began to clip more than one sample in 10,000; lower the gain, or attenuate what comes in.",
     of<&Channel::overloads>},
};

constexpr Row<Port> kPorts[] = {
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

constexpr Row<PeerCounts> kEndpoints[] = {
    {"iqd_endpoint_connections", kGauge, "Readers that are connected now; 0: nobody listens.",
     of<&PeerCounts::connected>},
    {"iqd_endpoint_handshake_failures_total", kCounter,
     "Connections refused for their keys or their protocol; put the reader's key on the allow-list, or find out who "
     "knocks.",
     of<&PeerCounts::handshake_failures>},
};

ClientMetric number(Labels labels, MetricType type, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  (type == kCounter ? metric.counter.value : metric.gauge.value) = value;
  return metric;
}

void add(Families& all, const char* name, MetricType type, const char* help, std::vector<ClientMetric> metrics) {
  if (!metrics.empty()) all.push_back({name, help, type, std::move(metrics)});
}

/// Something measured, and the labels of all that is told of it.
template <class T> struct Labelled {
  Labels labels;
  const T* value;
};

template <class T, std::size_t kRows>
void add(Families& all, const Row<T> (&rows)[kRows], const std::vector<Labelled<T>>& items) {
  for (const Row<T>& row : rows) {
    std::vector<ClientMetric> metrics;
    for (const auto& [labels, item] : items)
      if (const double value = row.value(*item); std::isfinite(value))
        metrics.push_back(number(labels, row.type, value));
    add(all, row.name, row.type, row.help, std::move(metrics));
  }
}

/// A label twice would spoil the whole scrape, so of two that are alike the first counts.
template <class T> void append(std::vector<Labelled<T>>& items, Labels labels, const T& value) {
  const auto is_known = [&](const Labelled<T>& i) { return i.labels == labels; };
  if (std::none_of(items.begin(), items.end(), is_known)) items.push_back({std::move(labels), &value});
}

/// All there is to tell of, by its labels.
struct Subjects {
  explicit Subjects(const std::vector<Status>& statuses) {
    for (const Status& s : statuses) {
      append(pipelines, {{"pipeline", s.name}}, s);
      append(radios, {{"pipeline", s.name}, {"radio", s.radio}}, s);
      for (std::size_t c = 0; c < s.channels.size(); ++c)
        append(channels, {{"pipeline", s.name}, {"radio", s.radio}, {"channel", std::to_string(c)}}, s.channels[c]);
      for (const Port& p : s.ports) append(ports, {{"pipeline", s.name}, {"port", p.port}, {"topic", p.to}}, p);
      for (const PeerCounts& e : s.endpoints)
        if (!e.endpoint.empty()) append(endpoints, {{"pipeline", s.name}, {"endpoint", e.endpoint}}, e);
      for (const Status::Step& step : s.steps) append(steps, {{"pipeline", s.name}, {"stage", step.name}}, step);
    }
  }
  std::vector<Labelled<Status>> pipelines, radios;
  std::vector<Labelled<Channel>> channels;
  std::vector<Labelled<Port>> ports;
  std::vector<Labelled<PeerCounts>> endpoints;
  std::vector<Labelled<Status::Step>> steps;
};

ClientMetric histogram(Labels labels, const Histogram::Snapshot& snapshot) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.histogram = buckets_of(snapshot);
  return metric;
}

void add_histograms(Families& all, const Subjects& subjects) {
  std::vector<ClientMetric> latency, steps;
  for (const auto& [labels, s] : subjects.pipelines) latency.push_back(histogram(labels, s->latency));
  for (const auto& [labels, step] : subjects.steps) steps.push_back(histogram(labels, step->time));
  add(all, "iqd_block_latency_seconds", MetricType::Histogram,
      "From a block's last sample received to its results handed over; hold its percentiles against "
      "iqd_block_deadline_seconds.",
      std::move(latency));
  add(all, "iqd_stage_seconds", MetricType::Histogram,
      "What a stage takes for a block, of the blocks that are timed (`results` brings results out); the longest is the "
      "one to make quicker.",
      std::move(steps));
}

Labels with(Labels labels, const char* name, std::string_view value) {
  labels.push_back({name, std::string(value)});
  return labels;
}

Labels with(Labels labels, const char* kind, const StageNumber& number) {
  labels = with(with(std::move(labels), "stage", number.stage), kind, number.name);
  return number.dimension.empty() ? labels : with(std::move(labels), number.dimension.c_str(), number.entry);
}

void add_stage_numbers(Families& all, const Subjects& subjects) {
  std::vector<ClientMetric> events, levels;
  for (const auto& [labels, s] : subjects.pipelines) {
    for (const auto& [name, count] : s->tallies)
      events.push_back(number(with(labels, "event", name), kCounter, static_cast<double>(count)));
    for (const auto& [name, level] : s->levels)
      if (!std::isnan(level)) levels.push_back(number(with(labels, "level", name), kGauge, level));
  }
  add(all, "iqd_stage_events_total", kCounter,
      "What stages count themselves: packets found and refused, bits and errors; the stage's page says what each "
      "means.",
      std::move(events));
  add(all, "iqd_stage_level", kGauge,
      "What stages measured last: powers of channels, how good a training was; the stage's page says what each means.",
      std::move(levels));
}

void add_sets(Families& all, const Subjects& subjects) {
  std::vector<ClientMetric> dropped, states, info;
  for (const auto& [labels, s] : subjects.pipelines)
    for (std::size_t d = 0; d < s->dropped.size(); ++d)
      dropped.push_back(number(with(labels, "reason", kDropNames[d]), kCounter, static_cast<double>(s->dropped[d])));
  for (const auto& [labels, s] : subjects.radios) {
    for (std::size_t i = 0; i < kSourceStateNames.size(); ++i)
      states.push_back(
          number(with(labels, "state", kSourceStateNames[i]), kGauge, static_cast<std::size_t>(s->state) == i ? 1 : 0));
    info.push_back(number(with(labels, "backend", s->backend), kGauge, 1));
  }
  add(all, "iqd_samples_dropped_total", kCounter,
      "Samples received that led to no results; lanes: the stages are too slow, slots: readers are, refused: a reader "
      "or the disk took no more, stopped: while stopping, device: a GPU failed.",
      std::move(dropped));
  add(all, "iqd_source_state", kGauge,
      "1 for the state that the source is in; any but streaming or ended for long: look at the log and the radio.",
      std::move(states));
  add(all, "iqd_pipeline_info", kGauge, "1; the labels say what a pipeline reads from and runs on.", std::move(info));
}

/// What is known of clocks, where it is.
void add_clocks(Families& all, const Subjects& subjects) {
  std::vector<ClientMetric> ahead, drift, error;
  for (const auto& [labels, s] : subjects.radios) {
    if (!std::isnan(s->ahead_s)) ahead.push_back(number(labels, kGauge, s->ahead_s));
    if (!s->drift) continue;
    drift.push_back(number(labels, kGauge, s->drift->ppm * 1e-6));
    error.push_back(number(labels, kGauge, s->drift->error_ppm * 1e-6));
  }
  add(all, "iqd_radio_time_ahead_seconds", kGauge,
      "The radio's time less the host's when samples arrive, so a little below 0; if it grows, one of both is not "
      "disciplined.",
      std::move(ahead));
  add(all, "iqd_radio_clock_drift_ratio", kGauge,
      "By which part the radio's clock is faster than the host's (1e-6 is 1 ppm), over five minutes; beyond what its "
      "oscillator may have, look at its reference.",
      std::move(drift));
  add(all, "iqd_radio_clock_drift_error_ratio", kGauge, "Two standard deviations of iqd_radio_clock_drift_ratio.",
      std::move(error));
}

void add_daemon(Families& all, const Service& service) {
  add(all, "iqd_build_info", kGauge, "1; the label says which version runs.",
      {number({{"version", IQD_VERSION}}, kGauge, 1)});
  add(all, "iqd_ready", kGauge, "1 while samples flow in every pipeline; else /readyz says what keeps them.",
      {number({}, kGauge, service.not_ready().empty() ? 1 : 0)});
  add(all, "iqd_up", kGauge, "1 while nothing is wrong that only a restart mends; else /healthz says what is.",
      {number({}, kGauge, service.not_healthy().empty() ? 1 : 0)});
}

constexpr Row<ProcessFigures> kProcess[] = {
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
    {"process_threads", kGauge, "Threads; once warm it should stay as it is.", of<&ProcessFigures::threads>},
    {"process_start_time_seconds", kGauge, "When iqd was started, since 1970; if it changes, iqd has been restarted.",
     of<&ProcessFigures::started_s>},
};

}  // namespace

ClientMetric::Histogram buckets_of(const Histogram::Snapshot& histogram) {
  constexpr int kFirst = 11, kLast = 29;
  ClientMetric::Histogram all;
  all.sample_count = histogram.count;
  all.sample_sum = static_cast<double>(histogram.sum_ns) / 1e9;
  std::uint64_t below = 0;
  std::size_t next = 0;
  for (int octave = kFirst; octave <= kLast; ++octave) {
    const std::uint64_t edge_ns = (std::uint64_t{1} << octave) - 1;
    const auto last = static_cast<std::size_t>(Histogram::bucket_of(edge_ns));
    for (; next <= last; ++next) below += histogram.buckets[next];
    all.bucket.push_back({below, static_cast<double>(edge_ns) / 1e9});
  }
  return all;
}

Families collect_metrics(const Service& service) {
  const std::vector<Status> statuses = service.statuses();
  const Subjects subjects(statuses);
  Families all;
  add(all, kPipeline, subjects.pipelines);
  add(all, kRadio, subjects.radios);
  add(all, kCalibration, subjects.radios);
  add(all, kChannels, subjects.channels);
  add_sets(all, subjects);
  add_clocks(all, subjects);
  add_stage_numbers(all, subjects);
  add_histograms(all, subjects);
  add(all, kPorts, subjects.ports);
  add(all, kEndpoints, subjects.endpoints);
  std::ranges::move(radio_metrics(open_radios()), std::back_inserter(all));
  add_daemon(all, service);
  const ProcessFigures process = process_figures();
  add(all, kProcess, std::vector<Labelled<ProcessFigures>>{{{}, &process}});
  return all;
}

std::string metrics_text(const Service& service) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, collect_metrics(service));
  return std::move(text).str();
}

}  // namespace iqd
