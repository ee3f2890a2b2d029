# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""`cmake --install` into a separate tree: the program runs from there, and systemd accepts its files."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import iqd

BUILD = pathlib.Path(iqd.IQD).resolve().parent
CUDA = (BUILD / "libiqd_cuda.so").exists()


def run(*command, environment=None, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, **(environment or {})}, **options)


def install(into, prefix):
    done = run("cmake", "--install", BUILD, "--prefix", prefix, environment={"DESTDIR": str(into)})
    assert done.returncode == 0, done.stdout + done.stderr


def needs(tool):
    return unittest.skipUnless(shutil.which(tool), f"{tool} is not installed")


@unittest.skipUnless((BUILD / "cmake_install.cmake").exists(), f"{BUILD} is not a build tree")
class Install(unittest.TestCase):
    """One tree, installed for /usr/local below another root."""

    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="iqd-test-")
        cls.addClassCleanup(holder.cleanup)
        cls.root = pathlib.Path(holder.name).resolve() / "a tree"
        install(cls.root, "/usr/local")
        cls.manifest = (BUILD / "install_manifest.txt").read_text(encoding="utf-8").split("\n")
        cls.prefix = cls.root / "usr/local"
        cls.program = cls.prefix / "bin/iqd"

    def iqd(self, *arguments, cwd="/"):
        clean = {k: v for k, v in os.environ.items() if k not in ("SOAPY_SDR_PLUGIN_PATH", "LD_LIBRARY_PATH")}
        return subprocess.run([str(self.program), *map(str, arguments)], capture_output=True, text=True, check=False,
                              timeout=120, cwd=cwd, env=clean)

    def one(self, pattern):
        found = list(self.prefix.glob(pattern))
        self.assertEqual(len(found), 1, pattern)
        return found[0]

    def commands(self):
        listed = self.iqd("--help").stdout.split("Subcommands:")[1]
        return set(re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE))

    # --- the tree ---

    def test_everything_is_where_it_belongs(self):
        for pattern in ("bin/iqd", "lib*/**/iqd/libiqd_base.so", "lib*/**/SoapySDR/modules0.8/libiqdsimSupport.so",
                        "lib*/**/SoapySDR/modules0.8/libwarpSupport.so", "lib*/**/SoapySDR/modules0.8/warp_guard",
                        "lib/systemd/system/iqd@.service", "lib/sysusers.d/iqd.conf", "lib/tmpfiles.d/iqd.conf",
                        "lib/sysctl.d/60-iqd.conf", "lib/udev/rules.d/59-iqd.rules", "share/man/man1/iqd.1",
                        "share/bash-completion/completions/iqd", "share/iqd/pipelines/service.yaml",
                        "share/iqd/examples/subscribe.py", "share/iqd/prometheus/iqd-rules.yml",
                        "share/iqd/grafana/dashboards/iqd.json", "share/doc/iqd/docs/service.md",
                        "share/doc/iqd/README.md", "share/doc/iqd/pipelines", "share/doc/iqd/examples"):
            self.one(pattern)
        self.assertEqual(len(list(self.prefix.glob("**/libiqd_cuda.so"))), int(CUDA))
        self.assertEqual({p.name for p in self.root.iterdir()}, {"usr"})  # nothing outside the prefix

    def test_the_manifest_names_every_file(self):
        there = {f"/{p.relative_to(self.root)}" for p in self.root.rglob("*") if p.is_symlink() or not p.is_dir()}
        self.assertEqual(set(filter(None, self.manifest)), there)

    def test_texts_name_the_prefix_and_nothing_of_this_machine(self):
        other = self.root.parent / "other"
        install(other, "/opt/iqd")
        unit = (other / "opt/iqd/lib/systemd/system/iqd@.service").read_text(encoding="utf-8")
        self.assertIn("\nExecStart=/opt/iqd/bin/iqd run /etc/iqd/%i.yaml\n", unit)
        self.assertIn("/opt/iqd/share/doc/iqd/docs/service.md", unit)
        for path in other.rglob("*"):
            if path.is_file() and path.suffix != ".png" and path.read_bytes()[:4] != b"\x7fELF":
                text = path.read_text(encoding="utf-8")
                self.assertNotIn(str(iqd.ROOT), text, path)
                self.assertIsNone(re.search(r"@[a-z]+dir@", text), path)
        self.assertEqual(run(other / "opt/iqd/bin/iqd", "stages").returncode, 0)

    def test_no_folder_is_empty(self):
        self.assertEqual([p for p in self.prefix.rglob("*") if p.is_dir() and not any(p.iterdir())], [])

    # --- the pages ---

    def test_no_link_is_dead(self):
        done = run(iqd.ROOT / "tools/check-links", self.prefix / "share/doc/iqd")
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_the_pages_lie_as_in_the_source(self):
        for pattern in ("docs/**/*.md", "pipeline/stages/*/*/README.md", "bench/*/README.md"):
            there, here = ({p.relative_to(root) for p in root.glob(pattern)}
                           for root in (self.prefix / "share/doc/iqd", iqd.ROOT))
            self.assertTrue(here)
            self.assertEqual(there, here)

    def test_examples_can_be_started_where_the_pages_name_them(self):
        examples = self.prefix / "share/doc/iqd/examples"
        self.assertEqual(examples.resolve(), self.prefix / "share/iqd/examples")
        for path in examples.glob("*.py"):
            self.assertTrue(os.access(path, os.X_OK), path)

    # --- the program ---

    def test_it_loads_its_own_libraries(self):
        loaded = run("ldd", self.program).stdout
        self.assertIn(f"libiqd_base.so => {self.prefix}/", loaded)
        self.assertNotIn("not found", loaded)
        self.assertNotIn(str(BUILD), loaded)

    def test_the_simulated_radio_is_found(self):
        done = self.iqd("probe", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        soapy = next(r for r in json.loads(done.stdout)["radios"] if r["driver"] == "soapy")
        self.assertIn("iqdsim", [d["facts"]["driver"] for d in soapy["devices"]])

    def test_the_pipelines_to_start_from_are_whole(self):
        there = self.prefix / "share/iqd/pipelines"
        self.assertEqual({p.name for p in there.iterdir()}, {p.name for p in iqd.PIPELINES.iterdir()})
        for name in ("service", "own_kernel"):
            done = self.iqd("check", there / f"{name}.yaml")
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_pipeline_runs(self):
        path = self.root.parent / "run.yaml"
        path.write_text("source: {soapy: {args: \"driver=iqdsim\", rate: 1e6}}\nstages: [spectrum: {size: 256}]\n"
                        f"publish: [{{port: spectrum.out, topic: t, bind: \"{iqd.endpoint()}\"}}]\n", encoding="utf-8")
        done = self.iqd("run", path, "--seconds", "1", "--status", "json", cwd=self.root.parent)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(json.loads(done.stdout.splitlines()[-1])["pipelines"][0]["published"], 0)

    @unittest.skipUnless(CUDA, "this build has no CUDA half")
    def test_the_cuda_half_is_found(self):
        devices = json.loads(self.iqd("probe", "--json").stdout)["backends"]
        cuda = [d for d in devices if d["name"].startswith("cuda")]
        self.assertTrue(cuda)
        self.assertNotIn("is not installed", json.dumps(cuda))

    def test_the_manual_has_a_page_for_each_command(self):
        there = {p.relative_to(self.prefix / "share/man").as_posix() for p in self.prefix.glob("share/man/*/*")}
        self.assertEqual(there, {"man1/iqd.1", "man5/iqd.yaml.5", "man8/iqd@.service.8"} |
                         {f"man1/iqd-{name}.1" for name in self.commands()})

    def test_the_page_of_commands_names_every_command(self):
        text = (self.prefix / "share/doc/iqd/docs/commands.md").read_text(encoding="utf-8")
        self.assertEqual(self.commands() - set(re.findall(r"^\| `iqd ([a-z]+)", text, re.MULTILINE)), set())

    def test_completion_finds_its_parts(self):
        where = {"bash": "bash-completion/completions/iqd", "zsh": "zsh/site-functions/_iqd",
                 "fish": "fish/vendor_completions.d/iqd.fish"}
        for path in where.values():
            self.one(f"share/{path}")
        file = self.prefix / "share" / where["bash"]
        self.assertEqual(set(run("bash", file, self.program, "").stdout.split()), self.commands())
        if shutil.which("fish"):
            fish = f"source '{self.prefix / 'share' / where['fish']}'; complete -C 'iqd explai'"
            done = run("fish", "-N", "-c", fish, environment={"PATH": f"{self.prefix}/bin:{os.environ['PATH']}"})
            self.assertEqual(done.stdout.split(), ["explain"])

    # --- the service ---

    def unit(self):
        """An instance's unit, with the program's present path."""
        text = (self.prefix / "lib/systemd/system/iqd@.service").read_text(encoding="utf-8")
        linked = self.root.parent / "bin"
        linked.mkdir(exist_ok=True)
        if not (linked / "iqd").exists():
            (linked / "iqd").symlink_to(self.program)
        path = self.root.parent / "iqd@example.service"
        path.write_text(text.replace("/usr/local/bin/iqd", str(linked / "iqd")), encoding="utf-8")
        return path

    @needs("systemd-analyze")
    def test_the_unit_is_right(self):
        done = run("systemd-analyze", "verify", "--man=no", self.unit())
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    @needs("systemd-analyze")
    def test_the_unit_is_tight(self):
        done = run("systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", self.unit())
        self.assertEqual(done.returncode, 0, done.stdout[-300:] + done.stderr)
        self.assertIn("Overall exposure level", done.stdout)

    @needs("systemd-sysusers")
    def test_the_user_can_be_made(self):
        tree = self.root.parent / "users"
        (tree / "etc").mkdir(parents=True)
        done = run("systemd-sysusers", f"--root={tree}", self.prefix / "lib/sysusers.d/iqd.conf")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("iqd:", (tree / "etc/passwd").read_text(encoding="utf-8"))
        members = [line.split(":") for line in (tree / "etc/group").read_text(encoding="utf-8").split()]
        self.assertLessEqual({"plugdev", "video", "render"}, {m[0] for m in members if m[3] == "iqd"})

        if os.geteuid() != 0:
            self.skipTest("only root can change the owner of folders")
        done = run("systemd-tmpfiles", "--create", f"--root={tree}", self.prefix / "lib/tmpfiles.d/iqd.conf")
        self.assertTrue((tree / "etc/iqd").is_dir(), done.stderr)
        recordings = (tree / "var/lib/iqd/recordings").stat()
        self.assertEqual(recordings.st_mode & 0o777, 0o750)
        self.assertNotEqual(recordings.st_uid, 0)

    def test_the_kernel_knows_the_settings(self):
        settings = (self.prefix / "lib/sysctl.d/60-iqd.conf").read_text(encoding="utf-8")
        pairs = re.findall(r"^([a-z_.]+) = (\d+)$", settings, re.MULTILINE)
        self.assertEqual(len(pairs), len([s for s in settings.splitlines() if s and s[0] != "#"]))
        wanted = dict(pairs)
        self.assertGreaterEqual(int(wanted["net.core.rmem_max"]), 50_000_000)
        for key in wanted:
            path = pathlib.Path("/proc/sys") / key.replace(".", "/")
            if path.parent.exists() and path.exists():  # some containers hide some of them
                self.assertRegex(path.read_text(encoding="utf-8"), r"^\d+$")


if __name__ == "__main__":
    unittest.main()
