#!/usr/bin/env python3
"""canary.py: a lint that finds nothing proves nothing. Plants one violation after the other in a
small clean tree, and fails unless the rule finds it there, and found nothing before."""

import os
import subprocess
import sys
import tempfile

LINT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lint.py")


def header(path, inside="int ep_x(void);"):
    guard = "EP_" + path.upper().replace("/", "_").replace(".", "_")
    return f"#ifndef {guard}\n#define {guard}\n\n{inside}\n\n#endif\n"


CLEAN = {
    ".clang-format": "BasedOnStyle: LLVM\n",
    "api/status.h": header("api/status.h"),
    "kernels/program.h": header("kernels/program.h", '#include "api/status.h"'),
    "engine/plan.h": header("engine/plan.h", '#include "kernels/program.h"'),
    "server/main.c": '/* system("no"): a comment, not a call */\n#include <microhttpd.h>\n\n'
                     '#include "engine/plan.h"\nconst char *text = "atoi(x)";\n',
    "tests/one.sh": '#!/usr/bin/env bash\necho "$1"\n',
}

# (rule, file, its content)
PLANTED = [
    ("arrows", "api/status.c", '#include "engine/plan.h"\n'),
    ("arrows", "kernels/cpu/fused.c", '#include "engine/plan.h"\n'),
    ("arrows", "kernels/cpu/fused.c", '#include "api/spec.h"\n'),
    ("arrows", "kernels/cpu/fused.c", "#include <cuda_runtime.h>\n"),
    ("arrows", "kernels/cuda/graph.cu", '#include "kernels/cpu/fused.h"\n'),
    ("arrows", "engine/plan.c", '#include "engine/train.h"\n'),
    ("arrows", "engine/data/csv.c", '#include "kernels/cpu/fused.h"\n'),
    ("arrows", "engine/train.c", "#include <jansson.h>\n"),
    ("arrows", "engine/train.c", '#include "server/jobs.h"\n'),
    ("arrows", "engine/train.cu", "\n"),
    ("arrows", "server/store.c", '#include "engine/train.h"\n'),
    ("arrows", "server/store.c", '#include "kernels/backend.h"\n'),
    ("arrows", "server/store.c", "#include <jansson.h>\n"),
    ("arrows", "engine/worker.c", "#include <sqlite3.h>\n"),
    ("arrows", "clients/epochctl/run.c", '#include "server/http.h"\n'),
    ("arrows", "clients/epochctl/run.c", '#include "engine/plan.h"\n'),
    ("arrows", "clients/epochctl/run.c", "#include <microhttpd.h>\n"),
    ("arrows", "api/job.c", "#include <curl/curl.h>\n"),
    ("arrows", "api/job.c", "  #  include <microhttpd.h>\n"),
    ("arrows", "elsewhere/x.c", "\n"),
    ("length", "server/store.c", "\n" * 600),
    ("banned", "server/store.c", "void f(char *a) {\n  strcpy(a, a);\n}\n"),
    ("banned", "server/store.c", "int f(char *a) { return atoi (a); }\n"),
    ("guards", "server/store.h", "int f(void);\n"),
    ("guards", "server/store.h", header("server/other.h")),
    ("guards", "server/store.h", header("server/store.h") + "int outside;\n"),
    ("paths", "server/store.c", 'const char *path = "/ho' 'me/someone/data";\n'),
    ("paths", "docs/guide.md", "see ../sh" "ared/data\n"),
    ("unfinished", "server/store.c", "/* TO" "DO: the rest */\n"),
    ("format", "server/store.c", "int    f( void ) ;\n"),
    ("shell", "tests/two.sh", '#!/usr/bin/env bash\ncd "$1"\nrm -rf $undefined_thing/*\n'),
]


def lint(rule, tree):
    return subprocess.run([sys.executable, LINT, rule, tree], capture_output=True, text=True)


def write(tree, files):
    for path, text in files.items():
        os.makedirs(os.path.dirname(os.path.join(tree, path)) or tree, exist_ok=True)
        with open(os.path.join(tree, path), "w", encoding="utf-8") as out:
            out.write(text)


def main():
    failures = 0
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
                if done.returncode != 1 or path + ":" not in done.stdout:
                    failures += 1
                    print(f"{rule}: did not find what was planted in {path}: {text!r}"[:300])
    print(f"{len(PLANTED)} planted, {failures} missed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
