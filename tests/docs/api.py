#!/usr/bin/env python3
"""api.py OPENAPI.json PAGE.md [--write]: compares docs/reference/api.md with api/openapi.json; --write prints
it anew."""

import difflib
import json
import re
import sys

# Schemas whose fields have a page of their own.
PAGES = {"JobSpec": "job.md", "Data": "data.md", "Layer": "layers.md", "Loss": "losses.md",
         "Optimizer": "optimizers.md", "Schedule": "schedules.md"}
METHODS = ("get", "head", "post", "put", "patch", "delete")
GROUPS = (("Jobs", r"/v1/(jobs|compare)"), ("Datasets", r"/v1/datasets"), ("Published models", r"/v1/models"),
          ("Inference (KServe V2)", r"/v2"), ("Devices and the queue", r"/v1/(devices|queue)"),
          ("The daemon itself", r""))


class Contract:
    def __init__(self, document):
        self.document = document

    def resolved(self, node):
        while "$ref" in node:
            target = self.document
            for name in node["$ref"].removeprefix("#/").split("/"):
                target = target[name]
            node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
        return node


def cell(text):
    return re.sub(r"\s+", " ", str(text)).replace("|", "\\|").strip()


def anchor(heading):
    """The name that GitHub gives to a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def words(values):
    return " or ".join(f"`{json.dumps(value)}`" for value in values)


def type_of(schema):
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{anchor(name)})"
    if "const" in schema:
        return words([schema["const"]])
    if "enum" in schema:
        return words(schema["enum"])
    for key in ("oneOf", "anyOf", "allOf"):
        if key in schema:
            return (" and " if key == "allOf" else " or ").join(dict.fromkeys(map(type_of, schema[key])))
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(type_of({**schema, "type": one}) if one != "null" else "null" for one in kind)
    if kind == "array":
        return "list of " + type_of(schema.get("items", {})) + limits(schema)
    return kind + limits(schema)


def limits(schema):
    kind = schema.get("type")
    said = ""
    if "minimum" in schema and "maximum" in schema:
        said = f", {schema['minimum']:g} to {schema['maximum']:g}"
    elif "minimum" in schema:
        said = f", at least {schema['minimum']:g}"
    elif "maximum" in schema:
        said = f", at most {schema['maximum']:g}"
    if "maxLength" in schema:
        said += f", at most {schema['maxLength']} characters"
    if "maxItems" in schema:
        said += f", at most {schema['maxItems']}"
    if "default" in schema and kind != "object":
        said += f"; default `{json.dumps(schema['default'])}`"
    return said


def fields(contract, schema, prefix=""):
    """(name, type, required, description) of each field, nested objects' fields with a dot."""
    schema = contract.resolved(schema) if not prefix else schema
    for name, field in schema.get("properties", {}).items():
        yield prefix + name, type_of(field), name in schema.get("required", ()), field.get("description", "")
        inner = field
        if inner.get("type") == "array" and isinstance(inner.get("items"), dict):
            inner = inner["items"]
            if "properties" in inner:
                yield from fields(contract, inner, f"{prefix}{name}[].")
        elif "properties" in inner:
            yield from fields(contract, inner, f"{prefix}{name}.")


def operation_print(contract, path, method, item, operation, out):
    out.append(f"### {method.upper()} {path}\n")
    out.append(f"{operation.get('summary', '').rstrip('.')}.\n")
    if operation.get("description"):
        out.append(f"{operation['description']}\n")
    parameters = [contract.resolved(one) for one in item.get("parameters", []) + operation.get("parameters", [])]
    if parameters:
        out.append("| parameter | in | | |\n|---|---|---|---|")
        for one in parameters:
            what = cell(type_of(one.get("schema", {}))) + (", required" if one.get("required") else "")
            out.append(f"| `{one['name']}` | {one['in']} | {what} | {cell(one.get('description', ''))} |")
        out.append("")
    if "requestBody" in operation:
        body = contract.resolved(operation["requestBody"])
        takes = [f"`{media}`" + shown(content) for media, content in body.get("content", {}).items()]
        out.append("Body: " + "; ".join(takes) + ".\n")
    out.append("| answer | | |\n|---|---|---|")
    problems = []
    for status, response in operation["responses"].items():
        if response.get("$ref", "").endswith("/Problem"):
            problems.append(status)
            continue
        response = contract.resolved(response)
        gives = [f"`{media}`" + shown(content) for media, content in response.get("content", {}).items()]
        out.append(f"| {status} | {cell('; '.join(gives))} | {cell(response.get('description', ''))}"
                   + "".join(f"; `{name}`" for name in response.get("headers", {})) + " |")
    named = [status for status in problems if status != "default"]
    if problems:
        out.append(f"| {', '.join(named) or 'any other'} | `application/problem+json`: [Problem](#problem) | |")
    out.append("")


def shown(content):
    """The schema behind a media type, where it has a name or fields."""
    schema = content.get("schema", {})
    return ": " + type_of(schema) if "$ref" in schema or "oneOf" in schema or schema.get("type") == "array" else ""


def schema_print(contract, name, schema, out):
    out.append(f"### {name}\n")
    if schema.get("description"):
        out.append(f"{schema['description'].rstrip('.')}.\n")
    if name in PAGES:
        out.append(f"Its fields: [{PAGES[name].removesuffix('.md')}]({PAGES[name]}).\n")
        return
    rows = list(fields(contract, schema))
    if not rows:
        out.append(f"{type_of(schema)}\n")
        return
    out.append("| field | type | |\n|---|---|---|")
    for field, kind, required, description in rows:
        note = description if required or not description else f"{description}; not always there"
        out.append(f"| `{field}` | {cell(kind)} | {cell(note if description else '' if required else 'not always there')} |")
    out.append("")


def index_print(document, out):
    """Every operation in a line."""
    out.append("| operation | |\n|---|---|")
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                heading = f"{method.upper()} {path}"
                first = re.split(r"(?<=[.:;]) ", item[method].get("summary", ""))[0].rstrip(".:;")
                out.append(f"| [{heading}](#{anchor(heading)}) | {cell(first)} |")
    out.append("")


def page(document):
    contract = Contract(document)
    out = ["# The API\n", "<!-- Printed by tests/docs/api.py from api/openapi.json: change that. -->\n",
           f"Version {document['info']['version']}. The daemon serves this contract itself, as `/openapi.json`. How to "
           "use it:\n[guide](../guide.md); every field of a job: [job](job.md). With `--token-file`, requests carry "
           "`Authorization: Bearer TOKEN`.\n"]
    index_print(document, out)
    left = dict(document["paths"])
    for title, pattern in GROUPS:
        mine = [path for path in left if re.match(pattern, path)]
        if not mine:
            continue
        out.append(f"## {title}\n")
        for path in mine:
            item = left.pop(path)
            for method in METHODS:
                if method in item:
                    operation_print(contract, path, method, item, item[method], out)
    out.append("## Schemas\n")
    for name, schema in sorted(document["components"]["schemas"].items()):
        schema_print(contract, name, schema, out)
    return "\n".join(out).rstrip("\n") + "\n"


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        fresh = page(json.load(file))
    if sys.argv[3:] == ["--write"]:
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            file.write(fresh)
        return
    with open(sys.argv[2], encoding="utf-8") as file:
        stored = file.read()
    if stored != fresh:
        sys.stdout.writelines(list(difflib.unified_diff(stored.splitlines(True), fresh.splitlines(True),
                                                        sys.argv[2], sys.argv[1]))[:60])
        sys.exit(f"run: tests/docs/api.py {sys.argv[1]} {sys.argv[2]} --write")


if __name__ == "__main__":
    main()
