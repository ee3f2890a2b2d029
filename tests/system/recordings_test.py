# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""Recordings of other programs: SigMF of every type, archives, WAV, raw files and arrays, against NumPy and wave."""

import io
import json
import os
import pathlib
import struct
import tarfile
import unittest
import wave

import numpy as np

import iqd

TIME = "2025-03-31T12:00:00.250000000Z"
TIME_NS = 1_743_422_400_250_000_000
RATE, FREQUENCY = 250e3, 433.92e6
UNSIGNED_ZERO = {1: 127.5, 2: 32767.5, 4: 2147483647.5}


def numbers(dtype, count, seed=1):
    """Random numbers of a type, with its largest and least first."""
    r = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (0.3 * r.standard_normal(count)).astype(dtype)
    info = np.iinfo(dtype)
    x = r.integers(info.min, info.max, count, endpoint=True, dtype=dtype.newbyteorder("="))
    x[:2] = info.max, info.min
    return x.astype(dtype)


def scaled(x):
    """The values that numbers of a file stand for, full scale 1, in double precision."""
    if x.dtype.kind == "f":
        return x.astype(np.float64)
    bits = 8 * x.dtype.itemsize
    zero = UNSIGNED_ZERO[x.dtype.itemsize] if x.dtype.kind == "u" else 0
    return (x.astype(np.float64) - zero) / 2 ** (bits - 1)


def as_complex(parts):
    return parts[..., 0::2] + 1j * parts[..., 1::2]


def chunk(name, content):
    return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


def system_time(year, month, weekday, day, hour, minute, second, ms):
    return struct.pack("<8H", year, month, weekday, day, hour, minute, second, ms)


def auxi(frequency):
    """As SpectraVue, HDSDR and SDR# write it."""
    start = system_time(2025, 3, 1, 31, 12, 0, 0, 250)
    return chunk(b"auxi", start + start + struct.pack("<9I", int(frequency), int(RATE), 0, 0, 0, 0, 0, 0, 0))


def wav_format(code, channels, bits, rate=RATE, extensible=False):
    frame = channels * bits // 8
    head = struct.pack("<HHIIHH", 0xfffe if extensible else code, channels, int(rate), int(rate) * frame, frame, bits)
    if extensible:
        head += struct.pack("<HHIH", 22, bits, 3, code) + bytes.fromhex("000000001000800000aa00389b71")
    return chunk(b"fmt ", head)


def int24(x):
    return np.ascontiguousarray(x.astype("<i4")).view(np.uint8).reshape(-1, 4)[:, :3].tobytes()


class RecordingsTest(iqd.SystemTest):
    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else np.ascontiguousarray(content).tobytes())
        return path

    def convert(self, source, *arguments, to="out.npy", ok=True):
        done = iqd.command("convert", source, self.folder / to, "--overwrite", *arguments)
        if ok:
            self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def read(self, source, *arguments):
        """All samples, [n] or [n][channel], full scale 1, and the facts."""
        self.convert(source, *arguments)
        x = np.load(self.folder / "out.npy")
        facts = json.loads((self.folder / "out.json").read_text(encoding="utf-8"))
        if x.dtype == np.int16:
            x = as_complex(x / 32768.0)[..., 0]
        return x, facts

    def check(self, expected, source, *arguments, tolerance=6e-8, rate=RATE, frequency=FREQUENCY, time=None):
        x, facts = self.read(source, *arguments)
        self.assertEqual(x.shape, expected.shape, source)
        self.assertEqual(np.iscomplexobj(x), np.iscomplexobj(expected), source)
        self.assertLessEqual(np.abs(x - expected).max(), tolerance, source)
        self.assertEqual((facts["sample_rate"], facts["frequency"]), (rate, frequency), source)
        self.assertEqual(facts["time_ns"] or None, time, source)
        return facts

    def refused(self, source, *texts, arguments=()):
        done = self.convert(source, *arguments, ok=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def meta(self, datatype, captures=None, **more):
        return {"global": {"core:datatype": datatype, "core:version": "1.2.5", "core:sample_rate": RATE,
                           **{f"core:{key}": value for key, value in more.items()}},
                "captures": captures or [{"core:sample_start": 0, "core:frequency": FREQUENCY}], "annotations": []}

    def sigmf(self, stem, datatype, data, **more):
        self.write(f"{stem}.sigmf-meta", json.dumps(self.meta(datatype, **more)).encode())
        self.write(f"{stem}.sigmf-data", data)
        return self.folder / f"{stem}.sigmf-meta"


class Sigmf(RecordingsTest):
    def test_every_type(self):
        for kind in ("f32", "f64", "i8", "i16", "i32", "u8", "u16", "u32"):
            for order, mark in (("_le", "<"), ("_be", ">")):
                x = numbers(f"{mark}{kind[0]}{int(kind[1:]) // 8}", 2002)
                suffix = "" if kind.endswith("8") else order
                with self.subTest(kind + suffix):
                    self.check(as_complex(scaled(x)), self.sigmf("c", f"c{kind}{suffix}", x))
                    self.check(scaled(x), self.sigmf("r", f"r{kind}{suffix}", x))

    def test_channels(self):
        x = numbers("u1", 6 * 501)
        path = self.sigmf("m", "cu8", x, num_channels=3)
        self.check(as_complex(scaled(x).reshape(-1, 6)), path)
        self.check(scaled(x).reshape(-1, 3), self.sigmf("m", "ru8", x, num_channels=3))

    def test_without_a_rate_the_key_says_it(self):
        x = numbers("<i2", 200)
        path = self.sigmf("x", "ci16_le", x)
        meta = json.loads(path.read_text(encoding="utf-8"))
        del meta["global"]["core:sample_rate"]
        path.write_text(json.dumps(meta), encoding="utf-8")
        self.refused(path, "core:sample_rate", "or give --rate")
        self.check(as_complex(scaled(x)), path, "--rate", "1 MS/s", rate=1e6)
        self.check(as_complex(scaled(x)), path, "--rate", "1 MS/s", "--frequency", "1 GHz", rate=1e6, frequency=1e9)

    def test_a_dataset_that_is_not_conforming(self):
        x = numbers(">i2", 400)
        raw = x.tobytes()
        captures = [{"core:sample_start": 0, "core:frequency": FREQUENCY, "core:header_bytes": 17},
                    {"core:sample_start": 150, "core:header_bytes": 5}]
        self.write("x.dat", b"h" * 17 + raw[:600] + b"h" * 5 + raw[600:] + b"t" * 9)
        self.write("x.sigmf-meta", json.dumps(self.meta("ci16_be", captures, dataset="x.dat",
                                                        trailing_bytes=9)).encode())
        for name in ("x.sigmf-meta", "x", "x.dat"):
            self.check(as_complex(scaled(x)), self.folder / name)

    def test_gaps_and_times_stay(self):
        x = numbers("u1", 200)
        captures = [{"core:sample_start": 0, "core:global_index": 1000, "core:frequency": FREQUENCY,
                     "core:datetime": TIME},
                    {"core:sample_start": 40, "core:global_index": 1140, "core:frequency": FREQUENCY},
                    {"core:sample_start": 70, "core:global_index": 1170, "core:frequency": 1e9}]
        path = self.sigmf("x", "cu8", x, captures=captures)
        facts = self.check(as_complex(scaled(x)), path, time=TIME_NS)
        self.assertEqual((facts["lost"], facts["tuned"]), (100, [{"row": 70, "sample": 170, "frequency": 1e9}]))
        # The array, and what is beside it, is a recording too.
        again = json.loads(self.sigmf_of(self.folder / "out.npy").read_text(encoding="utf-8"))
        starts = [(c["core:sample_start"], c["core:global_index"], c["core:frequency"]) for c in again["captures"]]
        self.assertEqual(starts, [(0, 0, FREQUENCY), (40, 140, FREQUENCY), (70, 170, 1e9)])
        self.assertEqual(again["captures"][0]["core:datetime"], TIME)

    def test_annotations_are_converted(self):
        x = numbers("u1", 2000)
        path = self.sigmf("x", "cu8", x, offset=100)
        meta = json.loads(path.read_text(encoding="utf-8"))
        meta["captures"][0]["core:sample_start"] = 100
        known = {"core:label": "burst", "core:freq_lower_edge": 433.9e6, "core:freq_upper_edge": 433.94e6}
        meta["annotations"] = [{"core:sample_start": 200, "core:sample_count": 50, "lab:snr": 3, **known},
                               {"core:sample_start": 300, "core:comment": "from here on"},
                               {"core:sample_start": 1000, "core:sample_count": 100}]
        path.write_text(json.dumps(meta), encoding="utf-8")
        again = json.loads(self.sigmf_of(path).read_text(encoding="utf-8"))
        self.assertEqual(again["annotations"], [{**known, "core:sample_start": 100, "core:sample_count": 50},
                                                {"core:comment": "from here on", "core:sample_start": 200},
                                                {"core:sample_start": 900, "core:sample_count": 100}])
        self.convert(path, "--skip", 120 / RATE, "--seconds", 800 / RATE, to="part.sigmf-meta")
        part = json.loads((self.folder / "part.sigmf-meta").read_text(encoding="utf-8"))
        self.assertEqual([(a["core:sample_start"], a.get("core:sample_count")) for a in part["annotations"]],
                         [(0, 30), (80, None), (780, 20)])
        self.assertIn("annotations are not kept (3)", self.convert(path, to="y.wav").stderr)
        done = self.convert(path, "--skip", 60, to="none.wav", ok=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("--skip 60 leaves out all of the 0.004 s", done.stderr)

    def sigmf_of(self, source):
        self.convert(source, to="again.sigmf-meta")
        return self.folder / "again.sigmf-meta"

    def test_what_has_no_samples(self):
        self.write("only.sigmf-meta", json.dumps(self.meta("cf32_le", metadata_only=True)).encode())
        self.refused(self.folder / "only", "metadata only", "core:metadata_only")
        self.write("c.sigmf-collection", json.dumps({"collection": {"core:version": "1.2.5", "core:streams": [
            {"name": "north", "hash": "0"}, {"name": "south", "hash": "1"}]}}).encode())
        self.refused(self.folder / "c.sigmf-collection", "collection", "north, south")
        self.refused(self.folder / "no", "there is no such file", "no.sigmf-meta")


class Archive(RecordingsTest):
    def archive(self, members, form, name="a.sigmf"):
        path = self.folder / name
        with tarfile.open(path, "w", format=form) as tar:
            for member, content in members:
                info = tarfile.TarInfo(member)
                info.size = len(content)
                info.mtime = 1.5  # pax writes fractions into a header of its own
                tar.addfile(info, io.BytesIO(content))
        return path

    def test_is_played_in_place(self):
        x = numbers("i1", 2000)
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            for folder in ("", "n/", "./", "long" * 30 + "/"):
                if form == tarfile.USTAR_FORMAT and len(folder) > 99:
                    folder = "l" * 90 + "/"
                meta = json.dumps(self.meta("ci8")).encode()
                members = [(folder + "n.sigmf-meta", meta), (folder + "n.sigmf-data", x.tobytes())]
                for order in (members, members[::-1]):
                    self.check(as_complex(scaled(x)), self.archive(order, form))

    def test_one_of_several(self):
        x, y = numbers("i1", 600), numbers("i1", 800, seed=2)
        meta = json.dumps(self.meta("ci8")).encode()
        path = self.archive([("n/north.sigmf-meta", meta), ("n/north.sigmf-data", x.tobytes()),
                             ("s/south.sigmf-meta", meta), ("s/south.sigmf-data", y.tobytes())], tarfile.PAX_FORMAT)
        for name, samples in (("north", x), ("n/north", x), ("south.sigmf-data", y), ("s/south.sigmf-meta", y)):
            self.check(as_complex(scaled(samples)), f"{path}/{name}")
        (self.folder / "p.yaml").write_text("source: {file: {path: a.sigmf/south}}\n", encoding="utf-8")
        done = iqd.command("check", self.folder / "p.yaml", cwd="/")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = iqd.command("record", f"{path}/south", self.folder / "y.cs8")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "y.cs8").read_bytes(), y.tobytes())

    def test_a_dataset_of_another_name(self):
        x = numbers(">i2", 300)
        meta = json.dumps(self.meta("ri16_be", dataset="s.bin")).encode()
        self.check(scaled(x), self.archive([("d/n.sigmf-meta", meta), ("s.bin", b"no"), ("d/s.bin", x.tobytes())],
                                           tarfile.PAX_FORMAT))

    def test_what_is_refused(self):
        meta = json.dumps(self.meta("ci8")).encode()
        two = [("a.sigmf-meta", meta), ("a.sigmf-data", b"12"), ("b.sigmf-meta", meta), ("b.sigmf-data", b"12")]
        path = self.archive(two, tarfile.PAX_FORMAT)
        whole = path.read_bytes()
        self.refused(path, "has 2 recordings; name one, as", "a.sigmf/NAME: a.sigmf-meta, b.sigmf-meta")
        self.refused(f"{path}/c", "has no recording c; it has a.sigmf-meta, b.sigmf-meta")
        self.refused(self.archive(two[:1], tarfile.PAX_FORMAT), "no data file")
        self.refused(self.archive(two[1:2], tarfile.PAX_FORMAT), "without a .sigmf-meta")
        self.refused(self.write("b.sigmf", whole[:3 * 512 + 40]), "cut short")
        self.refused(self.write("c.sigmf", b"hello"), "not a tar archive")
        self.refused(self.write("d.sigmf.gz", b"\x1f\x8b\x08" + bytes(100)), "compressed")

    def test_is_written(self):
        x = numbers("<i2", 2000)
        source = self.write(f"x_{FREQUENCY / 1e6}M_{RATE / 1e3}k.cs16", x)
        self.convert(source, to="o.sigmf")
        self.assertEqual(sorted(p.name for p in self.folder.glob("o*") if "out" not in p.name), ["o.sigmf"])
        with tarfile.open(self.folder / "o.sigmf") as tar:
            self.assertEqual(tar.getnames(), ["o.sigmf-meta", "o.sigmf-data"])
            self.assertEqual(tar.extractfile("o.sigmf-data").read(), x.tobytes())
            self.assertEqual(json.load(tar.extractfile("o.sigmf-meta"))["global"]["core:datatype"], "ci16_le")
        self.check(as_complex(scaled(x)), self.folder / "o.sigmf")


class Wav(RecordingsTest):
    def wav(self, name, fmt, data, extra=b"", kind=b"RIFF", sizes=None, tail=b""):
        body = b"WAVE" + fmt + extra
        data_size, riff_size = sizes or (len(data), len(body) + 8 + len(data) + len(data) % 2 + len(tail))
        return self.write(name, kind + struct.pack("<I", riff_size) + body + b"data" + struct.pack("<I", data_size) +
                          data + b"\0" * (len(data) % 2) + tail)

    def kinds(self):
        """(code, bits, bytes of 2000 numbers, their values)"""
        x8, x16, x32 = numbers("u1", 2000), numbers("<i2", 2000), numbers("<i4", 2000)
        x24 = numbers("<i4", 2000) >> 8
        f32, f64 = numbers("<f4", 2000), numbers("<f8", 2000)
        yield 1, 8, x8.tobytes(), (x8 - 128.0) / 128
        yield 1, 16, x16.tobytes(), x16 / 32768.0
        yield 1, 24, int24(x24), x24 / 8388608.0
        yield 1, 32, x32.tobytes(), x32 / 2147483648.0
        yield 3, 32, f32.tobytes(), f32.astype(float)
        yield 3, 64, f64.tobytes(), f64

    def test_every_kind(self):
        for code, bits, data, values in self.kinds():
            for extensible in (False, True):
                with self.subTest(code=code, bits=bits, extensible=extensible):
                    self.check(as_complex(values), self.wav("x.wav", wav_format(code, 2, bits, extensible=extensible),
                                                            data, auxi(FREQUENCY)), time=TIME_NS)
                    self.check(values, self.wav("x.wav", wav_format(code, 1, bits, extensible=extensible), data),
                               frequency=0)
                    self.check(as_complex(values.reshape(-1, 4)), self.wav("x.wav", wav_format(code, 4, bits), data),
                               frequency=0)

    def test_stereo_is_real_if_the_key_says_so(self):
        x = numbers("<i2", 2000)
        path = self.wav("x.wav", wav_format(1, 2, 16), x.tobytes())
        self.check(scaled(x).reshape(-1, 2), path, "--channels", 2, frequency=0)
        self.check(scaled(x).reshape(-1, 2), path, "--in-format", "s16", frequency=0)
        self.check(as_complex(scaled(x)), path, "--channels", 1, frequency=0)
        self.refused(path, "2 channels in the WAV file", arguments=("--channels", 3))
        self.refused(path, "WAV file of 16-bit integers", arguments=("--in-format", "cu8"))

    def test_by_the_wave_module(self):
        x = numbers("<i2", 4000)
        with wave.open(str(self.folder / "w.wav"), "wb") as w:
            w.setnchannels(2)
            w.setsampwidth(2)
            w.setframerate(int(RATE))
            w.writeframes(x.tobytes())
        self.check(as_complex(scaled(x)), self.folder / "w.wav", frequency=0)

    def test_that_was_not_finished(self):
        x = numbers("<i2", 2000)
        for sizes in ((0, 0), (0xffffffff, 0xffffffff), (0, 36), (9000, 9036)):
            path = self.wav("x.wav", wav_format(1, 2, 16), x.tobytes(), auxi(FREQUENCY), sizes=sizes)
            self.check(as_complex(scaled(x)), path, time=TIME_NS)
        path = self.wav("x.wav", wav_format(1, 2, 16), x.tobytes() + b"1", auxi(FREQUENCY), sizes=(0, 0))
        self.check(as_complex(scaled(x)), path, time=TIME_NS)
        self.refused(self.wav("x.wav", wav_format(1, 2, 16), b""), "holds no samples", arguments=())

    def test_large_ones(self):
        x = numbers("<i2", 2000)
        for kind in (b"RF64", b"BW64"):
            large = chunk(b"ds64", struct.pack("<QQQI", 10000, x.nbytes, 1000, 0))
            path = self.wav("x.wav", large + wav_format(1, 2, 16), x.tobytes(), kind=kind, tail=b"junk" * 9,
                            sizes=(0xffffffff, 0xffffffff))
            self.check(as_complex(scaled(x)), path, frequency=0)

    def test_what_others_say_about_the_tuning(self):
        x = numbers("<i2", 2000)
        xml = (f'<?xml version="1.0"?><SDR-XML-Root><Definition RadioCenterFreq="{int(FREQUENCY)}" '
               'UTCSeconds="1743422400" /></SDR-XML-Root>').encode("utf-16-le")
        self.check(as_complex(scaled(x)), self.wav("x.wav", wav_format(1, 2, 16), x.tobytes(), chunk(b"auxi", xml)),
                   time=TIME_NS - 250_000_000)
        self.check(as_complex(scaled(x)), self.wav("x.wav", wav_format(1, 2, 16), x.tobytes(), tail=auxi(FREQUENCY)),
                   time=TIME_NS)
        for name in ("HDSDR_20250331_120000Z_433920kHz_RF.wav", "SDRSharp_20250331_120000Z_433920000Hz_IQ.wav"):
            self.check(as_complex(scaled(x)), self.wav(name, wav_format(1, 2, 16), x.tobytes()),
                       time=TIME_NS - 250_000_000)

    def test_what_is_refused(self):
        data = bytes(100)
        self.refused(self.write("x.wav", b"hello"), "not a WAV file")
        self.refused(self.wav("x.wav", wav_format(2, 2, 4), data), "format 2 with 4 bits")
        self.refused(self.wav("x.wav", wav_format(1, 2, 12), data), "12 bits")
        self.refused(self.wav("x.wav", b"", data), "before their format")
        self.refused(self.write("x.wav", b"RIFF" + bytes(4) + b"WAVE" + wav_format(1, 2, 16)), "no data chunk")
        self.refused(self.wav("x.wav", wav_format(1, 0, 16), data), "no channels")
        self.refused(self.wav("x.wav", wav_format(1, 2, 16, rate=0), data), "sample rate is 0")

    def test_is_written(self):
        for suffix, dtype, width in (("cu8", "u1", 1), ("cs16", "<i2", 2), ("cf32", "<f4", 4)):
            x = numbers(dtype, 2000)
            source = self.write(f"SDR_20250331_120000Z_{int(FREQUENCY)}Hz_250k.{suffix}", x)
            self.convert(source, to="o.wav")
            raw = (self.folder / "o.wav").read_bytes()
            at = raw.index(b"auxi") + 8
            self.assertEqual(struct.unpack_from("<8H", raw, at), (2025, 3, 1, 31, 12, 0, 0, 0))
            self.assertEqual(struct.unpack_from("<I", raw, at + 32)[0], int(FREQUENCY))
            if width < 4:
                with wave.open(str(self.folder / "o.wav")) as w:
                    self.assertEqual((w.getnchannels(), w.getframerate(), w.getnframes()), (2, int(RATE), 1000))
            self.check(as_complex(scaled(x)), self.folder / "o.wav", time=TIME_NS - 250_000_000)

    def test_stereo_by_iqd_stays_real(self):
        x = numbers("<f4", 2000)
        source = self.write("x_250k.f32", x)
        self.convert(source, "--channels", 2, to="o.wav")
        self.check(scaled(x).reshape(-1, 2), self.folder / "o.wav", frequency=0)


class Raw(RecordingsTest):
    def test_every_name(self):
        names = {"u1": (("cu8", "complex16u", "uc8", "CU8"), ("u8", "ru8")),
                 "i1": (("cs8", "ci8", "sc8", "complex16s"), ("s8",)),
                 "<i2": (("cs16", "ci16_le", "sc16", "c16", "CS16"), ("s16", "ri16_le", "int16")),
                 ">i2": (("cs16_be", "ci16_be"), ("s16_be",)),
                 "<i4": (("cs32", "sc32"), ("s32",)),
                 "<u2": (("cu16",), ("u16",)),
                 "<f4": (("cf32", "fc32", "cfile", "complex64"), ("f32", "float32")),
                 ">f4": (("cf32_be",), ("f32_be",)),
                 "<f8": (("cf64", "fc64", "complex128"), ("f64", "double"))}
        for dtype, (complex_names, real_names) in names.items():
            x = numbers(dtype, 1000)
            for name in complex_names + real_names:
                expected = as_complex(scaled(x)) if name in complex_names else scaled(x)
                with self.subTest(name):
                    self.check(expected, self.write(f"x.{name}", x), "--rate", RATE, frequency=0)
                    self.check(expected, self.write("x.bin", x), "--rate", RATE, "--in-format", name, frequency=0)

    def test_what_the_name_says(self):
        x = numbers("u1", 1000)
        for name in ("g001_433.92M_250k.cu8", "x_433920kHz_250ksps_cu8.raw", "X-433.92MHZ-0.25Msps.CU8"):
            self.check(as_complex(scaled(x)), self.write(name, x))
        self.check(as_complex(scaled(x)), self.write("g001_433.92M_1024k.cu8", x), "--rate", RATE, "--frequency", "1 MHz",
                   frequency=1e6)
        f = numbers("<f4", 1000)
        self.check(as_complex(scaled(f)), self.write("gqrx_20250331_120000_433920000_250000_fc.raw", f))

    def test_a_given_format_wins(self):
        x = numbers("<i2", 1000)
        self.check(as_complex(scaled(x)), self.write("x_250k.cu8", x), "--in-format", "cs16", frequency=0)

    def test_channels_and_a_cut_sample(self):
        x = numbers("<i2", 1000)
        path = self.write("x_250k.cs16", x.tobytes() + b"123")
        self.check(as_complex(scaled(x).reshape(-1, 4)), path, "--channels", 2, frequency=0)

    def test_what_is_missing(self):
        path = self.write("x.iq", bytes(100))
        self.refused(path, "give --in-format (and --rate)", "cu8, cs8, cs16")
        self.refused(path, "give --rate, such as --rate", arguments=("--in-format", "cs16"))
        self.refused(path, "the format 'cs17' is not known", arguments=("--in-format", "cs17", "--rate", 1e6))

    def test_what_is_written(self):
        x = numbers("<f4", 2000)
        x[:6] = 2, -2, np.nan, 1, -1, 0
        source = self.write("x_433.92M_250k.cf32", x)
        for name, dtype in (("cu8", "u1"), ("cs8", "i1"), ("cs16", "<i2"), ("cs16_be", ">i2"), ("cu16", "<u2"),
                            ("cs32", "<i4"), ("cf64", "<f8"), ("cf32_be", ">f4")):
            done = self.convert(source, to=f"y_433.92M_250k.{name}")
            written = np.frombuffer((self.folder / f"y_433.92M_250k.{name}").read_bytes(), dtype)
            step = 2.0 ** (1 - 8 * np.dtype(dtype).itemsize) if dtype[-2] in "ui" or dtype[0] in "ui" else 1e-12
            least, most = (-1, 1 - step) if "f" not in dtype else (-9, 9)
            if "u" in dtype:
                least, most = -1 + step / 2, 1 - step / 2
            expected = np.clip(np.nan_to_num(x.astype(np.float64)), least, most)
            off = np.abs(scaled(written) - expected)
            if "f" in dtype:
                off[2] = 0
            self.assertLessEqual(off.max(), step / 2 * 1.001, name)
            self.assertEqual("beyond full scale" in done.stderr, "f" not in dtype, done.stderr)

    def test_says_what_a_raw_file_cannot(self):
        x = numbers("u1", 1000)
        source = self.write("x_433.92M_250k.cu8", x)
        done = self.convert(source, to="y.cu8")
        self.assertIn("a raw file cannot say: rate (250000 S/s), frequency (433920000 Hz)", done.stderr)
        self.assertEqual((self.folder / "y.cu8").read_bytes(), x.tobytes())
        done = self.convert(source, to="y_433.92M_250k.cu8")
        self.assertNotIn("cannot say", done.stderr)

    def test_other_names_are_refused(self):
        """They would silently become SigMF under a longer name."""
        source = self.write("x_250k.cu8", bytes(100))
        for name in ("y.csv", "y.mat", "y.npz", "y.txt"):
            done = self.convert(source, to=name, ok=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{name}: iqd writes no .{name[2:]} files; it writes NAME.sigmf-meta", done.stderr)
        for command in (("convert", source, "-"), ("exec", "conjugate", source, "-"), ("record", source, "-")):
            done = iqd.command(*command, cwd=self.folder)
            self.assertEqual(done.returncode, 2)
            self.assertIn("-: recordings are files, not standard output", done.stderr)
        self.assertEqual([p.name for p in self.folder.iterdir()], ["x_250k.cu8"])
        done = self.convert(source, to="y.dat", ok=False)
        self.assertIn("a raw file needs `format`", done.stderr)
        self.convert(source, "--format", "cs8", to="y.dat")
        self.assertEqual((self.folder / "y.dat").stat().st_size, 100)

    def test_no_time_is_not_1970(self):
        source = self.write("x_250k.cu8", numbers("u1", 200))
        self.convert(source)
        self.assertIsNone(json.loads((self.folder / "out.json").read_text(encoding="utf-8"))["datetime"])

    def test_into_itself(self):
        source = self.write("x_250k.cu8", bytes(100))
        done = iqd.command("convert", source, source, "--overwrite")
        self.assertEqual(done.returncode, 2)
        self.assertIn("is the file being read", done.stderr)

    def test_over_another(self):
        source = self.write("x_250k.cu8", bytes(100))
        for name, there in (("y.wav", "y.wav"), ("y.npy", "y.npy"), ("y.sigmf", "y.sigmf"), ("y.cs8", "y.cs8"),
                            ("y.sigmf-meta", "y.sigmf-data")):
            (self.folder / there).write_bytes(b"mine")
            done = iqd.command("convert", source, self.folder / name)
            self.assertEqual(done.returncode, 2, name)
            self.assertRegex(done.stderr, f"{there} already exists; use --overwrite", name)
            self.assertEqual((self.folder / there).read_bytes(), b"mine")


class Arrays(RecordingsTest):
    def npy(self, x, facts=None):
        np.save(self.folder / "a.npy", x)
        (self.folder / "a.json").unlink(missing_ok=True)
        if facts:
            (self.folder / "a.json").write_text(json.dumps(facts), encoding="utf-8")
        return self.folder / "a.npy"

    def test_every_kind(self):
        parts = numbers("<f8", 2000)
        c = parts[::2] + 1j * parts[1::2]
        keys = ("--rate", RATE)
        for dtype in ("<c8", "<c16", ">c8", ">c16"):
            self.check(c, self.npy(c.astype(dtype)), *keys, frequency=0, tolerance=1e-6)
        for dtype in ("<f4", ">f8", "<i2", ">i2", "<i4", "i1", "u1", "<u2"):
            x = numbers(dtype, 1000)
            self.check(scaled(x), self.npy(x), *keys, frequency=0)
            self.check(as_complex(scaled(x)), self.npy(x.reshape(-1, 2)), *keys, frequency=0)
        pairs = np.zeros(500, [("re", "<i2"), ("im", "<i2")])
        pairs["re"], pairs["im"] = x16 = numbers("<i2", 1000).reshape(2, -1)
        self.check((x16[0] + 1j * x16[1]) / 32768, self.npy(pairs), *keys, frequency=0)

    def test_channels(self):
        parts = numbers("<f4", 6000)
        c = (parts[::2] + 1j * parts[1::2]).reshape(1000, 3)
        for x in (c, np.asfortranarray(c), np.ascontiguousarray(c.T), np.asfortranarray(c.T)):
            self.check(c, self.npy(x), "--rate", RATE, frequency=0)
        facts = {"sample_rate": RATE, "dims": ["n", "channel"], "frequency": FREQUENCY, "time_ns": TIME_NS}
        self.check(c[:2], self.npy(c[:2], facts), time=TIME_NS)

    def test_what_is_refused(self):
        self.refused(self.npy(np.zeros((3, 4, 5), np.complex64)), "its shape is (3, 4, 5)")
        self.refused(self.npy(np.zeros(5, np.int64)), "cannot be played")
        self.refused(self.npy(np.zeros(5, np.complex64)), "give --rate")
        self.refused(self.npy(np.zeros((4, 3), np.uint8), {"sample_rate": 1e6, "dims": ["packet", "bit"]}),
                     "its dimensions are packet, bit")


class Paths(RecordingsTest):
    def check_file(self, text, cwd, ok=True):
        (self.folder / "lab").mkdir(exist_ok=True)
        (self.folder / "lab" / "p.yaml").write_text(text, encoding="utf-8")
        done = iqd.command("check", os.path.relpath(self.folder / "lab" / "p.yaml", cwd), cwd=cwd)
        self.assertEqual(done.returncode, 0 if ok else 2, done.stderr + done.stdout)
        return done.stderr

    def test_are_beside_the_pipeline_or_in_the_working_directory(self):
        x = numbers("<i2", 2000)
        (self.folder / "lab" / "data").mkdir(parents=True)
        (self.folder / "elsewhere").mkdir()
        text = "source: {file: {path: %s}}\nstages: [fir: {taps: '@taps.npy'}]\n"
        here = self.folder / "elsewhere"
        for place in (self.folder / "lab", here):
            np.save(place / "taps.npy", np.ones(3, np.float32))
            self.sigmf("x", "ci16_le", x)
            for end in ("meta", "data"):
                os.replace(self.folder / f"x.sigmf-{end}", place / f"x.sigmf-{end}")
            for cwd in (self.folder, self.folder / "lab", here):
                if place == here and cwd != here:
                    error = self.check_file(text % "x", cwd, ok=False)
                    self.assertIn("taps.npy", error)
                    self.assertIn(str(self.folder / "lab"), error)
                    self.assertIn(str(cwd), error)
                else:
                    self.check_file(text % "x", cwd)
                    self.check_file(text % "x.sigmf-meta", cwd)
            for name in ("x.sigmf-meta", "x.sigmf-data", "taps.npy"):
                (place / name).unlink()

    def test_say_where_was_looked(self):
        (self.folder / "lab").mkdir()
        for text, name in (("source: {file: {path: no.wav}}\n", "no.wav"),
                           ("source: {file: {path: no}}\n", "no"),
                           ("monitor: {listen: '127.0.0.1:0', token: no.token}\n"
                            "source: {generate: {rate: 1e6}}\n", "no.token"),
                           ("source: {generate: {rate: 1e6}}\nstages: [fir: {taps: '@no.npy'}]\n", "no.npy"),
                           ("source: {generate: {rate: 1e6}}\nstages: [kernel: {file: no.cu, function: f}]\n", "no.cu"),
                           ("source: {generate: {rate: 1e6}}\npublish: [{port: source, topic: t, bind: 'tcp://*:1', "
                            "curve: {secret: no.secret, allow: any}}]\n", "no.secret")):
            error = self.check_file(text, self.folder, ok=False)
            self.assertIn(name, error)
            self.assertIn(f"looked beside the pipeline file, in {self.folder}/lab, "
                          f"and in the working directory, {self.folder})", error)


class Played(RecordingsTest):
    """By the daemon, whose levels are true."""

    def test_cu8(self):
        n = np.arange(50_000)
        z = np.exp(2j * np.pi * 0.01 * n)
        parts = np.stack([z.real, z.imag], axis=1).reshape(-1)
        path = self.write("tone_433.92M_250k.cu8", np.round(parts * 127.5 + 127.5).astype(np.uint8))
        where = iqd.endpoint()
        reader = self.reader(where, "t")
        text = (f"source: {{file: {{path: \"{path}\"}}}}\nstages: [convert: {{dtype: cf32}}]\n"
                f"publish: [{{port: convert.out, topic: t, bind: \"{where}\"}}]\n")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = reader.take(1)
            self.assertEqual(daemon.wait(), 0, daemon.text)
            level = daemon.final[0]["channels"][0]
        messages += reader.rest()
        x = np.concatenate([m.samples for m in messages])
        self.assertLess(np.abs(x - z * 127.5 / 128).max(), 0.006)
        self.assertEqual(messages[0].frequency, FREQUENCY)
        self.assertEqual(messages[0].sample_rate, RATE)
        self.assertAlmostEqual(level["rms_dbfs"], 0, delta=0.05)
        self.assertGreater(level["clipped"], 0)

    def test_a_real_stream(self):
        x = numbers("<i2", 9000)
        self.write("x_250k.s16", x)
        where = iqd.endpoint()
        reader = self.reader(where, "t")
        text = (f"source: {{file: {{path: \"{self.folder}/x_250k.s16\"}}}}\n"
                f"publish: [{{port: source, topic: t, bind: \"{where}\"}}]\n")
        with self.daemon(text, "--wait-subscribers", 1) as daemon:
            messages = reader.take(1)
            self.assertEqual(daemon.wait(), 0, daemon.text)
        messages += reader.rest()
        np.testing.assert_array_equal(np.concatenate([m.x for m in messages]), (x / 32768.0).astype(np.float32))


class Recorded(RecordingsTest):
    def test_a_recording_in_place_of_a_radio(self):
        x = np.full(4000, 128, np.uint8)
        x[2000:2400] = 250
        source = self.write("x_433.92M_250k.cu8", x)
        done = iqd.command("record", source, self.folder / "y.sigmf-meta", "--trigger", "level > -20 dB", "--pre", "1 ms",
                           "--post", "2 ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        y, facts = self.read(self.folder / "y.sigmf-meta")
        np.testing.assert_allclose(y, as_complex(scaled(x))[750:1500], atol=4e-5)
        self.assertEqual((facts["sample_rate"], facts["frequency"]), (RATE, FREQUENCY))
        done = iqd.command("record", source, self.folder / "z.wav", "--gain", "3 dB")
        self.assertEqual(done.returncode, 2)
        self.assertIn("is a recording, which has only --rate and --frequency", done.stderr)

    def test_a_port_that_does_not_exist(self):
        (self.folder / "p.yaml").write_text("source: {generate: {rate: 1 MS/s, samples: 1000}}\n", encoding="utf-8")
        done = iqd.command("record", self.folder / "p.yaml", self.folder / "y.wav", "--port", "nope")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--port: there is no port 'nope'", done.stderr)
        self.assertNotIn("has no unit", done.stderr)

    def test_by_the_name_of_the_file(self):
        """What `iqd record` writes of the same tone, by every ending."""
        expected = None
        for name in ("r.sigmf-meta", "r.sigmf", "r.wav", "r.npy", "r.cf32", "r.cs16", "r.cs8", "r.cu8"):
            done = iqd.command("record", self.folder / name, "--args", "driver=iqdsim,frequency=21e3,pace=false",
                               "--rate", "250 kS/s", "--frequency", "433.92 MHz", "--samples", 5000, "--overwrite")
            self.assertEqual(done.returncode, 0, done.stderr)
            is_raw = pathlib.Path(name).suffix[1:] in ("cf32", "cs16", "cs8", "cu8")
            keys = ("--rate", RATE, "--frequency", FREQUENCY) if is_raw else ()
            x, facts = self.read(self.folder / name, *keys)
            if expected is None:
                expected = x
                self.assertGreater(np.abs(x).max(), 0.05)
            self.assertEqual((facts["sample_rate"], facts["frequency"]), (RATE, FREQUENCY))
            self.assertLess(np.abs(x - expected).max(), 0.009 if "8" in name else 4e-5, name)


if __name__ == "__main__":
    unittest.main()
