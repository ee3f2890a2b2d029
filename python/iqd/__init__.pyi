# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, overload

import numpy as np

from iqd._daemon import Daemon as Daemon, connect as connect
from iqd._errors import (ConfigError as ConfigError, ConversionWarning as ConversionWarning, Error as Error,
                         Gap as Gap, MissingModule as MissingModule, Timeout as Timeout)
from iqd._recording import Recording as Recording
from iqd._run import run as run
from iqd._subscribe import Message as Message, Subscription as Subscription, subscribe as subscribe
from iqd._version import __version__ as __version__
from iqd._write import write as write

class Array(np.ndarray):
    rate: float
    frequency: float
    port: str
    llr_scale: float
    items: np.ndarray | None
    axes: dict[str, np.ndarray | None]

class DeviceArray:
    shape: tuple[int, ...]
    dtype: np.dtype
    rate: float
    frequency: float
    port: str
    items: np.ndarray | None
    def numpy(self) -> Array: ...

class Results(tuple[Array, ...]):
    @overload
    def __getitem__(self, key: str) -> Array: ...
    @overload
    def __getitem__(self, key: int) -> Array: ...
    def keys(self) -> list[str]: ...
    def items(self) -> list[tuple[str, Array]]: ...

class Chain:
    backend: str
    names: list[str]
    def __call__(self, *arrays: Any, rate: float | None = ..., frequency: float | None = ..., block: int | None = ...,
                 **named: Any) -> Any: ...
    def blocks(self, source: Any, *, block: int = ..., rate: float | None = ...,
               frequency: float | None = ...) -> Iterator[Any]: ...

class Stage(Chain): ...

def chain(*stages: Chain, backend: str | None = ..., ports: Sequence[str] | None = ...) -> Chain: ...
def from_yaml(path: str | PathLike[str], *, pipeline: str | None = ..., backend: str | None = ...,
              ports: Sequence[str] | None = ...) -> Chain: ...
def stages() -> dict[str, str]: ...
def map(recording: str | PathLike[str], chain: Chain, *, block: int = ..., client: Any = ..., windows: int | None = ...,
        into: str | PathLike[str] | None = ..., warm: int | str | None = ..., tries: int = ..., overwrite: bool = ...,
        program: str | None = ...) -> Any: ...

# <stages>
@overload
def stage(entry: Literal["convert"], /, *, dtype: Literal['sc16', 'cf32', 'f32', 'f16', 'i32', 'i16', 'i8'],
          name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'changes the element type: scales, rounds, saturates'

@overload
def stage(entry: Literal["fir"], /, *, decimation: int = ..., design: Mapping[str, Any] = ...,
          interpolation: int = ..., method: Literal['auto', 'direct', 'fft'] = ..., taps: Any = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'filters with given or designed taps, interpolates and decimates'

@overload
def stage(entry: Literal["resampler"], /, *, attenuation: Any = ..., bandwidth: float = ..., rate: Any = ...,
          ratio: str | float | bool = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'resamples a signal by any ratio'

@overload
def stage(entry: Literal["channelizer"], /, *, channels: int, attenuation: Any = ..., oversample: int = ...,
          select: Any = ..., taps: Any = ..., taps_per_channel: int = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'splits a band into adjacent channels'

@overload
def stage(entry: Literal["fft"], /, *, beta: float = ..., inverse: bool = ..., shift: bool = ..., size: int = ...,
          window: Literal['rectangular', 'hann', 'hamming', 'blackman', 'blackman_harris', 'kaiser'] = ...,
          name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'transforms frames of samples into frequency bins, or back'

@overload
def stage(entry: Literal["rotate"], /, *, frequency: Any = ..., phase: float = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'shifts a signal in frequency'

@overload
def stage(entry: Literal["add"], /, *, name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'in0 + in1'

@overload
def stage(entry: Literal["subtract"], /, *, name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'in0 - in1'

@overload
def stage(entry: Literal["multiply"], /, *, name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'in0 · in1'

@overload
def stage(entry: Literal["multiply_conjugate"], /, *, name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'in0 times the complex conjugate of in1'

@overload
def stage(entry: Literal["add_const"], /, *, value: Any, name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'adds a constant'

@overload
def stage(entry: Literal["multiply_const"], /, *, value: Any, name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'multiplies by a constant'

@overload
def stage(entry: Literal["conjugate"], /, *, name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'complex conjugate'

@overload
def stage(entry: Literal["complex_to_mag"], /, *, name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'magnitude, sqrt(re^2 + im^2)'

@overload
def stage(entry: Literal["complex_to_mag_squared"], /, *, name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'power, re^2 + im^2'

@overload
def stage(entry: Literal["complex_to_arg"], /, *, name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'angle in radians, atan2(im, re)'

@overload
def stage(entry: Literal["complex_to_mag_phase"], /, *, name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'magnitude and angle'

@overload
def stage(entry: Literal["mag_phase_to_complex"], /, *, name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'in0 · exp(j in1): a complex number from a magnitude and an angle in radians'

@overload
def stage(entry: Literal["log10"], /, *, k: float = ..., n: float = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'n · log10(max(x, 1e-18)) + k'

@overload
def stage(entry: Literal["snr_helper"], /, *, k: float = ..., n: float = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'abs(n · log10(max(in0 / in1, 1e-18)) + k)'

@overload
def stage(entry: Literal["signal_source"], /, *, amplitude: float = ..., dtype: Literal['cf32', 'f32'] = ...,
          frequency: Any = ..., phase: float = ...,
          waveform: Literal['complex', 'cosine', 'sine', 'square', 'constant'] = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'generates test tones: complex, cosine, sine, square, constant'

@overload
def stage(entry: Literal["quadrature_demod"], /, *, deviation: Any = ..., gain: float = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'demodulates frequency: the phase step from sample to sample'

@overload
def stage(entry: Literal["kernel"], /, *, code: str | float | bool = ..., file: str | float | bool = ...,
          function: str | float | bool = ..., future: int = ..., in_: Any = ..., out: str | float | bool = ...,
          params: Any = ..., past: int = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'a function of your own in CUDA C++, for CPU and GPU'

@overload
def stage(entry: Literal["python"], /, *, code: str | float | bool = ..., decimation: int = ...,
          device: str | float | bool = ..., file: str | float | bool = ..., function: str | float | bool = ...,
          future: int = ..., in_: Any = ..., interpolation: int = ..., interpreter: str | float | bool = ...,
          limit: Any = ..., memory: Any = ..., out: Mapping[str, Any] = ..., params: Any = ..., past: int = ...,
          spin: Any = ..., start: Any = ..., workers: int = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'a function of your own in Python, in a process of its own'

@overload
def stage(entry: Literal["spectrum"], /, *, average: int = ..., beta: float = ..., size: int = ...,
          window: Literal['rectangular', 'hann', 'hamming', 'blackman', 'blackman_harris', 'kaiser'] = ...,
          name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'averaged power spectrum of each block, in dB'

@overload
def stage(entry: Literal["peak_finder"], /, *, threshold: Any, max: int = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'finds the largest local maxima'

@overload
def stage(entry: Literal["select_channels"], /, *, channels: Any, name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'selects channels of a stream, in any order'

@overload
def stage(entry: Literal["align_channels"], /, *, delay: Any = ..., gain: Any = ..., phase: Any = ...,
          while_calibrated: bool = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'corrects channels in gain, phase and delay'

@overload
def stage(entry: Literal["symbol_sync"], /, *, samples_per_symbol: float = ..., window: int = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'finds the timing of symbols by their line at the symbol rate, and samples them'

@overload
def stage(entry: Literal["carrier_sync"], /, *, max_offset: float = ...,
          modulation: Literal['bpsk', 'qpsk', '8psk', '16qam'] = ..., samples_per_symbol: float = ...,
          window: int = ..., name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'removes frequency offset and phase from PSK and QAM, without a loop'

@overload
def stage(entry: Literal["psk_demapper"], /, *, differential: bool = ...,
          modulation: Literal['bpsk', 'qpsk', '8psk', '16qam', '64qam', '256qam'] = ..., noise: float = ...,
          packet: int = ..., name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'converts symbols to bits and LLRs, PSK or QAM, differential or not'

@overload
def stage(entry: Literal["evm_meter"], /, *, modulation: Literal['bpsk', 'qpsk', '16qam', '64qam', '256qam'] = ...,
          name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'measures the error vector magnitude of symbols'

@overload
def stage(entry: Literal["framer"], /, *, chip_rate: Any, bytes: int = ...,
          crc: Literal['none', 'crc8', 'crc8_31', 'crc16_ccitt', 'crc16_cc1101', 'crc32'] = ...,
          length: Literal['byte', 'fixed'] = ..., one: str | float | bool = ..., order: Literal['msb', 'lsb'] = ...,
          preamble: str | float | bool = ..., sync_word: str | float | bool = ..., threshold: float = ...,
          tracking: float = ..., zero: str | float | bool = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'finds frames in a stream of levels and outputs their bytes'

@overload
def stage(entry: Literal["deemphasis"], /, *, tau: Any = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    "undoes an FM transmitter's pre-emphasis"

@overload
def stage(entry: Literal["dc_block"], /, *, length: int = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'removes DC, with linear phase and without delay'

@overload
def stage(entry: Literal["iq_correct"], /, *, period: Any = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'removes DC and the image of a receiver whose I and Q differ in gain and phase'

@overload
def stage(entry: Literal["agc"], /, *, ahead: int = ..., max_gain: Any = ..., target: float = ..., window: int = ...,
          name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'scales a signal to a target level, by the power around each sample'

@overload
def stage(entry: Literal["squelch"], /, *, hold: int = ..., ramp: int = ..., threshold: Any = ..., window: int = ...,
          name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'mutes a signal while it is weak'

@overload
def stage(entry: Literal["clock_recovery"], /, *, damping: float = ..., loop_bandwidth: float = ...,
          max_deviation: float = ..., method: Literal['gardner', 'mueller_muller'] = ...,
          samples_per_symbol: float = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    "tracks the symbol clock with a classical loop, Gardner's or Mueller and Muller's"

@overload
def stage(entry: Literal["costas_loop"], /, *, damping: float = ..., loop_bandwidth: float = ...,
          max_offset: float = ..., order: int = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'tracks the carrier of PSK with the classical loop'

@overload
def stage(entry: Literal["preamble_search"], /, *, chain: Literal['block', 'carry'] = ..., flywheel: bool = ...,
          payload_bits: int = ..., preamble: str | float | bool = ..., repeats: int = ...,
          samples_per_bit: int = ..., sync_word: str | float | bool = ...,
          template: Literal['exact', 'grid45'] = ..., threshold: float = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'finds packets by their preamble and sync word and cuts them out'

@overload
def stage(entry: Literal["packet_estimator"], /, *, average: Literal['block', 'packet', 'carry'] = ...,
          clock: Literal['off', 'packet', 'block', False] = ..., lambda_: float = ..., memory: float = ...,
          payload_bits: int = ..., preamble: str | float | bool = ..., repeats: int = ...,
          samples_per_bit: int = ..., sync_word: str | float | bool = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    "estimates each packet's frequency offset, channel and noise, and removes the offset"

@overload
def stage(entry: Literal["equalizer"], /, *, kinds: Any, cma: Mapping[str, Any] = ..., detection_filter: Any = ...,
          payload_bits: int = ..., preamble: str | float | bool = ..., repeats: int = ...,
          samples_per_bit: int = ..., sync_word: str | float | bool = ...,
          track: Literal['off', 'refine', 'on', False, True] = ..., zf_load: float = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    "equalizes each packet's channel in up to five ways and applies the detection filter"

@overload
def stage(entry: Literal["soqpsk_detector"], /, *, differential: bool = ..., llr: Literal['f32', 'i8'] = ...,
          loop_bandwidth: Any = ..., loop_order: int = ..., payload_bits: int = ...,
          preamble: str | float | bool = ..., repeats: int = ..., samples_per_bit: int = ...,
          sync_word: str | float | bool = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'decides the bits of SOQPSK packets'

@overload
def stage(entry: Literal["packet_quality"], /, *, kind: str | float | bool = ..., payload: int = ...,
          payload_bits: int = ..., preamble: str | float | bool = ..., repeats: int = ...,
          samples_per_bit: int = ..., sync_word: str | float | bool = ..., word: int = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'estimates the bit error probability of packets, and frames their bits with it'

@overload
def stage(entry: Literal["ber_meter"], /, *, sequence: str | float | bool, modulation: Any = ..., words: Any = ...,
          name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'counts bit and packet errors against a known sequence'

@overload
def stage(entry: Literal["packet_builder"], /, *, asm: str | float | bool = ..., code: str | float | bool = ...,
          crc: Literal['none', '16', '24a', '24b'] = ..., nr: Mapping[str, Any] = ...,
          payload: Literal['pn9', 'pn15', 'pn23'] = ..., payload_bits: int = ..., preamble: str | float | bool = ...,
          randomize: Literal['off', 'ccsds', False] = ..., repeats: int = ..., sync_word: str | float | bool = ...,
          name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'makes the bits of telemetry packets, from bits or with pseudo-random payload, coded or not'

@overload
def stage(entry: Literal["soqpsk_modulator"], /, *, amplitude: float = ..., differential: bool = ..., gap: int = ...,
          payload: Literal['pn9', 'pn15', 'pn23'] = ..., payload_bits: int = ..., preamble: str | float | bool = ...,
          repeats: int = ..., samples_per_bit: int = ..., sync_word: str | float | bool = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'generates SOQPSK-TG from bits, or packets with pseudo-random payload'

@overload
def stage(entry: Literal["ofdm_sync"], /, *, carriers: int = ..., fft: int = ..., frame: int = ...,
          max_offset: Any = ..., midambles: int = ..., pilot_every: int = ..., prefix: int = ...,
          reject_tones: bool = ..., tail: bool = ..., threshold: float = ..., tx: int = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'finds OFDM frames in the signals of several antennas and cuts them out'

@overload
def stage(entry: Literal["ofdm_demod"], /, *, carriers: int = ..., early: int = ..., fft: int = ...,
          frame: int = ..., midambles: int = ..., pilot_every: int = ..., prefix: int = ..., tail: bool = ...,
          tx: int = ..., name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'removes the cyclic prefixes of OFDM frames and transforms their symbols into carriers'

@overload
def stage(entry: Literal["ofdm_clock"], /, *, carriers: int = ..., fft: int = ..., frame: int = ...,
          limit: float = ..., memory: int = ..., midambles: int = ..., pilot_every: int = ..., prefix: int = ...,
          tail: bool = ..., tx: int = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    "measures the error of a transmitter's sampling clock and removes what it does to OFDM frames"

@overload
def stage(entry: Literal["mimo_modulation"], /, *, announced: bool = ..., carriers: int = ..., fft: int = ...,
          frame: int = ..., margin: float = ..., midambles: int = ..., modulation: Any = ..., pilot_every: int = ...,
          prefix: int = ..., tx: int = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'reads which modulation each antenna of an OFDM transmitter announces'

@overload
def stage(entry: Literal["mimo_channel_estimator"], /, *, carriers: int = ..., delay_spread: int = ...,
          doppler: Any = ..., em: int = ..., fft: int = ..., frame: int = ..., group: int = ..., max_taps: int = ...,
          midambles: int = ..., modulation: Any = ..., pilot_every: int = ..., prefix: int = ..., snr: Any = ...,
          span: Any = ..., step: float = ..., tail: bool = ..., time_functions: int = ...,
          track: Literal['hold', 'frame'] = ..., track_phase: bool = ..., tx: int = ...,
          whiten: Literal['off', 'band', 'groups', False] = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    "estimates channel and noise of OFDM frames and removes the pilots' common phase"

@overload
def stage(entry: Literal["mtt_detector"], /, *, extrinsic: bool = ..., lists: Literal['own', 'pooled'] = ...,
          llr: Literal['f32', 'f16', 'i8'] = ..., llr_scale: float = ..., max_modulation: str | float | bool = ...,
          modulation: Any = ..., variant: Literal['fast', 'paper'] = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'soft MIMO detection by multi-pass trellis traversal'

@overload
def stage(entry: Literal["exhaustive_detector"], /, *, extrinsic: bool = ..., llr: Literal['f32', 'f16', 'i8'] = ...,
          llr_scale: float = ..., max_modulation: str | float | bool = ..., modulation: Any = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'exact (max-log) soft MIMO detection, by exhaustive search'

@overload
def stage(entry: Literal["kbest_detector"], /, *, clip: float = ..., extrinsic: bool = ...,
          llr: Literal['f32', 'f16', 'i8'] = ..., llr_scale: float = ..., max_modulation: str | float | bool = ...,
          modulation: Any = ..., survivors: int = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'soft MIMO detection with the K best paths'

@overload
def stage(entry: Literal["one_pass_detector"], /, *, clip: float = ..., extrinsic: bool = ...,
          llr: Literal['f32', 'f16', 'i8'] = ..., llr_scale: float = ..., max_modulation: str | float | bool = ...,
          modulation: Any = ..., name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'soft MIMO detection by one pass through a trellis'

@overload
def stage(entry: Literal["lmmse_detector"], /, *, extrinsic: bool = ..., llr: Literal['f32', 'f16', 'i8'] = ...,
          llr_scale: float = ..., max_modulation: str | float | bool = ..., modulation: Any = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'soft linear (LMMSE) MIMO detection'

@overload
def stage(entry: Literal["ldpc_decoder"], /, *, asm: str | float | bool = ..., code: str | float | bool = ...,
          crc: Literal['none', '16', '24a', '24b'] = ..., early_stop: bool = ...,
          interleave: Literal['off', 'frame', 'user', False] = ..., iterations: int = ..., modulation: Any = ...,
          nr: Mapping[str, Any] = ..., randomize: Literal['off', 'ccsds', False] = ..., scale: float = ...,
          name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'decodes LDPC words by layered min-sum'

@overload
def stage(entry: Literal["ldpc_encoder"], /, *, asm: str | float | bool = ..., code: str | float | bool = ...,
          crc: Literal['none', '16', '24a', '24b'] = ..., nr: Mapping[str, Any] = ...,
          randomize: Literal['off', 'ccsds', False] = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'encodes LDPC words'

@overload
def stage(entry: Literal["failed_frames"], /, *, name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'takes out the frames in which a word failed, for a second pass'

@overload
def stage(entry: Literal["merge_words"], /, *, name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'puts the words of a second pass in the place of those that failed'

@overload
def stage(entry: Literal["pack_bits"], /, *, order: Literal['msb', 'lsb'] = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'packs bits into bytes'

@overload
def stage(entry: Literal["ofdm_modulator"], /, *, amplitude: float = ..., announce: bool = ..., carriers: int = ...,
          code: str | float | bool = ..., crc: Literal['none', '16', '24a', '24b'] = ..., fft: int = ...,
          frame: int = ..., midambles: int = ..., modulation: Any = ..., nr: Mapping[str, Any] = ...,
          payload: Literal['pn9', 'pn15', 'pn23'] = ..., pilot_every: int = ..., prefix: int = ..., tx: int = ...,
          name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'generates OFDM frames for several antennas, from bits or with pseudo-random payload'

@overload
def stage(entry: Literal["noma_slots"], /, *, carriers: int = ..., data: int = ..., drift: bool = ...,
          fft: int = ..., frame: int = ..., pilots: int = ..., prefix: int = ..., timing: bool = ...,
          training: int = ..., users: int = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'extracts pilots and data from the carriers of NOMA frames, and corrects timing and frequency'

@overload
def stage(entry: Literal["noma_channel_estimator"], /, *, carriers: int = ..., data: int = ..., early: int = ...,
          em: int = ..., fft: int = ..., frame: int = ..., modulation: Any = ..., pilots: int = ...,
          prefix: int = ..., rounds: int = ..., step: float = ..., training: int = ..., users: int = ...,
          name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'separates NOMA users of different delays, offsets and modulations by filters of each carrier'

@overload
def stage(entry: Literal["noma_modulator"], /, *, amplitude: Any = ..., carriers: int = ...,
          code: str | float | bool = ..., crc: Literal['none', '16', '24a', '24b'] = ..., data: int = ...,
          fft: int = ..., frame: int = ..., modulation: Any = ..., nr: Mapping[str, Any] = ...,
          payload: Literal['pn9', 'pn15', 'pn23'] = ..., pilots: int = ..., prefix: int = ..., training: int = ...,
          user: int = ..., users: int = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'generates frames of several users on the same carriers, from bits or with pseudo-random payload'

@overload
def stage(entry: Literal["apsm_detector"], /, *, agc: Literal['on', 'off', True, False] = ..., antennas: Any = ...,
          dictionary: int = ..., epsilon: float = ..., kernel_scale: Literal['2M', 'M2', 'none'] = ...,
          kernel_variance: float = ..., llr: Literal['f32', 'f16', 'i8'] = ..., llr_scale: float = ...,
          mode: Literal['frame', 'online'] = ...,
          modulation: Literal['bpsk', 'qpsk', '16qam', '64qam', '256qam'] = ..., passes: int = ...,
          start: Literal['zero', 'lls', 'port'] = ..., users: int = ...,
          variant: Literal['own', 'one', 'several', 'slices', 'balanced'] = ..., weights: Any = ...,
          window: int = ..., window_weights: Any = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'partially linear detection of several users, learned online from pilots by adaptive projections'

@overload
def stage(entry: Literal["lls_detector"], /, *, antennas: Any = ..., llr: Literal['f32', 'f16', 'i8'] = ...,
          llr_scale: float = ..., modulation: Literal['bpsk', 'qpsk', '16qam', '64qam', '256qam'] = ...,
          users: int = ..., name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'linear detection of several users by least squares over their pilots'

@overload
def stage(entry: Literal["genie_detector"], /, *, antennas: Any = ..., llr: Literal['f32', 'f16', 'i8'] = ...,
          llr_scale: float = ..., modulation: Literal['bpsk', 'qpsk', '16qam', '64qam', '256qam'] = ...,
          users: int = ..., name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'linear (MMSE) detection of several users with known channel and noise'

@overload
def stage(entry: Literal["test_waveform"], /, *, bandwidth: Any = ..., frequencies: Any = ...,
          kind: Literal['lte10', 'carriers'] = ..., rms: Any = ..., seed: int = ..., name: str = ...,
          from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'generates test signals for transmitters: an LTE-like uplink carrier, or several narrower ones'

@overload
def stage(entry: Literal["acpr_meter"], /, *, bandwidth: Any, average: int = ..., carriers: Any = ...,
          size: int = ..., spacing: Any = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    'measures adjacent channels, intermodulation, images and carrier leakage of a transmission'

@overload
def stage(entry: Literal["aph_predistorter"], /, *, basis: Literal['monomial', 'orthogonal'] = ..., clip: Any = ...,
          coefficients: Any = ..., orders: Mapping[str, Any] = ..., output: Literal['same', 'cf32'] = ...,
          power: Any = ..., taps: int = ..., variant: Literal['own', 'paper', 'three_kernels'] = ...,
          name: str = ..., from_: str | Mapping[str, str] | None = ..., backend: str = ...) -> Stage:
    'predistorts the signal for a power amplifier, with a parallel Hammerstein model'

@overload
def stage(entry: Literal["aph_estimator"], /, *, above: Any = ..., aclr: Mapping[str, Any] = ...,
          coefficients: Any = ..., gain: Any = ..., orders: Mapping[str, Any] = ..., samples: int = ...,
          search: int = ..., taps: int = ..., name: str = ..., from_: str | Mapping[str, str] | None = ...,
          backend: str = ...) -> Stage:
    "learns a predistorter's coefficients from the sent signal and that of a feedback receiver"

# </stages>
