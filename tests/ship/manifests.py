#!/usr/bin/env python3
"""manifests.py TREE: holds docker/compose.yaml and docker/kubernetes against the image and the daemon.

They repeat facts of other files (the user, the port, the folders, the probes) and are compared with those. Exits 77 without the reader of YAML.
"""

import json
import os
import re
import shutil
import subprocess
import sys

try:
    import yaml
except ImportError:
    print("skipped: Python has no yaml")
    sys.exit(77)

if len(sys.argv) != 2:
    sys.exit(__doc__)
TREE = sys.argv[1]


def text(*path):
    with open(os.path.join(TREE, *path), encoding="utf-8") as file:
        return file.read()


def require(truth, what):
    if not truth:
        print(f"FAILED: {what}")
        sys.exit(1)


SETTINGS = json.loads(text("docker", "container.json"))
PORT = int(SETTINGS["listen"].rsplit(":", 1)[1])
USER = int(re.search(r"^user=(\d+)", text("docker", "image-root"), re.MULTILINE).group(1))
DOCKERFILE = text("docker", "Dockerfile")
SECRET = os.path.basename(SETTINGS["token_file"])


def check_image():
    """The Dockerfile's own repetitions."""
    for stage in ("cpu", "cuda"):
        part = re.split(r"^FROM ", DOCKERFILE.split(f"FROM scratch AS {stage}\n")[1], flags=re.MULTILINE)[0]
        for line in (f"USER {USER}:{USER}", f"EXPOSE {PORT}", f"VOLUME {SETTINGS['data_dir']}"):
            require(f"\n{line}\n" in part, f"the stage {stage} has no line {line!r}")
    version = re.search(r"project\(epochd VERSION (\S+)", text("CMakeLists.txt")).group(1)
    require(set(re.findall(r"^ARG VERSION=(\S+)", DOCKERFILE, re.MULTILINE)) == {version},
            f"the Dockerfile's VERSION is not the project's, {version}")
    require(f'"epochd {version}"' in text("docs", "epochd.8"), "the manual page is of another version")
    print("ok: the Dockerfile agrees with the settings in the image")


def check_compose():
    compose = yaml.safe_load(text("docker", "compose.yaml"))
    services = compose["services"]
    require(set(services) == {"epochd", "epochd-gpu"}, f"services: {sorted(services)}")
    require("profiles" not in services["epochd"], "the CPU's service is not the default")
    require(services["epochd-gpu"]["profiles"] == ["gpu"], "the GPU's service has no profile of its own")
    for name, service in services.items():
        build = service["build"]
        require(os.path.isfile(os.path.join(TREE, "docker", build["context"], build["dockerfile"])),
                f"{name}: there is no {build['dockerfile']}")
        require(f" AS {build['target']}\n" in DOCKERFILE, f"{name}: no stage {build['target']}")
        require(all(re.fullmatch(rf"127\.0\.0\.1:\d+:{PORT}", port) for port in service["ports"]),
                f"{name}: published beyond the loopback: {service['ports']}")
        require(service["read_only"] is True and service["cap_drop"] == ["ALL"] and
                service["security_opt"] == ["no-new-privileges:true"], f"{name}: it is not closed")
        volume, place = service["volumes"][0].split(":")
        require(volume in compose["volumes"] and place == SETTINGS["data_dir"], f"{name}: volume {volume}:{place}")
        require(service["secrets"] == [SECRET] and SECRET in compose["secrets"], f"{name}: secrets")
    require(services["epochd-gpu"]["deploy"]["resources"]["reservations"]["devices"][0]["capabilities"] == ["gpu"],
            "the GPU's service asks for no GPU")
    print("ok: the compose file agrees with the image, and publishes to this machine alone")


def check_restricted(pod):
    """Kubernetes's Pod security standard "restricted", and a read-only root."""
    context = pod["securityContext"]
    require(context["runAsNonRoot"] is True and context["runAsUser"] == USER and context["fsGroup"] == USER and
            context["seccompProfile"]["type"] == "RuntimeDefault", f"the Pod's securityContext: {context}")
    require(not any(pod.get(key) for key in ("hostNetwork", "hostPID", "hostIPC")), "the Pod sees its host")
    require(all(set(volume) - {"name"} <= {"secret", "configMap", "persistentVolumeClaim", "emptyDir"}
                for volume in pod["volumes"]), "the Pod mounts what it should not")
    for container in pod["containers"]:
        context = container["securityContext"]
        require(context["allowPrivilegeEscalation"] is False and context["readOnlyRootFilesystem"] is True and
                context["capabilities"] == {"drop": ["ALL"]} and not context.get("privileged"),
                f"the container's securityContext: {context}")


def check_stateful_set(made, claims, routes):
    spec = made["spec"]
    pod = spec["template"]["spec"]
    labels = spec["template"]["metadata"]["labels"]
    require(spec["replicas"] == 1, "more than one daemon for a folder")
    require(spec["selector"]["matchLabels"] == labels, "the set does not select its own Pods")
    check_restricted(pod)
    container = pod["containers"][0]
    require([port["containerPort"] for port in container["ports"]] == [PORT], f"ports: {container['ports']}")
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        get = container[probe]["httpGet"]
        row = re.search(rf'\{{"GET",\s*"{get["path"]}",[^}}]*?\bOPEN\b', routes)
        require(row and get["port"] == "http", f"{probe}: {get['path']} is no route that needs no token")
    require(container["readinessProbe"]["timeoutSeconds"] > 10, "/readyz may take 10 s")
    mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
    require(set(mounts) == set(claims) | {volume["name"] for volume in pod["volumes"]}, f"mounts: {sorted(mounts)}")
    require(mounts["jobs"]["mountPath"] == SETTINGS["data_dir"] and "jobs" in claims, "the data has no claim")
    require(mounts["token"]["mountPath"] == SETTINGS["token_file"] and mounts["token"]["subPath"] == SECRET,
            "the token lies elsewhere than the image looks")
    return labels


def check_kubernetes():
    documents = list(yaml.safe_load_all(text("docker", "kubernetes", "base", "epochd.yaml")))
    made = {document["kind"]: document for document in documents}
    require(set(made) == {"StatefulSet", "Service"}, f"kinds: {sorted(made)}")
    claims = {claim["metadata"]["name"] for claim in made["StatefulSet"]["spec"]["volumeClaimTemplates"]}
    labels = check_stateful_set(made["StatefulSet"], claims, text("server", "handlers", "routes.c"))
    service = made["Service"]
    require(service["spec"]["selector"] == labels, "the Service selects other Pods")
    require(made["StatefulSet"]["spec"]["serviceName"] == service["metadata"]["name"], "serviceName")
    require(service["spec"]["ports"][0]["port"] == PORT and service["spec"].get("type") in (None, "ClusterIP"),
            "the Service is more than the cluster's")
    print("ok: the Kubernetes manifest agrees with the image, and keeps to the standard \"restricted\"")


def check_overlay():
    if shutil.which("kubectl") is None:
        print("there is no kubectl: the GPU's overlay is not laid over the base here")
        return
    done = subprocess.run(["kubectl", "kustomize", os.path.join(TREE, "docker", "kubernetes", "gpu")],
                          capture_output=True, text=True)
    require(done.returncode == 0, f"kubectl kustomize: {done.stderr}")
    made = {document["kind"]: document for document in yaml.safe_load_all(done.stdout)}
    container = made["StatefulSet"]["spec"]["template"]["spec"]["containers"][0]
    require(container["image"] == "epochd:cuda" and container["resources"]["limits"]["nvidia.com/gpu"] == 1,
            f"the overlay gives {container['image']}, {container['resources']}")
    check_restricted(made["StatefulSet"]["spec"]["template"]["spec"])
    print("ok: the GPU's overlay takes the other image, and a GPU")


def laid_over(overlay):
    done = subprocess.run(["kubectl", "kustomize", os.path.join(TREE, "docker", "kubernetes", overlay)],
                          capture_output=True, text=True)
    require(done.returncode == 0, f"kubectl kustomize {overlay}: {done.stderr}")
    return {(document["kind"], document["metadata"]["name"]): document for document in yaml.safe_load_all(done.stdout)}


def check_workers():
    folder = ("docker", "kubernetes", "workers")
    worker = yaml.safe_load(text(*folder, "worker.yaml"))
    check_restricted(worker["spec"]["template"]["spec"])
    network = list(yaml.safe_load_all(text(*folder, "network.yaml")))
    require(network[1]["spec"]["podSelector"]["matchLabels"] == worker["spec"]["template"]["metadata"]["labels"],
            "the NetworkPolicy is of other Pods than the template's")
    rights = {document["kind"]: document for document in yaml.safe_load_all(text(*folder, "rights.yaml"))}
    verbs = {resource: rule["verbs"] for rule in rights["Role"]["rules"] for resource in rule["resources"]}
    require(verbs["secrets"] == ["create", "delete"], f"epochd may do more with Secrets: {verbs}")
    print("ok: a worker's template keeps to the standard \"restricted\", and epochd reads no Secret")
    if shutil.which("kubectl") is None:
        return
    made = laid_over("workers")
    pod = made["StatefulSet", "epochd"]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    check_restricted(pod)
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    require(("ConfigMap", volumes["worker"]["configMap"]["name"]) in made, f"the template's volume: {volumes['worker']}")
    port = network[0]["spec"]["ports"][0]["port"]
    require({"name": "workers", "containerPort": port} in container["ports"], f"ports: {container['ports']}")
    require(f"--kubernetes-address={network[0]['metadata']['name']}.epochd.svc:{port}" in container["args"] and
            f"--slurm-listen=0.0.0.0:{port}" in container["args"], f"arguments: {container['args']}")
    template = subprocess.run(["kubectl", "patch", "--local", "--filename", os.path.join(TREE, *folder, "worker.yaml"),
                               "--type=merge", "-p", "{}", "--output", "json"], capture_output=True, text=True)
    require(template.returncode == 0 and json.loads(template.stdout) == worker, f"the template: {template.stderr}")
    print("ok: the overlay for workers fits together, and kubectl reads the template")


check_image()
check_compose()
check_kubernetes()
check_overlay()
check_workers()
