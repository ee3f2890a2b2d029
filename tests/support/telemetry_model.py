# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""The telemetry transmitter, its channels and the whole receiver in double precision: the reference for iqd's stages.

iNET packets of SOQPSK-TG at 10.3125 Mbit/s, two samples a bit: 128 bits of preamble, 64 of sync word, 6144 of payload.
Sample 2k is the eye's centre of bit k. A window is a packet with 256 samples of its neighbourhood on each side:
r(n) of a packet is window[256 + n]. Arrays of packets have the packet first: `windows` [packet][13184].
"""

import functools

import numpy as np

RATE = 20.625e6
PERIOD, PREAMBLE, SYNC, PAYLOAD, BITS = 16, 128, 64, 6144, 6336
PILOTS = PREAMBLE + SYNC
SAMPLES, GUARD, SIZE = 2 * BITS, 256, 16384
LAG = 2 * PERIOD  # samples of one period
NEAR, SHORT, LATE, LEAST_SHARE = 128, 64, 4, 0.2  # of starts: see preamble_search
FIRST, LAST = -60, 125  # taps of an equalizer
BEHIND, AHEAD = -12, 25  # taps of a channel
KINDS = ("zf", "mmse", "cma", "fde1", "fde2")
RAYS = {"awgn": [(0, 0, 0)], "ch1": [(0, 0, 0), (-1.5, 50, 180), (-20, 155, 90)],
        "ch2": [(0, 0, 0), (-1.5, 50, 150), (-20, 155, 90)], "ch3": [(0, 0, 0), (-1.5, 50, 120), (-20, 155, 90)],
        "ch4": [(0, 0, 0), (-3, 300, 60), (-14, 900, -120)]}  # dB, ns, degrees
FILTER = np.array([.423924, .360951, .189789, .020359, -.046993, -.052621, -.036366, -.005831, .011879, .012683,
                   .005823, -.003733])  # d(0) … d(11), symmetric
AUTOCORRELATION = np.array([float(v) for v in """
    1.000000e+00 8.848085e-01 6.096299e-01 3.199632e-01 1.203672e-01 2.698500e-02 4.283933e-04 -1.845737e-03
    -6.462847e-04 -1.218605e-04 1.825733e-04 4.916937e-04 7.766146e-04 1.044049e-03 1.292179e-03 1.478381e-03
    1.556312e-03 1.523104e-03 1.417658e-03 1.277291e-03 1.110102e-03 9.070708e-04 6.802657e-04 4.880707e-04
    3.982478e-04 4.172957e-04 4.834633e-04 5.390702e-04 5.863514e-04 6.627690e-04 7.810514e-04 9.106344e-04
    1.009858e-03 1.056785e-03 1.048328e-03 9.839328e-04 8.506679e-04 6.279147e-04 3.251656e-04 3.588931e-06
    -2.667420e-04 -4.631187e-04 -6.000633e-04 -6.573271e-04 -5.487610e-04 -2.089714e-04 2.869707e-04 7.193509e-04
    8.505038e-04 5.838822e-04 4.277752e-05 -5.101483e-04 -8.527064e-04 -9.152959e-04 -7.590351e-04 -4.830424e-04
    -1.397353e-04 2.751423e-04 7.413286e-04 1.136163e-03 1.288284e-03 1.128305e-03 7.487172e-04 2.960890e-04
    -1.751549e-04""".split()])


# Bit error rates of this receiver: 590,000 bits each, in the order of KINDS, by channel and Eb/N0 in dB.
SIMULATED = {("awgn", 8): (2.5e-3, 1.65e-3, 1.10e-3, 1.67e-3, 2.4e-3),
             ("awgn", 10): (2.7e-4, 1.7e-4, 6.1e-5, 1.6e-4, 2.2e-4),
             ("ch1", 14): (8.1e-4, 6.4e-4, 2.6e-4, 6.3e-4, 3.3e-4),
             ("ch2", 16): (2.4e-2, 1.9e-3, 2.3e-3, 1.9e-3, 2.7e-3),
             ("ch3", 14): (8.1e-3, 6.8e-4, 1.0e-3, 7.0e-4, 7.4e-4),
             ("ch4", 14): (4.4e-3, 1.3e-3, 7.8e-4, 1.2e-3, 1.0e-3)}


def bits_of(digits):
    return np.array([int(b) for d in digits for b in f"{int(d, 16):04b}"], np.uint8)


PILOT = np.concatenate([np.tile(bits_of("CD98"), 8), bits_of("034776C7272895B0")])


def pn(degree, count, first=0):
    """Bits first, first + 1, … of b(n) = b(n - tap) ^ b(n - degree), which begins with ones."""
    tap = {9: 5, 15: 14, 23: 18}[degree]
    b = np.ones(max(degree, first + count), np.uint8)
    for n in range(degree, len(b), tap):  # within a step nothing depends on itself
        m = min(tap, len(b) - n)
        b[n:n + m] = b[n - tap:n - tap + m] ^ b[n - degree:n - degree + m]
    return b[first:first + count]


@functools.cache
def phase_increments():
    """Phase change by one symbol of +1, from half bit to half bit, in half turns: 16 numbers that sum to 1/2."""
    steps = 4000
    u = (np.arange(16 * steps) + 0.5) / (4 * steps) - 2  # bit times / 2, the middles of fine steps
    x = 2 * 0.7 * 1.25 * u
    with np.errstate(divide="ignore", invalid="ignore"):
        rolloff = np.where(abs(abs(x) - 1) < 1e-9, np.pi / 4, np.cos(np.pi * x / 2) / (1 - x * x))
    ramp = (1 + np.cos(np.pi * (abs(u) - 1.5) / 0.5)) / 2
    g = rolloff * np.sinc(1.25 * u) * np.where(abs(u) <= 1.5, 1, ramp)
    return g.reshape(16, steps).sum(1) / (2 * g.sum())


def modulate(bits):
    """The samples of these bits; the first two and the last two are extended before and after them."""
    b = np.concatenate([np.tile(bits[:2], 4), bits, np.tile(bits[-2:], 4)])
    a = 2.0 * b - 1
    k = np.arange(len(b))
    alpha = np.zeros(len(b))
    alpha[2:] = (-1.0) ** (k[2:] + 1) * a[1:-1] * (a[2:] - a[:-2]) / 2
    pulses = np.zeros(2 * len(b))
    pulses[0::2] = alpha
    # The pulse of bit k begins 8 samples before its centre 2k - 2, so its first step leads to sample 2k - 9.
    steps = np.convolve(pulses, phase_increments())[9:9 + 2 * len(b)]
    phase = np.arctan2(a[1], a[0]) + np.pi * np.cumsum(steps)
    return np.exp(1j * phase[16:16 + 2 * len(bits)])


def frame(payloads):
    """[packet][6144] -> [packet][6336]"""
    return np.concatenate([np.tile(PILOT, (len(payloads), 1)), payloads], axis=1)


def transmit(payloads, gap=0):
    """Packets back to back, or with `gap` samples of silence after each."""
    frames = frame(payloads)
    if gap == 0:
        return modulate(frames.reshape(-1))
    return np.concatenate([np.concatenate([modulate(f), np.zeros(gap)]) for f in frames])


def through(x, channel):
    """x after a channel of RAYS, band-limited, with the same power."""
    f = np.fft.fftfreq(len(x) + 512) * RATE
    response = sum(10 ** (db / 20) * np.exp(1j * (np.deg2rad(degrees) - 2 * np.pi * f * ns * 1e-9))
                   for db, ns, degrees in RAYS[channel])
    y = np.fft.ifft(np.fft.fft(x, len(f)) * response)[:len(x)]
    return y * np.sqrt(np.sum(abs(x) ** 2) / np.sum(abs(y) ** 2))


def noise(count, ebn0_db, rng):
    """Complex, its variance 2 / (Eb/N0): two samples a bit of a signal of power 1."""
    return 10 ** (-ebn0_db / 20) * (rng.standard_normal(count) + 1j * rng.standard_normal(count))


def recording(payloads, channel="awgn", ebn0_db=None, w=0.0, phase=0.0, gap=0, lead=0, tail=600, rng=None):
    """A stream with packets from sample `lead` on, rotating by `w` per sample."""
    x = through(np.concatenate([np.zeros(lead), transmit(payloads, gap), np.zeros(tail)]), channel)
    x = x * np.exp(1j * (w * np.arange(len(x)) + phase))
    return x if ebn0_db is None else x + noise(len(x), ebn0_db, rng)


@functools.cache
def template():
    return modulate(np.tile(bits_of("CD98"), 8))[4 * LAG:5 * LAG]


@functools.cache
def pilot():
    """p(m) of the known bits, with the preamble extended at both sides."""
    period = bits_of("CD98")
    return modulate(np.concatenate([period, PILOT, period]))[LAG:LAG + 2 * PILOTS]


def metric(x, q=None):
    """(T, L) at n = 0 … len(x) - 256."""
    q = template() if q is None else q
    count = len(x) - 8 * LAG + 1
    c = np.correlate(x, q, "valid")
    level = sum(abs(c[LAG * m:LAG * m + count]) ** 2 for m in range(8))
    energy = np.convolve(abs(x) ** 2, np.ones(8 * LAG), "valid")
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(energy > 0, level / (np.sum(abs(q) ** 2) * energy), 0), level


def share(x):
    """S at n = 0 …: how much of the energy where a sync word would be is that of a sync word."""
    word = pilot()[2 * PREAMBLE:]
    count = max(0, len(x) - 2 * PILOTS + 1)
    behind = x[2 * PREAMBLE:]
    level = sum(abs(np.correlate(behind, word[m:m + LAG], "valid")[m:m + count]) ** 2
                for m in range(0, len(word), LAG)) if count else np.zeros(0)
    energy = np.convolve(abs(behind) ** 2, np.ones(len(word)), "valid")[:count] if count else np.zeros(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(energy > 0, level / (LAG * energy), 0)


def candidates(x, threshold=0.25):
    """(n, T + S): where both suffice and their sum is the largest within half a preamble; of equal ones the first."""
    s = share(x)
    t = metric(x)[0][:len(s)]
    both = np.where((t >= threshold) & (s >= min(LEAST_SHARE, 0.8 * threshold)), t + s, 0)
    places = [n for n in np.flatnonzero(both) if both[max(0, n - NEAR):n + NEAR + 1].argmax() == min(n, NEAR)]
    return np.array(places, int), both[places]


def follows(apart):
    return abs(apart - SAMPLES) <= LATE


def chain(n, value):
    """The candidates of the chain with the largest sum; of those within 2 % of it, the one that begins first."""
    sums, after = np.array(value, float), np.full(len(n), len(n))
    for i in range(len(n) - 1, -1, -1):
        first = np.searchsorted(n, n[i] + SAMPLES - SHORT)
        if first < len(n):
            more = sums[first:] + 0.5 * follows(n[first:] - n[i])
            after[i] = first + more.argmax()
            sums[i] += more.max()
    taken, at = [], int(np.argmax(sums >= 0.98 * sums.max(initial=0))) if len(n) else len(n)
    while at < len(n):
        taken.append(at)
        at = after[at]
    return taken


def search(x, threshold=0.25):
    """(starts, T at each) of the packets that are followed by their guard."""
    n, value = candidates(np.concatenate([np.zeros(7 * LAG), x]), threshold)  # also before the stream
    starts = n[chain(n, value)] - 7 * LAG
    starts[(starts < 0) & (starts >= -4)] = 0  # echoes may make a start early
    starts = starts[(starts >= 0) & (starts + SAMPLES + GUARD <= len(x))]
    return starts, metric(x)[0][starts]


def windows(x, starts):
    """With zeros before the start of the stream."""
    padded = np.concatenate([np.zeros(GUARD), x])
    return np.array([padded[s:s + SAMPLES + 2 * GUARD] for s in starts]).reshape(-1, SAMPLES + 2 * GUARD)


def offsets(r, average="block"):
    """w of each packet, rad/sample."""
    p = r[:, GUARD + 2 * LAG:GUARD + 7 * LAG] * r[:, GUARD + LAG:GUARD + 6 * LAG].conj()
    s = p.sum(1)
    return np.angle(np.full_like(s, s.sum()) if average == "block" else s) / LAG


def derotate(r, w):
    return r * np.exp(-1j * w[:, None] * (np.arange(r.shape[1]) - GUARD))


@functools.cache
def least_squares(lam=1.0):
    """(X, G, rho)"""
    rows = np.arange(AHEAD, 2 * PILOTS + BEHIND)
    x = pilot()[rows[:, None] - np.arange(BEHIND, AHEAD + 1)]
    g = np.linalg.solve(x.conj().T @ x + lam * np.eye(x.shape[1]), x.conj().T)
    return x, g, np.sum(abs(np.eye(len(rows)) - x @ g) ** 2)


def channels(r, lam=1.0):
    """(h [packet][38], N [packet]): the channel and the noise's variance."""
    x, g, rho = least_squares(lam)
    rows = r[:, GUARD + AHEAD:GUARD + 2 * PILOTS + BEHIND]
    h = rows @ g.T
    return h, np.sum(abs(rows - h @ x.T) ** 2, axis=1) / rho


def placed(taps, first):
    """FFT of [packet][tap] whose first tap is at index `first`, negative ones at the end."""
    full = np.zeros((len(taps), SIZE), complex)
    full[:, np.arange(first, first + taps.shape[1]) % SIZE] = taps
    return np.fft.fft(full)


def solve(h, load):
    """(R + load I) c = g, R the channel's autocorrelation."""
    k = np.arange(LAST - FIRST + 1)
    lags = np.fft.ifft(abs(np.fft.fft(h, 512)) ** 2)  # r_h(k) at k mod 512
    g = np.zeros((len(h), len(k)), complex)
    g[:, -AHEAD - FIRST:-BEHIND - FIRST + 1] = h[:, ::-1].conj()
    r = lags[:, (k[:, None] - k) % 512] + load[:, None, None] * np.eye(len(k))
    return np.linalg.solve(r, g[:, :, None])[:, :, 0]


def cma(r, c, iterations=12, mu=0.05):
    spectrum = np.fft.fft(r, SIZE)
    power = np.mean(abs(r[:, GUARD:GUARD + SAMPLES]) ** 2, axis=1)
    lags = np.arange(FIRST, LAST + 1) % SIZE
    for _ in range(iterations):
        y = np.fft.ifft(spectrum * placed(c, FIRST))
        z = np.zeros_like(y)
        inside = y[:, GUARD:GUARD + SAMPLES]
        z[:, GUARD:GUARD + SAMPLES] = 2 * (abs(inside) ** 2 - 1) * inside
        gradient = np.fft.ifft(np.fft.fft(z) * spectrum.conj())[:, lags] / SAMPLES
        c = c - mu / power[:, None] * gradient
    return c


@functools.cache
def power_spectrum():
    lags = AUTOCORRELATION * np.blackman(131)[65:130]
    psd = np.fft.fft(np.concatenate([lags, np.zeros(SIZE - 129), lags[:0:-1]])).real
    psd = np.maximum(psd, 1e-4 * psd.max())
    return psd / psd.mean()


@functools.cache
def detection_response():
    return placed(np.concatenate([FILTER[:0:-1], FILTER])[None], -11)[0]


def equalize(r, h, n, kind, filtered=True, cma_iterations=12, cma_step=0.05):
    """(symbols [packet][bit], taps [packet][186] or None)"""
    taps, response = None, placed(h, BEHIND)
    gain = abs(response) ** 2
    if kind == "fde1":
        c = response.conj() / (gain + n[:, None])
    elif kind == "fde2":
        c = response.conj() * power_spectrum() / (gain * power_spectrum() + n[:, None])
    else:
        taps = solve(h, 1e-6 * np.sum(abs(h) ** 2, axis=1) if kind == "zf" else n)
        if kind == "cma":
            taps = cma(r, taps, cma_iterations, cma_step)
        c = placed(taps, FIRST)
    y = np.fft.ifft(np.fft.fft(r, SIZE) * c * (detection_response() if filtered else 1))
    return y[:, GUARD:GUARD + SAMPLES:2], taps


class PhaseLoop:
    """A loop of second order for each packet, with the amplitude of these pilots' symbols [packet][192 or more]."""

    def __init__(self, y, bandwidth=0.005):
        self.known = 2.0 * PILOT - 1
        axis = np.where(np.arange(PILOTS) % 2 == 0, y[:, :PILOTS].real, y[:, :PILOTS].imag)
        self.amplitude = np.mean(self.known[8:] * axis[:, 8:], axis=1)[:, None]
        turn = bandwidth / (1 + 1 / 4)
        self.gains = (np.array([4 * turn, 4 * turn ** 2]) / (1 + 2 * turn + turn ** 2)) / 2
        self.theta, self.integral = np.zeros(len(y)), np.zeros(len(y))

    def follow(self, y, first=0):
        """(soft values [packet][bit], phases [packet][bit / 2]) of the symbols from bit `first` on, an even one."""
        y = y / self.amplitude
        k1, k2 = self.gains
        soft, thetas = np.zeros(y.shape), np.zeros((len(y), y.shape[1] // 2))
        for i in range(1, y.shape[1], 2):
            thetas[:, i // 2] = self.theta
            u, v = (y[:, i - 1:i + 1] * np.exp(-1j * self.theta)[:, None]).T
            soft[:, i - 1], soft[:, i] = u.real, v.imag
            k = first + i
            a, b = self.known[k - 1:k + 1] if k < PILOTS else (np.where(s < 0, -1.0, 1.0) for s in (u.real, v.imag))
            e = a * u.imag - b * v.real
            self.theta = self.theta + k1 * e + self.integral + k2 * e
            self.integral = self.integral + k2 * e
        return soft, thetas


def detect(y, bandwidth=0.005):
    """(bits, soft values), [packet][6336] each."""
    soft, _ = PhaseLoop(y, bandwidth).follow(y)
    return (soft >= 0).astype(np.uint8), soft


def receive(x, kinds=KINDS, average="block"):
    """(starts, {kind: payload bits [packet][6144]})"""
    starts, _ = search(x)
    r = windows(x, starts)
    r = derotate(r, offsets(r, average))
    h, n = channels(r)
    found = {kind: detect(equalize(r, h, n, kind)[0], 0.005 if average == "block" else 0.01)[0][:, PILOTS:]
             for kind in kinds}
    return starts, found
