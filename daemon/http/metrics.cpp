// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/metrics.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>

#include "daemon/http/metric_tables.hpp"
#include "daemon/http/metrics_process.hpp"
#include "daemon/http/radio_view.hpp"

namespace iqd {
namespace {

using metric_tables::Channel;
using metric_tables::kCounter;
using metric_tables::kGauge;
using metric_tables::MetricType;
using metric_tables::Port;
using metric_tables::Row;
using metric_tables::Status;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using Labels = std::vector<ClientMetric::Label>;
using Families = std::vector<MetricFamily>;

ClientMetric number(Labels labels, MetricType type, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  (type == kCounter ? metric.counter.value : metric.gauge.value) = value;
  return metric;
}

void add(Families& all, const char* name, MetricType type, const char* help, std::vector<ClientMetric> metrics) {
  if (!metrics.empty()) all.push_back({name, help, type, std::move(metrics)});
}

/// A measured object and the labels of its metrics.
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

/// Duplicate labels would invalidate the whole scrape, so only the first of equal ones counts.
template <class T> void append(std::vector<Labelled<T>>& items, Labels labels, const T& value) {
  const auto is_known = [&](const Labelled<T>& i) { return i.labels == labels; };
  if (std::none_of(items.begin(), items.end(), is_known)) items.push_back({std::move(labels), &value});
}

/// All measured objects with their labels.
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

void add_counters(Families& all, const Subjects& subjects) {
  using Of = CounterEntry::Of;
  for (const CounterEntry& c : kCounterEntries) {
    const bool is_of_radio = c.of == Of::radio || c.of == Of::setting;
    std::vector<ClientMetric> metrics;
    for (const auto& [labels, s] : is_of_radio ? subjects.radios : subjects.pipelines)
      metrics.push_back(number(labels, kCounter, static_cast<double>(s->*c.value)));
    add(all, c.metric, kCounter, c.help, std::move(metrics));
  }
}

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
      "Time from receiving a block's last sample to handing over its results; compare its percentiles with "
      "iqd_block_deadline_seconds.",
      std::move(latency));
  add(all, "iqd_stage_seconds", MetricType::Histogram,
      "Time that a stage takes for a block, of the blocks that are timed (`results` copies results out); speed up the "
      "slowest.",
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
      "Counters of the stages: packets found and refused, bits and errors; the stage's page explains each.",
      std::move(events));
  add(all, "iqd_stage_level", kGauge,
      "Latest measurements of the stages: powers of channels, quality of a training; the stage's page explains each.",
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
      "Samples received but not processed to results. lanes: the stages are too slow, slots: readers are too slow, "
      "refused: a reader or the disk took no more, stopped: while stopping, device: a GPU failed, stage: a stage could "
      "not compute the block, pool_…: other hosts did not, see iqd_pool_blocks_total.",
      std::move(dropped));
  add(all, "iqd_source_state", kGauge,
      "1 for the source's current state; if it is not streaming or ended for long, check the log and the radio.",
      std::move(states));
  add(all, "iqd_pipeline_info", kGauge, "1; the labels name the pipeline's source and backend.", std::move(info));
}

/// Adds what is known about clocks.
void add_clocks(Families& all, const Subjects& subjects) {
  std::vector<ClientMetric> ahead, drift, error;
  for (const auto& [labels, s] : subjects.radios) {
    if (!std::isnan(s->ahead_s)) ahead.push_back(number(labels, kGauge, s->ahead_s));
    if (!s->drift) continue;
    drift.push_back(number(labels, kGauge, s->drift->ppm * 1e-6));
    error.push_back(number(labels, kGauge, s->drift->error_ppm * 1e-6));
  }
  add(all, "iqd_radio_time_ahead_seconds", kGauge,
      "Radio time minus host time when samples arrive, so slightly below 0; if it grows, one of the two clocks is not "
      "disciplined.",
      std::move(ahead));
  add(all, "iqd_radio_clock_drift_ratio", kGauge,
      "How much faster the radio's clock runs than the host's (1e-6 is 1 ppm), over five minutes; beyond the "
      "oscillator's tolerance, check its reference.",
      std::move(drift));
  add(all, "iqd_radio_clock_drift_error_ratio", kGauge, "Two standard deviations of iqd_radio_clock_drift_ratio.",
      std::move(error));
}

void add_pools(Families& all, const Subjects& subjects) {
  std::vector<Labelled<PoolStatus>> pools;
  std::vector<ClientMetric> blocks, out, trips;
  for (const auto& [labels, s] : subjects.pipelines) {
    if (!s->pool) continue;
    const PoolStatus& p = *s->pool;
    pools.push_back({labels, &p});
    blocks.push_back(number(with(labels, "fate", "done"), kCounter, static_cast<double>(p.done)));
    for (std::size_t l = 0; l < p.lost.size(); ++l)
      blocks.push_back(number(with(labels, "fate", kPoolLossNames[l]), kCounter, static_cast<double>(p.lost[l])));
    out.push_back(number(with(labels, "state", "sending"), kGauge, static_cast<double>(p.sending)));
    out.push_back(number(with(labels, "state", "stored"), kGauge, static_cast<double>(p.stored)));
    trips.push_back(histogram(labels, p.round_trip));
  }
  add(all, "iqd_pool_blocks_total", kCounter,
      "Blocks that were sent to other hosts, by their fate. full: the server had no room, away: it did not answer, "
      "poison: several workers tried in vain, lost: no result within `patience`, stopped: while stopping.",
      std::move(blocks));
  add(all, "iqd_pool_in_flight", kGauge, "Blocks at other hosts: not stored by a server yet, or stored.",
      std::move(out));
  add(all, "iqd_pool_round_trip_seconds", MetricType::Histogram,
      "Time from sending a block to its result, without the time to compute it: the network, the server and the queue.",
      std::move(trips));
  add(all, metric_tables::kPools, pools);
}

void add_work(Families& all, const WorkStatus& work) {
  std::vector<ClientMetric> blocks;
  for (const PoolWorkStatus& p : work.pools) {
    const auto add_outcome = [&](std::string_view outcome, std::uint64_t count) {
      blocks.push_back(number(with({{"pool", p.pool}}, "outcome", outcome), kCounter, static_cast<double>(count)));
    };
    add_outcome("done", p.done);
    add_outcome("refused", p.refused);
    add_outcome("returned", p.returned);
    add_outcome("failed", p.failed);
  }
  add(all, "iqd_work_blocks_total", kCounter,
      "Blocks that this worker has fetched. refused: it cannot compute them, the log says why, returned: while "
      "stopping, failed: the server did not take the result.",
      std::move(blocks));
  const std::vector<Labelled<WorkStatus>> all_work{{{}, &work}};
  add(all, metric_tables::kWork, all_work);
}

void add_daemon(Families& all, const Service& service) {
  add(all, "iqd_build_info", kGauge, "1; the label is the running version.",
      {number({{"version", IQD_VERSION}}, kGauge, 1)});
  add(all, "iqd_ready", kGauge, "1 while samples flow in every pipeline; otherwise /readyz says why not.",
      {number({}, kGauge, service.not_ready().empty() ? 1 : 0)});
  add(all, "iqd_up", kGauge, "1 unless something is wrong that only a restart fixes; /healthz says what.",
      {number({}, kGauge, service.not_healthy().empty() ? 1 : 0)});
}

void add_viewers(Families& all, const live::LiveHub& viewers) {
  add(all, "iqd_live_viewers", kGauge, "Viewers of the live page; at most 24 at a time.",
      {number({}, kGauge, static_cast<double>(viewers.viewers()))});
  add(all, "iqd_live_skipped_total", kCounter,
      "Messages that viewers of the live page missed since they were too slow; check their network. Samples are not "
      "affected.",
      {number({}, kCounter, static_cast<double>(viewers.skipped()))});
}

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

Families collect_metrics(const Service& service, const live::LiveHub* viewers) {
  const std::vector<Status> statuses = service.statuses();
  const Subjects subjects(statuses);
  Families all;
  add_counters(all, subjects);
  add(all, metric_tables::kPipeline, subjects.pipelines);
  add(all, metric_tables::kRadio, subjects.radios);
  add(all, metric_tables::kCalibration, subjects.radios);
  add(all, metric_tables::kChannels, subjects.channels);
  add_sets(all, subjects);
  add_clocks(all, subjects);
  add_stage_numbers(all, subjects);
  add_histograms(all, subjects);
  add(all, metric_tables::kPorts, subjects.ports);
  add(all, metric_tables::kEndpoints, subjects.endpoints);
  add_pools(all, subjects);
  if (const std::optional<WorkStatus> work = service.work()) add_work(all, *work);
  std::ranges::move(radio_metrics(open_radios()), std::back_inserter(all));
  add_daemon(all, service);
  if (viewers) add_viewers(all, *viewers);
  const ProcessFigures process = process_figures();
  add(all, metric_tables::kProcess, std::vector<Labelled<ProcessFigures>>{{{}, &process}});
  return all;
}

std::string metrics_text(const Service& service, const live::LiveHub* viewers) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, collect_metrics(service, viewers));
  return std::move(text).str();
}

}  // namespace iqd
