# SPDX-FileCopyrightText: the iqd authors
# SPDX-License-Identifier: Apache-2.0
"""containers/: files of compose and Kubernetes name what exists, and close what iqd does not need.

Schemas come from Debian's docker-compose and python3-kubernetes, and kubectl renders kustomizations. Without them, only
the assertions here are made, and the tests that need them are skipped.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "containers"
KUBERNETES = HERE / "kubernetes"
POOL = KUBERNETES / "pool"
WITH_MAPS = (HERE / "pipelines", HERE / "monitoring", ROOT / "tools/prometheus", ROOT / "tools/grafana", POOL)
COMPONENTS = ("gpu", "usb", "realtime", "hostnetwork")
COMPOSE_SCHEMA = pathlib.Path("/usr/lib/python3/dist-packages/compose/config/compose_spec.json")
VARIABLE = re.compile(r"\$\{([A-Z_]+):-([^}]+)\}")
NATS_SERVER = shutil.which("nats-server", path=f"{os.environ['PATH']}:/usr/sbin")
try:
    from kubernetes.client import models
except ImportError:
    models = None


def load(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def load_all(path):
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def with_defaults(text):
    return VARIABLE.sub(r"\2", text)


def ports_of(pipeline):
    """The ports that a pipeline listens on, and whether each can be reached from outside a container."""
    addresses = [pipeline["monitor"]["listen"], *(each["bind"].removeprefix("tcp://") for each in pipeline["publish"])]
    return {int(port): host == "0.0.0.0" for host, port in (address.split(":") for address in addresses)}


class Compose(unittest.TestCase):
    def setUp(self):
        self.text = (HERE / "compose.yaml").read_text(encoding="utf-8")
        self.services = yaml.safe_load(self.text)["services"]
        self.gpu = load(HERE / "compose.gpu.yaml")["services"]
        self.example = load(HERE / "pipelines" / "example.yaml")

    def test_images_are_variables(self):
        for services in (self.services, self.gpu):
            for name, service in services.items():
                self.assertRegex(service["image"], rf"^{VARIABLE.pattern}$", name)

    def test_the_head_explains_each_variable(self):
        head = self.text.split("\nservices:")[0]
        for name, default in VARIABLE.findall(self.text):
            self.assertIn(name, head)
            if not name.endswith("_IMAGE"):
                self.assertRegex(head, rf"{name}\b.*[(, ]{re.escape(default)}[,;)]")

    def test_everything_is_closed_that_is_not_needed(self):
        for name, service in self.services.items():
            self.assertIs(service["read_only"], True, name)
            self.assertEqual(service["cap_drop"], ["ALL"], name)
            self.assertEqual(service["security_opt"], ["no-new-privileges:true"], name)
            self.assertFalse({"privileged", "cap_add", "network_mode", "pid"} & set(service), name)
            for port in service["ports"]:
                self.assertTrue(with_defaults(port).startswith("127.0.0.1:"), port)

    def test_mounts_exist(self):
        volumes = set(yaml.safe_load(self.text)["volumes"])
        for name, service in self.services.items():
            for mount in service["volumes"]:
                source, _, options = with_defaults(mount).partition(":")
                if source.startswith("."):
                    self.assertTrue((HERE / source).exists(), f"{name}: {source}")
                    self.assertTrue(options.endswith(":ro"), f"{name}: {mount}")
                elif source != "/dev/bus/usb":
                    self.assertIn(source, volumes, name)

    def test_the_example_is_reachable_and_gets_its_rights(self):
        iqd = self.services["iqd"]
        published = {int(port.rsplit(":", 1)[1]) for port in iqd["ports"]}
        self.assertEqual(ports_of(self.example), {port: True for port in published})
        self.assertEqual(with_defaults(iqd["command"][1]), "/etc/iqd/example.yaml")
        self.assertGreaterEqual(iqd["ulimits"]["rtprio"], self.example["realtime"]["priority"])
        self.assertEqual(iqd["ulimits"]["memlock"], -1)

    def test_the_health_check_is_a_command_of_iqd(self):
        program, command = self.services["iqd"]["healthcheck"]["test"][1:]
        self.assertEqual(program, "iqd")
        self.assertIn(f'"{command}"', (ROOT / "daemon/ask/status_command.cpp").read_text(encoding="utf-8"))

    def test_the_gpu_file_changes_services_that_exist(self):
        self.assertLessEqual(set(self.gpu), set(self.services))
        self.assertEqual([with_defaults(d) for d in self.gpu["iqd"]["devices"]], ["nvidia.com/gpu=all"])

    @unittest.skipUnless(COMPOSE_SCHEMA.exists(), "docker-compose is not installed")
    def test_the_schema(self):
        schema = json.loads(COMPOSE_SCHEMA.read_text(encoding="utf-8"))
        for name in ("compose.yaml", "compose.gpu.yaml"):
            file = load(HERE / name)
            jsonschema.Draft7Validator(schema).validate(file)


class Monitoring(unittest.TestCase):
    """The files for containers are the installed ones with other addresses."""

    def test_prometheus(self):
        here, shipped = load(HERE / "monitoring/prometheus.yml"), load(ROOT / "tools/prometheus/prometheus.yml")
        (job,), (shipped_job,) = here["scrape_configs"], shipped["scrape_configs"]
        self.assertEqual(job.pop("static_configs"), [{"targets": ["iqd:9464"]}])
        shipped_job.pop("static_configs")
        self.assertEqual(here, shipped)

    def test_grafana(self):
        here = load(HERE / "monitoring/datasource.yaml")
        shipped = load(ROOT / "tools/grafana/provisioning/datasources/iqd.yaml")
        self.assertEqual(here["datasources"][0].pop("url"), "http://prometheus:9090")
        shipped["datasources"][0].pop("url")
        self.assertEqual(here, shipped)

    @unittest.skipUnless(shutil.which("promtool"), "prometheus is not installed")
    def test_prometheus_reads_it(self):
        with tempfile.TemporaryDirectory() as folder:
            for file in (HERE / "monitoring/prometheus.yml", ROOT / "tools/prometheus/iqd-rules.yml"):
                shutil.copy(file, folder)
            done = subprocess.run(["promtool", "check", "config", f"{folder}/prometheus.yml"], capture_output=True,
                                  text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_services_have_these_names_and_ports(self):
        compose = load(HERE / "compose.yaml")["services"]
        wanted = {"iqd": {9464, 5555}, "prometheus": {9090}, "grafana": {3000}}
        self.assertEqual({name: {int(p.rsplit(":", 1)[1]) for p in s["ports"]} for name, s in compose.items()}, wanted)
        files = [load_all(path) for path in sorted(KUBERNETES.glob("*/*.yaml")) if path.name != "kustomization.yaml"]
        services = [each for file in files for each in file if each["kind"] == "Service"]
        self.assertEqual({s["metadata"]["name"]: {p["port"] for p in s["spec"]["ports"]} for s in services},
                         wanted | {"nats": {4222}})


def model_of(value, kind, where):
    """`value` as an object of Kubernetes' API. Raises ValueError for what it does not know, and for what is missing."""
    if kind.startswith("list["):
        if not isinstance(value, list):
            raise ValueError(f"{where}: not a list")
        return [model_of(each, kind[5:-1], f"{where}[{i}]") for i, each in enumerate(value)]
    if kind.startswith("dict("):
        return {key: model_of(each, kind[5:-1].split(", ")[1], f"{where}.{key}") for key, each in value.items()}
    if not hasattr(models, kind):
        plain = {"str": str, "int": int, "bool": bool}.get(kind, object)
        if not isinstance(value, plain) or plain is int and isinstance(value, bool):
            raise ValueError(f"{where}: {value!r} is not {kind}")
        return value
    model = getattr(models, kind)
    names = {key: name for name, key in model.attribute_map.items()}
    if unknown := set(value) - set(names):
        raise ValueError(f"{where}: {kind} has no {', '.join(sorted(unknown))}")
    parts = {names[key]: model_of(each, model.openapi_types[names[key]], f"{where}.{key}")
             for key, each in value.items()}
    return model(**parts)


def rendered(folder):
    done = subprocess.run(["kubectl", "kustomize", folder], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return list(yaml.safe_load_all(done.stdout))


def kubectl_knows_components():
    """Debian 12's kubectl does not: it is from 2020."""
    try:
        rendered(KUBERNETES / "lab")
    except (AssertionError, FileNotFoundError):
        return False
    return True


class Kubernetes(unittest.TestCase):
    def owners(self):
        """What has pods."""
        for path in sorted(KUBERNETES.glob("*/*.yaml")):
            if path.name != "kustomization.yaml":
                yield from (each for each in load_all(path) if each["kind"] in ("Deployment", "StatefulSet", "Job"))

    def parts(self):
        """(the pod's spec, its only container) of each."""
        for owner in self.owners():
            pod = owner["spec"]["template"]["spec"]
            (container,) = pod["containers"]
            yield pod, container

    def test_kustomizations_name_what_exists(self):
        for folder in (*KUBERNETES.glob("*"), *WITH_MAPS):
            file = load(folder / "kustomization.yaml")
            self.assertEqual(file["kind"], "Component" if folder.name in COMPONENTS else "Kustomization")
            made = [name for each in file.get("configMapGenerator", []) for name in each["files"]]
            for name in file.get("resources", []) + made:
                self.assertTrue((folder / name).exists(), f"{folder}: {name}")
                self.assertTrue(not (folder / name).is_dir() or (folder / name / "kustomization.yaml").exists(), name)

    def test_images_are_named_in_one_place(self):
        images = load(KUBERNETES / "lab/kustomization.yaml")["images"]
        self.assertIn(*load(KUBERNETES / "archive/kustomization.yaml")["images"], images)
        iqd, nats = load(POOL / "kustomization.yaml")["images"]
        self.assertIn(iqd, images)
        self.assertEqual({container["image"] for _, container in self.parts()},
                         {each["name"] for each in (*images, nats)})
        compose = {with_defaults(s["image"]) for s in load(HERE / "compose.yaml")["services"].values()}
        self.assertEqual({f"{each['newName']}:{each['newTag']}" for each in images}, compose)

    def test_everything_is_closed_that_is_not_needed(self):
        closed = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        for pod, container in self.parts():
            for each in (container, *pod.get("initContainers", [])):
                self.assertEqual(each["securityContext"], closed)
            self.assertIs(pod["securityContext"]["runAsNonRoot"], True)
            self.assertEqual(pod["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            self.assertIs(pod["automountServiceAccountToken"], False)

    def test_iqd_answers_its_probes(self):
        pod, container = next(each for each in self.parts() if each[1]["name"] == "iqd")
        routes = (ROOT / "daemon/http/http_routes.cpp").read_text(encoding="utf-8")
        listening = ports_of(load(HERE / "pipelines/example.yaml"))
        ports = {each["name"]: each["containerPort"] for each in container["ports"]}
        self.assertEqual(set(ports.values()), {port for port, outside in listening.items() if outside})
        for kind, path in (("startup", "/healthz"), ("readiness", "/readyz"), ("liveness", "/healthz")):
            self.assertEqual(container[f"{kind}Probe"]["httpGet"], {"path": path, "port": "http"})
            self.assertIn(f'"{path}"', routes)
        self.assertEqual(ports["http"], 9464)
        uid = int(re.search(r"u iqd (\d+) ", (ROOT / "tools/image").read_text(encoding="utf-8"))[1])
        self.assertEqual({pod["securityContext"][key] for key in ("runAsUser", "runAsGroup", "fsGroup")}, {uid})

    def test_a_job_runs_each_window(self):
        (job,) = load_all(KUBERNETES / "archive/job.yaml")
        spec = job["spec"]
        self.assertEqual(spec["completionMode"], "Indexed")
        window = spec["template"]["spec"]["containers"][0]["args"][-1]
        self.assertEqual(window, f"$(JOB_COMPLETION_INDEX)/{spec['completions']}")

    def test_a_worker_finds_its_files_and_answers_its_probes(self):
        (worker,) = load_all(POOL / "worker.yaml")
        pod = worker["spec"]["template"]["spec"]
        (container,), (init,) = pod["containers"], pod["initContainers"]
        keys = load(POOL / "config/worker.yaml")
        mounts = {each["mountPath"] for each in container["volumeMounts"]}
        for file in (keys["work"]["key"], keys["work"]["ca"], container["args"][-1]):
            self.assertIn(str(pathlib.PurePath(file).parent), mounts)
        self.assertEqual(pathlib.PurePath(container["args"][-1]).name, "worker.yaml")
        self.assertEqual(init["command"][-1], keys["work"]["key"])
        self.assertIn("--mode=0600", init["command"])
        for kind, path in (("startup", "/healthz"), ("readiness", "/readyz"), ("liveness", "/healthz")):
            self.assertEqual(container[f"{kind}Probe"]["httpGet"], {"path": path, "port": "http"})
        (port,) = container["ports"]
        self.assertEqual(keys["monitor"]["listen"], f"0.0.0.0:{port['containerPort']}")
        # It drains for up to 5 s.
        source = (ROOT / "daemon/work/work_daemon.cpp").read_text(encoding="utf-8")
        drain = re.search(r"kDrainNs = ([\d']+);", source)[1]
        self.assertGreater(pod["terminationGracePeriodSeconds"] * 1e9, int(drain.replace("'", "")))
        server, service = load_all(POOL / "nats.yaml")
        self.assertEqual(keys["work"]["servers"], [f"tls://{service['metadata']['name']}:4222"])
        self.assertEqual((server["spec"]["replicas"], server["spec"]["serviceName"]), (1, service["metadata"]["name"]))

    def test_a_pool_has_the_permissions_that_the_page_describes(self):
        config = (POOL / "config/server.conf").read_text(encoding="utf-8")
        page = (ROOT / "docs/hosts.md").read_text(encoding="utf-8")
        for name in ("for_home", "for_worker"):
            (block,) = re.findall(rf"^{name}: {{\n.*?^}}\n", config, re.MULTILINE | re.DOTALL)
            self.assertIn(block, page)
        for pool in load(POOL / "config/worker.yaml")["work"]["pools"]:
            for stream in ("todo", "done", "plan"):
                self.assertIn(f"IQD_{pool}_{stream}", config)

    @unittest.skipUnless(NATS_SERVER and shutil.which("openssl"), "nats-server or openssl is not installed")
    def test_the_server_reads_its_configuration(self):
        (server, _) = load_all(POOL / "nats.yaml")
        (container,) = server["spec"]["template"]["spec"]["containers"]
        config = (POOL / "config/server.conf").read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-subj", "/CN=nats", "-keyout",
                            f"{folder}/server.key", "-out", f"{folder}/server.pem"], capture_output=True, check=True)
            mounts = "|".join(each["mountPath"] for each in container["volumeMounts"])
            config = re.sub(rf'"(?:{mounts})(?=[/"])', f'"{folder}', config)
            path = pathlib.Path(folder, "server.conf")
            path.write_text(config, encoding="utf-8")
            done = subprocess.run([NATS_SERVER, "-t", "--config", path], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        ports = {int(port) for port in re.findall(r'"0\.0\.0\.0:(\d+)"', config)}
        self.assertEqual(ports, {each["containerPort"] for each in container["ports"]})

    def test_volumes_and_their_maps_exist(self):
        maps = {each["name"]: {pathlib.PurePath(file).name for file in each["files"]}
                for folder in WITH_MAPS for each in load(folder / "kustomization.yaml")["configMapGenerator"]}
        used = set()
        for pod, container in self.parts():
            self.assertEqual([v["name"] for v in pod["volumes"]], [m["name"] for m in container["volumeMounts"]])
            for volume in pod["volumes"]:
                sources = volume.get("projected", {}).get("sources", [volume])
                used |= {each["configMap"]["name"] for each in sources if "configMap" in each}
        self.assertEqual(used, set(maps))
        for folder in WITH_MAPS:
            for each in load(folder / "kustomization.yaml")["configMapGenerator"]:
                self.assertTrue(all((folder / file).is_file() for file in each["files"]), folder)
        self.assertIn("example.yaml", maps["iqd-pipelines"])
        self.assertEqual(set(load(HERE / "monitoring/prometheus.yml")["rule_files"]), maps["iqd-rules"])

    @unittest.skipUnless(models, "python3-kubernetes is not installed")
    def test_the_schema(self):
        for path in sorted(KUBERNETES.glob("*/*.yaml")):
            if path.name != "kustomization.yaml":
                for each in load_all(path):
                    model_of(each, f"V1{each['kind']}", path.name)
        with self.assertRaisesRegex(ValueError, "V1Probe has no httpget"):
            model_of({"httpget": {"port": 1}}, "V1Probe", "probe")
        with self.assertRaisesRegex(ValueError, "`port`"):
            model_of({"path": "/"}, "V1HTTPGetAction", "probe")

    @unittest.skipUnless(kubectl_knows_components(), "no kubectl, or one from before 2021")
    def test_what_kubectl_makes_of_it(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("containers", "tools/prometheus", "tools/grafana"):
                shutil.copytree(ROOT / name, pathlib.Path(folder, name))
            lab = pathlib.Path(folder, "containers/kubernetes/lab")
            for wanted in [(), *((each,) for each in COMPONENTS), COMPONENTS]:
                file = load(KUBERNETES / "lab/kustomization.yaml") | {"components": [f"../{each}" for each in wanted]}
                (lab / "kustomization.yaml").write_text(yaml.safe_dump(file), encoding="utf-8")
                self.check_rendered(rendered(lab), wanted)

    def check_rendered(self, made, wanted):
        pods = {each["metadata"]["name"]: each["spec"]["template"]["spec"]
                for each in made if each["kind"] == "Deployment"}
        container = pods["iqd"]["containers"][0]
        self.assertEqual(container["image"], "localhost/iqd:latest")
        self.assertEqual("limits" in container["resources"], "gpu" in wanted)
        self.assertEqual(container["securityContext"].get("privileged", False), "usb" in wanted)
        self.assertEqual(container["securityContext"]["capabilities"].get("add", []),
                         ["SYS_NICE", "IPC_LOCK"] if "realtime" in wanted else [])
        self.assertEqual(pods["iqd"].get("hostNetwork", False), "hostnetwork" in wanted)
        for each in made:
            self.assertLess(len(json.dumps(each)), 260_000, "kubectl apply refuses annotations of 256 KiB")
            if models:
                model_of(each, f"V1{each['kind']}", each["metadata"]["name"])


if __name__ == "__main__":
    unittest.main()
