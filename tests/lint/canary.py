#!/usr/bin/env python3
"""canary.py: a lint that finds nothing proves nothing. Plants one violation after the other in a
small clean tree, and fails unless the rule finds it there, and found nothing before."""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LINT = os.path.join(HERE, "lint.py")


def header(path, inside="int ep_x(void);"):
    guard = "EP_" + path.upper().replace("/", "_").replace(".", "_")
    return f"#ifndef {guard}\n#define {guard}\n\n{inside}\n\n#endif\n"


CLEAN = {
    ".clang-format": "BasedOnStyle: LLVM\n",
    "api/CMakeLists.txt": "ep_library(ep_words status.c)\n",
    "api/status.h": header("api/status.h"),
    "api/status.c": '#include "api/status.h"\n',
    "kernels/program.h": header("kernels/program.h", '#include "api/status.h"'),
    "engine/plan/plan.h": header("engine/plan/plan.h", '#include "kernels/program.h"\n\n'
                                 "typedef struct ep_plan ep_plan;\n"
                                 "typedef enum { EP_PLAN_NONE, EP_PLAN_SOME } ep_plan_kind;\n"
                                 "struct ep_plan {\n  int rows;\n};"),
    "server/workers/CMakeLists.txt": "ep_library(ep_server_workers link.c)\n",
    "server/workers/link.c": '/* system("no"): a comment, not a call */\n#include "engine/plan/plan.h"\n'
                             'const char *text = "atoi(x)";\n'
                             "int ep_link_open(int socket) { return socket; }\n",
    "kernels/cuda/CMakeLists.txt": "function(ep_cuda_part name)\n  add_library(${name})\nendfunction()\n"
                                   "add_library(ep_backend_cuda plugin.c)\n",
    "kernels/cuda/plugin.c": "typedef struct ep_plan ep_plan;\n",
    **{f"kernels/formulas/f{i}.h": header(f"kernels/formulas/f{i}.h") for i in range(30)},
    "kernels/cuda/executors/grid/plan.h": header("kernels/cuda/executors/grid/plan.h"),
    "docs/adr/0001-one.md": "# 1. One\n\nStatus: accepted\n",
    "docs/adr/0002-two.md": "# 2. Two\n\nStatus: superseded by 1, 3 and 4\n",
    "tests/one.sh": '#!/usr/bin/env bash\necho "$1"\n',
}

# (rule, file, its content)
PLANTED = [
    ("arrows", "api/other.c", '#include "engine/plan/plan.h"\n'),
    ("arrows", "kernels/cpu/check.c", '#include "engine/plan/plan.h"\n'),
    ("arrows", "kernels/cpu/check.c", '#include "api/spec/spec.h"\n'),
    ("arrows", "kernels/cpu/check.c", "#include <cuda_runtime.h>\n"),
    ("arrows", "kernels/cpu/executors/fused/net.c", '#include "kernels/cpu/executors/blocked/net.h"\n'),
    ("arrows", "kernels/cuda/executors/crews/plan.c", '#include "kernels/cuda/executors/grid/plan.h"\n'),
    ("arrows", "kernels/cuda/layers/conv.cu", '#include "kernels/cuda/network/network.h"\n'),
    ("arrows", "kernels/cuda/layers/conv.cu", '#include "kernels/cpu/runtime/cpu.h"\n'),
    ("arrows", "engine/plan/cost.c", '#include "engine/training/train.h"\n'),
    ("arrows", "engine/data/formats/csv.c", '#include "kernels/cpu/runtime/cpu.h"\n'),
    ("arrows", "engine/training/train.c", "#include <jansson.h>\n"),
    ("arrows", "engine/training/train.c", '#include "server/jobs/jobs.h"\n'),
    ("arrows", "engine/training/train.cu", "\n"),
    ("arrows", "server/store/jobs.c", '#include "engine/training/train.h"\n'),
    ("arrows", "server/store/jobs.c", '#include "kernels/backend.h"\n'),
    ("arrows", "server/store/jobs.c", "#include <jansson.h>\n"),
    ("arrows", "server/jobs/queue.c", "#include <sqlite3.h>\n"),
    ("arrows", "server/jobs/queue.c", '#include "server/http/http.h"\n'),
    ("arrows", "engine/worker/main.c", "#include <sqlite3.h>\n"),
    ("arrows", "clients/epochctl/commands/run.c", '#include "server/http/http.h"\n'),
    ("arrows", "clients/epochctl/commands/run.c", '#include "engine/plan/plan.h"\n'),
    ("arrows", "clients/epochctl/commands/run.c", "#include <microhttpd.h>\n"),
    ("arrows", "api/responses/job.c", "#include <curl/curl.h>\n"),
    ("arrows", "api/responses/job.c", "  #  include <microhttpd.h>\n"),
    ("arrows", "api/more/x.c", "\n"),
    ("arrows", "elsewhere/x.c", "\n"),
    ("rooms", "api/forgotten.c", "\n"),
    ("rooms", "api/CMakeLists.txt", "ep_library(ep_words status.c)\nep_library(ep_more status.c)\n"),
    ("rooms", "engine/plan/CMakeLists.txt", "ep_library(ep_plan ../../api/status.c)\n"),
    ("rooms", "api/status.h", header("api/status.h", '#include "engine/plan/plan.h"')),
    ("rooms", "kernels/cuda/CMakeLists.txt", "add_library(ep_a plugin.c)\nadd_library(ep_b plugin.c)\n"),
    ("names", "server/workers/plan.h", "typedef struct {\n  int rows;\n} ep_plan;\n"),
    ("names", "server/workers/plan.h", "typedef int (*ep_plan)(int rows);\n"),
    ("names", "server/workers/plan.c", "static int ep_plan(void) {\n  return 0;\n}\n"),
    ("names", "server/workers/plan.c", "const ep_row ep_plan[2] = {{1}, {2}};\n"),
    ("names", "server/workers/plan.c", "enum { OTHER, EP_PLAN_SOME = 3 };\n"),
    ("names", "server/workers/open.c", "int ep_link_open(int (*call)(int)) { return call(0); }\n"),
    ("wide", "kernels/formulas/f9a.h", header("kernels/formulas/f9a.h")),
    ("length", "server/store/store.c", "\n" * 600),
    ("banned", "server/store/store.c", "void f(char *a) {\n  strcpy(a, a);\n}\n"),
    ("banned", "server/store/store.c", "int f(char *a) { return atoi (a); }\n"),
    ("sniffing", "server/jobs/gang.c", 'int f(const char *spec) { return strstr(spec, "x") != 0; }\n'),
    ("sniffing", "api/spec/slurm.c", 'void *f(char *a, long n) { return memmem(a, n, "x", 1); }\n'),
    ("sniffing", "server/process/probe.c", "int nothing_is_searched;\n"),
    ("guards", "server/store/store.h", "int f(void);\n"),
    ("guards", "server/store/store.h", header("server/store/other.h")),
    ("guards", "server/store/store.h", header("server/store/store.h") + "int outside;\n"),
    ("paths", "server/store/store.c", 'const char *path = "/ho' 'me/someone/data";\n'),
    ("paths", "docs/guide.md", "see ../sh" "ared/data\n"),
    ("unfinished", "server/store/store.c", "/* TO" "DO: the rest */\n"),
    ("adrs", "docs/adr/0001-one.md", "# 1. One\n\nStatus: accepted\n" + "\n" * 58),
    ("adrs", "docs/adr/0001-one.md", "# 1. One\n\nStatus: accepted\n\n" + "long " * 25 + "\n"),
    ("adrs", "docs/adr/0001-one.md", "# 1. One\n\nStatus: superseded\n"),
    ("adrs", "docs/adr/0001-one.md", "# 1. One\n\nIt is accepted.\n"),
    ("format", "server/store/store.c", "int    f( void ) ;\n"),
    ("shell", "tests/two.sh", '#!/usr/bin/env bash\ncd "$1"\nrm -rf $undefined_thing/*\n'),
]


def lint(rule, tree):
    return subprocess.run([sys.executable, LINT, rule, tree], capture_output=True, text=True)


def write(tree, files):
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(tree, path)) or tree, exist_ok=True)
        with open(os.path.join(tree, path), "w", encoding="utf-8") as out:
            out.write(text)


def cycle_missed():
    """Builds two files that need each other, after two of which one needs the other."""
    calls = "int ep_{0}(void);\nint ep_{1}(void);\nint ep_{0}(void) {{ return ep_{1}(); }}\n"
    ends = "int ep_two(void);\nint ep_two(void) { return 2; }\n"
    codes = []
    with tempfile.TemporaryDirectory() as tree:
        folder = os.path.join(tree, "build", "api", "CMakeFiles", "ep_words.dir")
        os.makedirs(folder)
        for second in ends, calls.format("two", "one"):
            write(tree, {"api/one.c": calls.format("one", "two"), "api/two.c": second})
            for name in "one", "two":
                subprocess.run(["cc", "-c", os.path.join(tree, "api", name + ".c"), "-o",
                                os.path.join(folder, name + ".c.o")], check=True)
            codes.append(subprocess.run([sys.executable, os.path.join(HERE, "cycles.py"), tree, tree + "/build"],
                                        capture_output=True, text=True).returncode)
    if codes != [0, 1]:
        print(f"cycles: exits {codes}, not [0, 1]")
    return codes != [0, 1]


def main():
    failures = int(cycle_missed())
    for rule in sorted({rule for rule, _, _ in PLANTED}):
        with tempfile.TemporaryDirectory() as tree:
            write(tree, CLEAN)
            done = lint(rule, tree)
            if done.returncode == 77:
                print(f"{rule}: {done.stdout.strip()}")
                continue
            if done.returncode != 0:
                failures += 1
                print(f"{rule}: found something in a clean tree:\n{done.stdout}{done.stderr}")
        for planted_rule, path, text in PLANTED:
            if planted_rule != rule:
                continue
            with tempfile.TemporaryDirectory() as tree:
                write(tree, {**CLEAN, path: text})
                done = lint(rule, tree)
                if done.returncode != 1 or (path + ":" not in done.stdout and rule != "rooms"):
                    failures += 1
                    print(f"{rule}: did not find what was planted in {path}: {text!r}"[:300])
    print(f"{len(PLANTED) + 1} planted, {failures} missed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
