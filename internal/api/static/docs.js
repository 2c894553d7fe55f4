// The API's documentation page: shows /api/openapi.json and lets methods be
// tried. Everything is put in as text, nothing as HTML; nothing is stored.
"use strict";

const byId = (id) => document.getElementById(id);

// make builds an element: attributes, then children (strings become text).
function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

// rich turns `code` in a text into elements; all else stays text.
function rich(text) {
  const p = make("p", { class: "text" });
  text.split("`").forEach((part, i) => p.append(i % 2 ? make("code", {}, part) : part));
  return p;
}

const nameOf = (ref) => ref.split("/").pop();

// typeOf describes a schema in a cell: its type, linked when it has a name.
function typeOf(schema) {
  if (schema.$ref) return make("a", { href: "#schema-" + nameOf(schema.$ref) }, nameOf(schema.$ref));
  if (schema.type === "array") return make("span", {}, "list of ", typeOf(schema.items));
  const detail = schema.format || schema.contentEncoding;
  return make("span", {}, detail ? schema.type + " (" + detail + ")" : schema.type);
}

function fields(schema) {
  const rows = Object.entries(schema.properties || {}).map(([name, s]) =>
    make("tr", {}, make("td", {}, make("code", {}, name)), make("td", {}, typeOf(s)), make("td", {}, rich(s.description || ""))));
  if (!rows.length) return make("p", {}, "No fields.");
  return make("table", {},
    make("thead", {}, make("tr", {}, make("th", {}, "Field"), make("th", {}, "Type"), make("th", {}, "Meaning"))),
    make("tbody", {}, ...rows));
}

const pretty = (value) => JSON.stringify(value, null, 2);

// examples shows calls with their answers; a refusal is shown without its request.
function examples(op) {
  const asked = op.requestBody.content["application/json"].examples || {}, shown = [];
  for (const [status, answer] of Object.entries(op.responses)) {
    for (const [name, e] of Object.entries(answer.content?.["application/json"].examples || {})) {
      shown.push(make("h4", {}, "Example: " + e.summary));
      if (asked[name] && status === "200") shown.push(make("pre", {}, pretty(asked[name].value)));
      shown.push(make("p", {}, status === "200" ? "is answered with" : "is refused with status " + status), make("pre", {}, pretty(e.value)));
    }
  }
  return make("details", {}, make("summary", {}, "Examples"), ...shown);
}

async function send(path, text, out) {
  const headers = { "Content-Type": "application/json" };
  const token = byId("token").value.trim();
  if (token) headers.Authorization = "Bearer " + token;
  out.textContent = "…";
  try {
    const r = await fetch(path, { method: "POST", headers, body: text, credentials: "omit" });
    const body = await r.text();
    let shown = body;
    try { shown = pretty(JSON.parse(body)); } catch { /* shown as it is */ }
    out.textContent = r.status + " " + r.statusText + "\n\n" + shown;
  } catch (e) {
    out.textContent = String(e);
  }
}

function tryIt(path, op) {
  const text = make("textarea", { spellcheck: "false", "aria-label": "Request" });
  const [example] = Object.values(op.requestBody.content["application/json"].examples || {});
  text.value = pretty(example ? example.value : {});
  const out = make("pre", { "aria-live": "polite" }, "");
  const button = make("button", { type: "button" }, "Send");
  button.addEventListener("click", () => send(path, text.value, out));
  return make("details", {}, make("summary", {}, "Try it"), text, button, out);
}

function method(doc, path, op) {
  const request = op.requestBody.content["application/json"].schema;
  const response = op.responses["200"].content["application/json"].schema;
  return make("section", { class: "method", id: op.operationId },
    make("h3", {}, make("a", { href: "#" + op.operationId }, op.summary)),
    make("p", {}, make("code", {}, "POST " + path)),
    rich(op.description || ""),
    make("h4", {}, "Request"), fields(doc.components.schemas[nameOf(request.$ref)]),
    make("h4", {}, "Response"), fields(doc.components.schemas[nameOf(response.$ref)]),
    examples(op), tryIt(path, op));
}

function schemaSection(name, schema) {
  const s = make("section", { class: "method", id: "schema-" + name }, make("h3", {}, name), rich(schema.description || ""));
  s.append(schema.enum ? make("p", {}, ...schema.enum.flatMap((v) => [make("code", {}, v), " "])) : fields(schema));
  return s;
}

function show(doc) {
  const main = byId("main"), index = byId("index"), used = new Set();
  byId("about").replaceWith(rich(doc.info.description), make("p", {}, make("a", { href: "/api/openapi.json" }, "openapi.json")));
  for (const tag of doc.tags) {
    main.append(make("h2", {}, tag.name), rich(tag.description || ""));
    index.append(make("h2", {}, tag.name));
    for (const [path, item] of Object.entries(doc.paths)) {
      const op = item.post;
      if (!op.tags.includes(tag.name)) continue;
      for (const c of [op.requestBody, op.responses["200"]]) used.add(nameOf(c.content["application/json"].schema.$ref));
      main.append(method(doc, path, op));
      index.append(make("a", { href: "#" + op.operationId }, op.summary));
    }
  }
  main.append(make("h2", {}, "Errors"), rich(doc.components.responses.Error.description));
  main.append(make("h2", {}, "Types"));
  for (const [name, schema] of Object.entries(doc.components.schemas)) {
    if (!used.has(name)) main.append(schemaSection(name, schema));
  }
  byId("find").addEventListener("input", (e) => {
    const wanted = e.target.value.toLowerCase();
    for (const a of index.querySelectorAll("a")) a.hidden = !a.textContent.toLowerCase().includes(wanted);
  });
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

fetch("/api/openapi.json").then((r) => r.json()).then(show).catch((e) => { byId("about").textContent = String(e); });
