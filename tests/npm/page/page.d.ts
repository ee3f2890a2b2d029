// SPDX-FileCopyrightText: the iqd authors
// SPDX-License-Identifier: Apache-2.0
//
// What iqd sends to the page: docs/live.md and docs/http.md explain the fields. The page's JSDoc uses these names.
interface Head {
  kind: number; trace: number; flags: number; vectors: number; count: number; seq: number; lost: number; time: number;
  first: number; span: number; low: number; step: number; codes: Uint8Array; mean: Uint8Array | null; counts: Uint32Array;
}
interface Place { hz: number; y: number }
interface Band { first: number; span: number }
interface Levels { low: number; high: number }
interface Trace {
  trace: number; pipeline: string; port: string; kind: string; name: string; unit: string; of: Record<string, string | number>;
  channel?: number; row_s?: number; bins?: number; axis?: string; scale?: string; deadline_s?: number; channels?: number; facts?: string[];
}
interface Hello {
  v: number; version: string; host: string; started_s: number; changes: string; why: string; recordings: boolean;
  grafana: string; traces: Trace[];
}
interface Times { p50: number; p99: number; p999: number; max: number }
interface Pipeline {
  name: string; backend: string; state: string; trouble: string; slow_stage: string; source: string; sample_rate: number;
  block_s: number; blocks: number; received: number; lost: number; dropped: Record<string, number>; in_flight: number;
  deadline_misses: number; reconnects: number; gpu_share: number; lanes: { all: number; busy: number }; slots: { all: number; free: number };
  latency_us: Times; calibrated?: boolean | null; [counter: string]: any;
  events: { stage: string; event: string; count: number; [of: string]: any }[];
  levels: { stage: string; level: string; value: number | null; [of: string]: any }[];
  channels: { rms_dbfs: number | null; peak_dbfs: number | null; clipped: number; overloads: number; overloaded: boolean }[];
  ports: { port: string; to: string; endpoint: string; messages: number; bytes: number; refused: number }[];
  radio?: { frequency: number; retunes: number; time: { source: string; drift?: { ppm: number; error_ppm: number } } };
  steps: { step: string; time_us: Times }[];
}
interface Radio {
  facts: Record<string, string>; locks: { lock: string; of: string; locked: boolean }[];
  readings: { reading: string; of: string; value: number }[];
}
interface Status { uptime_s: number; pipelines: Pipeline[]; radios?: Radio[] }
interface ArrayMessage {
  trace: number; channels: { rms_dbfs: number | null; phase_deg: number | null; coherence: number | null }[];
}
interface Message {
  hello?: Hello; status?: Status; log?: { time_s: number; level: string; text: string }[]; array?: ArrayMessage;
  items?: { trace: number; items: Record<string, number>[] }; peers?: { url: string; state: string; why: string }[];
}
interface PlanFile {
  name: string; source: { driver: string }; ports: { name: string; maker: string }[];
  stages: { name: string; stage: string; side: string; in: string[]; fused: string[] }[]; messages: { port: string; to: string }[];
}
interface Plans { pipelines: PlanFile[] }
interface Key {
  value: any; default?: any; unit?: string; range?: (number | null)[]; step?: number; choices?: any[]; live: boolean;
  by: string; since: number; asked?: any;
}
type Facts = Record<string, any>;
interface Reader { head: (head: Head) => void; text: (message: Message) => void; link: (why: string, is_gone?: boolean) => void }
