# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""GNU Radio's block for each stage of `iqd bench blocks`, its results, and its time.

Only the CPU time in the block's work function counts, by GNU Radio's own performance counters: neither the scheduler
nor the blocks around it.
"""

import dataclasses
import fractions
import os
import re
import typing

# Read when GNU Radio is imported. The thread's clock does not count other threads' time.
os.environ["GR_CONF_PERFCOUNTERS_ON"] = "True"
os.environ["GR_CONF_PERFCOUNTERS_CLOCK"] = "thread"
os.environ["GR_CONF_LOG_LOG_LEVEL"] = "warn"

import numpy as np
from gnuradio import analog, blocks, fft, filter as gr_filter, gr

RATE = 1e6  # sample rate of iqd's bench
SAMPLES = 1 << 23  # the least number of samples for timing a block
AGREED_ON = 1 << 14  # samples that are compared


def number(keys, name, default=0.0):
    """The value of a key in YAML's flow style: a number with or without unit, or [re, im]."""
    found = re.search(rf"\b{name}: *(\[[^\]]*\]|[^,}}\s]+)(?: *([kMG])Hz)?", keys)
    if not found:
        return default
    text, unit = found.groups()
    if text.startswith("["):
        re_im = [float(x) for x in text[1:-1].split(",")]
        return complex(*re_im)
    scale = {"k": 1e3, "M": 1e6, "G": 1e9, None: 1}[unit]
    return complex(text) if "j" in text else float(text) * scale


def low_pass_taps(keys):
    """Windowed sinc, Hamming, with the number of taps in the keys."""
    count = int(number(keys, "ntaps"))
    return gr_filter.firdes.low_pass(1, RATE, number(keys, "cutoff"), 53 / 22 * RATE / (count + 0.5))


def resampler_taps(ratio, attenuation=91, bandwidth=0.8):
    """A sinc under a Kaiser window, as long as the stage's default."""
    lower = min(1.0, float(ratio))
    transition = 0.5 * lower * (1 - bandwidth)
    ahead = int(np.ceil((attenuation - 7.95) / (14.36 * transition) / 2)) + 1
    t = np.arange(-ahead * ratio.numerator, ahead * ratio.numerator) / ratio.numerator
    h = np.sinc((lower - transition) * t) * np.i0(0.1102 * (attenuation - 8.7) * np.sqrt(1 - (t / ahead) ** 2))
    return ratio.numerator * h / h.sum()


def channelizer_taps(channels, taps_per_channel=12, attenuation=80):
    n = np.arange(channels * taps_per_channel)
    h = np.kaiser(len(n), 0.1102 * (attenuation - 8.7)) * np.sinc((n - n.mean()) / channels)
    return h / h.sum()


@dataclasses.dataclass
class Block:
    """GNU Radio's counterpart of a stage."""
    make: typing.Callable  # the block, from the stage's keys
    inputs: int = 1
    outputs: tuple = ("out",)  # in iqd
    same: bool = True  # computes the same; else it does the same task in another way, and is only timed
    leading: int = 0  # zeros before the samples
    late: int = 0  # outputs that it lags; these and some 300 after them are not compared
    split: typing.Callable = lambda k: 1  # number of inputs that the samples are distributed to
    ratio: typing.Callable = lambda k: 1  # outputs per sample


def ratio(keys):
    return fractions.Fraction(re.search(r"ratio: *([\d/]+)", keys)[1])


def resampler(keys):
    r = ratio(keys)
    return gr_filter.rational_resampler_ccf(r.numerator, r.denominator, resampler_taps(r), 0)


def channels(keys):
    return int(number(keys, "channels"))


# By stage.
BLOCKS = {
    "add": Block(lambda k: blocks.add_cc(), 2),
    "subtract": Block(lambda k: blocks.sub_cc(), 2),
    "multiply": Block(lambda k: blocks.multiply_cc(), 2),
    "multiply_conjugate": Block(lambda k: blocks.multiply_conjugate_cc(), 2),
    "add_const": Block(lambda k: blocks.add_const_cc(number(k, "value"))),
    "multiply_const": Block(lambda k: blocks.multiply_const_cc(number(k, "value"))),
    "conjugate": Block(lambda k: blocks.conjugate_cc()),
    "complex_to_mag": Block(lambda k: blocks.complex_to_mag(1)),
    "complex_to_mag_squared": Block(lambda k: blocks.complex_to_mag_squared(1)),
    "complex_to_arg": Block(lambda k: blocks.complex_to_arg(1)),
    "complex_to_mag_phase": Block(lambda k: blocks.complex_to_magphase(1), outputs=("mag", "phase")),
    "mag_phase_to_complex": Block(lambda k: blocks.magphase_to_complex(1), 2),
    "log10": Block(lambda k: blocks.nlog10_ff(number(k, "n", 1), 1, number(k, "k"))),
    "quadrature_demod": Block(lambda k: analog.quadrature_demod_cf(number(k, "gain", 1))),
    "signal_source": Block(lambda k: analog.sig_source_c(RATE, analog.GR_COS_WAVE, number(k, "frequency"), 1), 0),
    "rotate": Block(lambda k: blocks.rotator_cc(2 * np.pi * number(k, "frequency") / RATE)),
    "fir": Block(lambda k: gr_filter.fir_filter_ccf(1, low_pass_taps(k))),
    "fft": Block(lambda k: fft.fft_vcc(int(number(k, "size")), True, [], False, 1)),
    "dc_block": Block(lambda k: gr_filter.dc_blocker_cc(int(number(k, "length")), False), late=63),
    "agc": Block(lambda k: analog.agc_cc(1 / number(k, "window"), 1, 1), same=False),
    "squelch": Block(lambda k: analog.pwr_squelch_cc(number(k, "threshold"), 1 / number(k, "window"),
                                                     int(number(k, "ramp")), False), same=False),
    "resampler": Block(resampler, leading=1, late=-42, ratio=ratio),  # for 3/2, as in the bench
    "channelizer": Block(lambda k: gr_filter.pfb_channelizer_ccf(channels(k), channelizer_taps(channels(k)), 1),
                         leading=7, split=channels, ratio=lambda k: 1 / channels(k)),
}


def source(block, port, data, repeat):
    """A source of random samples for the block's input: `data` is {bytes of an element: samples}."""
    size = block.input_signature().sizeof_stream_item(port)
    if size == 4:
        return blocks.vector_source_f(data[4], repeat)
    return blocks.vector_source_c(data[8], repeat, size // 8)


def connect(graph, sources, block, make_end, samples=None):
    """Connects chains that begin with a source to the block's inputs, and an end to each output; returns the ends.
    `samples`: the length if the block is a source itself."""
    for port, chain in enumerate(sources):
        graph.connect(*chain, (block, port))
    signature, ends = block.output_signature(), []
    # Some blocks need only one output connected, but all of them if there are as many as inputs.
    all_of = len(sources) if signature.max_streams() == len(sources) else 0
    for port in range(max(signature.min_streams(), all_of)):
        size = signature.sizeof_stream_item(port)
        ends.append(make_end(size))
        between = [] if sources else [blocks.head(size, samples)]
        graph.connect((block, port), *between, ends[-1])
    return ends


def random_data(seed=0, length=AGREED_ON):
    generator = np.random.default_rng(seed)
    complex_ = (generator.standard_normal(length) + 1j * generator.standard_normal(length)).astype(np.complex64)
    return {8: complex_, 4: np.abs(generator.standard_normal(length)).astype(np.float32)}


def outputs(stage, keys):
    """Inputs and GNU Radio's outputs, as arrays; a source gets zeros as input."""
    partner = BLOCKS[stage]
    block, graph, inputs = partner.make(keys), gr.top_block(), partner.inputs
    data = [random_data(seed) for seed in range(inputs)]
    split = partner.split(keys)
    lead = [{size: np.concatenate([np.zeros(partner.leading, x.dtype), x]) for size, x in d.items()} for d in data]
    sources = [[source(block, port, lead[port], False)] for port in range(inputs)]
    if split > 1:
        dealt = blocks.stream_to_streams(8, split)
        graph.connect(blocks.vector_source_c(lead[0][8], False), dealt)
        sources = [[(dealt, port)] for port in range(split)]
    ends = connect(graph, sources, block,
                   lambda size: blocks.vector_sink_f(1) if size == 4 else blocks.vector_sink_c(size // 8), AGREED_ON)
    graph.run()
    given = [data[port][4 if block.input_signature().sizeof_stream_item(port) == 4 else 8] for port in range(inputs)]
    return given or [np.zeros(AGREED_ON, np.complex64)], [np.array(end.data()) for end in ends]


def call_with(block, items):
    """Makes the scheduler call the block for exactly this many items each time."""
    block.set_output_multiple(items)
    block.set_max_noutput_items(items)
    block.set_min_output_buffer(4 * items)


def microseconds(stage, keys, size):
    """The time of a call with `size` samples."""
    partner = BLOCKS[stage]
    block, graph, inputs = partner.make(keys), gr.top_block(), partner.inputs
    item = max(1, block.input_signature().sizeof_stream_item(0) // 8) * partner.split(keys) if inputs else 1
    data, sources = random_data(), []
    for port in range(inputs * partner.split(keys)):
        first = source(block, port, data, True)
        bytes_ = block.input_signature().sizeof_stream_item(port)
        head = blocks.head(bytes_, max(SAMPLES, 16 * size) // item)
        head.set_min_output_buffer(4 * size // item)
        sources.append([first, head])
    call_with(block, max(1, round(size * partner.ratio(keys)) if partner.ratio(keys) != 1 else size // item))
    connect(graph, sources, block, blocks.null_sink, max(SAMPLES, 16 * size))
    graph.run()
    items = block.nitems_read(0) if inputs else block.nitems_written(0)
    return block.pc_work_time_total() / 1e3 * size / (items * item)


def chain_microseconds(stages, size):
    """The time of all blocks of a chain of multiply_const and conjugate in turn."""
    graph = gr.top_block()
    makers = [lambda: blocks.multiply_const_cc(0.6 + 0.8j), blocks.conjugate_cc]
    chain = [makers[s % 2]() for s in range(stages)]
    head = blocks.head(8, max(SAMPLES, 16 * size))
    head.set_min_output_buffer(4 * size)
    for block in chain:
        call_with(block, size)
    graph.connect(blocks.vector_source_c(random_data()[8], True), head, *chain, blocks.null_sink(8))
    graph.run()
    return sum(b.pc_work_time_total() / 1e3 * size / b.nitems_written(0) for b in chain)
