"""rooms.py: the folders of the house, one row each: a folder is a library is a row.

A row says which other folders a folder's files may include, and which of the guarded system headers
(lint.py, GUARDED). "api kernels" means these folders' own files, not those of folders inside them.
A row with a star is one for each folder there; none of them may include another.
"""

# What everything may use: statuses, words, limits; a program, and what its layers are.
PROGRAM = "api kernels kernels/operators"
DATA = "engine/data/arrays engine/data/cells engine/data/datasets engine/data/dialect engine/files"
SERVER = "api api/json api/wire server/process server/metrics"
JOBS = SERVER + " server/store server/jobs server/jobs/placement server/jobs/live"
EXECUTOR = PROGRAM + " kernels/cache kernels/formulas kernels/plans kernels/cuda/device kernels/cuda/runtime " \
    "kernels/cuda/network kernels/cuda/layers kernels/cuda/executors"
SUBCOMMAND = "clients/epochctl/client clients/epochctl/commands clients/epochctl/http clients/epochctl/terminal"

ROOMS = {
    "api": ("", ""),
    "api/hash": ("api", ""),
    "api/json": ("api", "jansson"),
    "api/tokens": ("api api/hash api/json", "jansson"),
    "api/arguments": ("api api/json", ""),
    "api/spec": ("api api/json", "jansson"),
    "api/baseline": ("api api/json", "jansson"),
    "api/rates": ("api api/json", "jansson"),
    "api/wire": ("api api/json api/baseline api/rates", "jansson"),
    "api/sweep": ("api api/json api/spec api/wire", "jansson"),
    "api/responses": ("api api/json api/rates api/spec api/sweep api/wire", "jansson"),
    "api/webhooks": ("api api/json", ""),
    "api/inference": ("api api/json api/responses", "jansson"),

    "kernels": ("api", ""),
    "kernels/formulas": ("api kernels", ""),
    "kernels/operators": ("api kernels kernels/formulas", ""),
    "kernels/cache": ("api", ""),
    "kernels/plans": (PROGRAM + " kernels/formulas", ""),
    "kernels/cpu": (PROGRAM + " kernels/formulas kernels/cpu/runtime kernels/cpu/executors kernels/cpu/executors/blocked "
                    "kernels/cpu/executors/ranks kernels/cpu/plans", ""),
    "kernels/cpu/runtime": (PROGRAM, ""),
    "kernels/cpu/layers": (PROGRAM + " kernels/formulas", ""),
    "kernels/cpu/executors": (PROGRAM + " kernels/plans", ""),
    "kernels/cpu/executors/*": (PROGRAM + " kernels/formulas kernels/plans kernels/cpu/runtime kernels/cpu/layers "
                                "kernels/cpu/executors", ""),
    "kernels/cpu/plans": ("kernels/plans kernels/cpu/executors", ""),
    "kernels/cuda": (PROGRAM + " kernels/cuda/runtime kernels/cuda/network kernels/cuda/executors "
                     "kernels/cuda/plans kernels/cuda/population", "cuda"),
    "kernels/cuda/device": ("kernels kernels/formulas", "cuda"),
    "kernels/cuda/device/std": ("", ""),
    "kernels/cuda/runtime": (PROGRAM + " kernels/cache kernels/formulas kernels/plans kernels/cuda/device", "cuda"),
    "kernels/cuda/layers": ("kernels kernels/formulas kernels/cuda/device", "cuda"),
    "kernels/cuda/network": (PROGRAM + " kernels/formulas kernels/plans kernels/cuda/runtime kernels/cuda/layers",
                             "cuda"),
    "kernels/cuda/executors": (PROGRAM + " kernels/formulas kernels/plans kernels/cuda/runtime kernels/cuda/network",
                               "cuda"),
    "kernels/cuda/executors/*": (EXECUTOR + " kernels/cuda/executors/gemm/hopper", "cuda"),
    "kernels/cuda/executors/gemm/hopper": ("kernels/formulas kernels/cuda/device kernels/cuda/runtime "
                                           "kernels/cuda/layers", "cuda"),
    "kernels/cuda/population": (PROGRAM + " kernels/formulas kernels/plans kernels/cuda/device kernels/cuda/runtime "
                                "kernels/cuda/executors", "cuda"),
    "kernels/cuda/plans": ("kernels/plans kernels/cuda/executors", ""),

    "engine": ("api", ""),
    "engine/host": ("", ""),
    "engine/files": ("api api/hash api/json engine", ""),
    "engine/sandbox": ("", ""),
    "engine/tunnel": ("api api/hash api/wire engine/files", "gnutls"),
    "engine/protobuf": ("", ""),
    "engine/layers/onnx": ("kernels engine/protobuf", ""),
    "engine/layers/c": (PROGRAM, ""),
    "engine/layers": (PROGRAM + " kernels/formulas api/json api/spec engine/layers/c engine/layers/onnx", ""),
    "engine/plan": ("api api/json api/responses api/spec api/wire engine engine/layers kernels kernels/formulas kernels/operators kernels/plans "
                    "kernels/cpu/plans kernels/cuda/plans", ""),
    "engine/data/arrays": ("api api/json engine/files", ""),
    "engine/data/archives": ("api engine/files", ""),
    "engine/data/cells": ("api api/json", "utf8proc"),
    "engine/data/dialect": ("api api/json engine/data/cells engine/files", "jansson"),
    "engine/data/datasets": ("api api/hash api/json api/spec " + DATA, "jansson"),
    "engine/data/columns": ("api api/json api/spec " + DATA, "jansson"),
    "engine/data/pictures": ("api api/json engine/files", "png|jpeg"),
    "engine/data/tables": ("api api/json kernels " + DATA, ""),
    "engine/data/formats": ("api api/hash api/json engine/data/archives engine/data/pictures engine/data/tables " + DATA, "jansson"),
    "engine/data/inputs": ("api api/json engine/data/archives engine/data/cells engine/data/columns engine/data/dialect engine/data/formats "
                           "engine/data/pictures engine/data/tables engine/files", ""),
    "engine/data/sources": ("api api/json api/spec kernels engine/data/columns engine/data/formats " + DATA, ""),
    "engine/data/prepare": ("api api/baseline api/json api/spec kernels engine/plan engine/data/columns engine/data/sources " + DATA, ""),
    "engine/first_model": ("api api/baseline api/json api/spec kernels engine/files engine/plan engine/data/cells engine/data/columns engine/data/datasets "
                           "engine/data/prepare engine/data/sources", ""),
    "engine/weights": ("api api/hash api/json api/spec kernels kernels/operators engine engine/files engine/layers engine/layers/onnx "
                       "engine/plan engine/protobuf engine/data/columns engine/data/prepare", "jansson"),
    "engine/weights/c": ("api api/json api/spec kernels kernels/operators engine/files engine/layers engine/layers/c engine/plan engine/data/columns engine/data/prepare", ""),
    "engine/checkpoints": ("api api/hash api/json engine/files engine/plan engine/weights", ""),
    "engine/metrics": ("api api/wire kernels kernels/formulas engine engine/data/prepare", ""),
    "engine/plots": ("api api/json api/responses api/wire kernels kernels/formulas engine/data/columns engine/data/prepare engine/metrics engine/weights", ""),
    "engine/inspection": ("api api/wire kernels kernels/formulas kernels/operators kernels/cpu/layers", ""),
    "engine/training/rules": ("api api/rates api/spec", ""),
    "engine/training": ("api api/json api/spec api/wire kernels kernels/cache kernels/formulas kernels/operators kernels/plans engine engine/files engine/host "
                        "engine/plan engine/weights engine/checkpoints engine/data/columns engine/data/datasets "
                        "engine/data/prepare engine/inspection engine/metrics engine/training/rules", ""),
    "engine/search": (PROGRAM, ""),
    "engine/trials": ("api api/hash api/json api/sweep api/wire engine/files engine/search", ""),
    "engine/sweep": ("api api/json api/spec api/sweep api/wire engine kernels kernels/plans engine/files engine/plan engine/search "
                     "engine/trials engine/metrics engine/training engine/training/rules engine/data/datasets engine/data/prepare", ""),
    "engine/handovers": ("api api/hash api/wire engine/checkpoints engine/files", ""),
    "engine/worker/relay": ("api api/wire engine/files engine/handovers engine/tunnel", ""),
    "engine/worker": ("api api/sweep engine/sandbox engine/worker/relay engine/sweep api/arguments api/hash api/spec api/wire kernels engine/files engine/host engine/plan engine/metrics engine/plots engine/training engine/weights "
                      "engine/weights/c engine/checkpoints engine/data/prepare engine/data/sources", ""),

    "server/tls": ("api api/tokens", "gnutls"),
    "server/process": ("api api/arguments api/json engine/files engine/host server/tls", ""),
    "server/metrics": (SERVER + " engine/files", ""),
    "server/ingest": ("api api/hash api/json api/spec server/process engine/data/arrays engine/data/datasets engine/data/dialect engine/data/formats "
                      "engine/data/inputs engine/data/sources engine/files engine/sandbox", ""),
    "server/slurm": ("api api/json api/spec engine/files server/process", "jansson"),
    "server/kubernetes": ("api api/json server/slurm", "jansson"),
    "server/audit": ("api api/hash api/json engine/files server/process", ""),
    "server/store": (SERVER + " engine/files api/hash api/spec api/responses", "sqlite"),
    "server/backup": ("api api/hash api/wire engine/files server/audit server/process server/store", ""),
    "server/events": (SERVER + " engine/files", ""),
    "server/drawing": ("api api/json", ""),
    "server/curves": (SERVER + " api/responses engine/protobuf server/drawing server/events", ""),
    "server/plots": ("api api/json api/responses server/drawing", "jansson"),
    "server/slurm/control": ("api server/slurm", ""),
    "server/slurm/gateway": (SERVER + " api/hash api/spec api/sweep engine/files engine/handovers engine/tunnel server/kubernetes server/slurm server/slurm/control", ""),
    "server/workers": (SERVER + " engine/files engine/plan server/slurm server/slurm/control", ""),
    "server/webhooks": (SERVER + " api/tokens server/store server/webhooks/wire", ""),
    "server/webhooks/wire": ("api", ""),
    "server/webhooks/courier": ("api engine/sandbox server/webhooks/wire", "curl"),
    "server/datasets": (SERVER + " api/spec api/responses engine/files engine/data/datasets engine/data/sources "
                        "server/ingest server/store", ""),
    "server/jobs": ("api api/json api/spec api/responses api/wire engine/checkpoints engine/files server/slurm server/store server/events server/datasets", ""),
    "server/jobs/placement": ("api api/json api/responses api/spec engine/host engine/plan server/slurm server/store server/workers", ""),
    "server/jobs/files": (SERVER + " engine/files server/store server/events", ""),
    "server/jobs/live": ("api api/json api/spec api/sweep api/wire server/process server/slurm server/slurm/control server/store server/events server/datasets server/webhooks server/workers server/jobs "
                         "server/jobs/placement", ""),
    "server/jobs/results": (JOBS + " api/responses engine/checkpoints engine/data/columns engine/data/inputs engine/files engine/weights "
                            "server/ingest server/jobs/files",
                            "jansson"),
    "server/jobs/views": (JOBS + " server/slurm api/responses api/spec api/webhooks engine/data/datasets engine/data/prepare engine/files "
                          "engine/plan engine/trials", ""),
    "server/jobs/lifecycle": (JOBS + " server/jobs/views server/slurm server/slurm/control api/responses api/spec api/sweep engine/trials engine/checkpoints engine/files engine/weights engine/data/datasets engine/data/prepare engine/data/sources engine/first_model server/datasets "
                              "server/jobs/files server/plots", ""),
    "server/http/streams": ("api api/wire server/process server/metrics server/events server/jobs", "microhttpd"),
    "server/http/messages": (SERVER + " api/responses api/inference engine/files server/http/streams", ""),
    "server/http/access": ("api api/hash api/tokens server/process server/metrics server/http/messages", ""),
    "server/http/framing": ("api api/json server/process server/tls", "gnutls"),
    "server/http": (SERVER + " engine/files server/audit server/jobs server/http/streams server/http/messages server/http/access server/http/framing server/tls",
                    "gnutls|microhttpd"),
    "server/handlers": (SERVER + " api/responses api/inference engine/checkpoints engine/files engine/weights engine/weights/c engine/data/dialect engine/data/formats engine/data/inputs engine/data/sources "
                        "engine/data/datasets engine/host server/curves server/datasets server/jobs server/plots server/http server/http/messages", ""),
    "server/idle": (SERVER + " engine/data/datasets server/curves server/jobs", ""),
    "server/check": (SERVER + " api/hash api/spec engine engine/checkpoints engine/weights engine/files engine/trials engine/data/datasets engine/data/prepare "
                     "server/audit server/store server/events "
                     "server/datasets server/jobs/files", ""),
    "server": (SERVER + " server/audit server/check server/curves api/hash api/spec engine/data/sources engine/files engine/sandbox server/slurm/control server/slurm/gateway server/backup server/http server/ingest server/handlers server/idle server/jobs server/kubernetes server/slurm server/tls engine/data/datasets engine/host", ""),

    "clients/epochctl/terminal": ("api api/json api/wire", ""),
    "clients/epochctl/http": ("api api/json api/wire", "jansson|curl"),
    "clients/epochctl/input": ("api api/arguments api/json", "jansson"),
    "clients/epochctl/client": ("api api/arguments clients/epochctl/http clients/epochctl/terminal", "jansson"),
    "clients/epochctl/jobs": ("api api/arguments api/json clients/epochctl/client clients/epochctl/http clients/epochctl/input "
                              "clients/epochctl/terminal", "jansson"),
    "clients/epochctl/manual": ("api/arguments clients/epochctl/client", ""),
    "clients/epochctl/examples": ("", ""),
    "clients/epochctl/commands": (SUBCOMMAND + " api api/arguments api/hash api/json api/wire clients/epochctl/examples "
                                  "clients/epochctl/input clients/epochctl/jobs clients/epochctl/manual", ""),
    "clients/epochctl/commands/data": (SUBCOMMAND + " api", "jansson"),
    "clients/epochctl/commands/models": (SUBCOMMAND + " api clients/epochctl/jobs", ""),
    "clients/epochctl/commands/token": (SUBCOMMAND + " api api/hash api/tokens", ""),
    "clients/epochctl/commands/sweeps": (SUBCOMMAND + " api clients/epochctl/jobs", ""),
    "clients/epochctl": ("api/json clients/epochctl/terminal clients/epochctl/client clients/epochctl/manual "
                         "clients/epochctl/commands", "curl"),
}
