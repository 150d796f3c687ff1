"use strict";
// The page asks for the status each second, and makes rates of the differences of counters. It only reads.

const PERIOD_MS = 1000;
const POINTS = 120;
const element = (id) => document.getElementById(id);
let before = null;
const history = { rate: [], cut: [] };

function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) { count /= 1024; unit += 1; }
  return `${unit === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${units[unit]}`;
}

function micros(time) {
  if (time < 1000) return `${time < 10 ? time.toFixed(1) : Math.round(time)} µs`;
  if (time < 1e6) return `${(time / 1000).toFixed(time < 1e4 ? 1 : 0)} ms`;
  return `${(time / 1e6).toFixed(1)} s`;
}

function seconds(time) {
  if (time < 120) return `${Math.round(time)} s`;
  if (time < 7200) return `${Math.round(time / 60)} min`;
  return time < 172800 ? `${Math.round(time / 3600)} h` : `${Math.round(time / 86400)} days`;
}

const number = (count) => (count >= 1e5 ? `${(count / 1e6).toFixed(2)} M` : Math.round(count).toLocaleString("en"));

function make(name, content, className) {
  const made = document.createElement(name);
  if (content instanceof Node) made.append(content);
  else if (content !== undefined && content !== null) made.textContent = String(content);
  if (className) made.className = className;
  return made;
}

const pair = ([name, value, warns]) => [make("dt", name), make("dd", value, warns ? "warn" : "")];

function pairs(id, list) {
  element(id).replaceChildren(...list.flatMap(pair));
}

function tiles(id, list) {
  const tile = (item) => {
    const made = make("div");
    made.append(...pair(item));
    return made;
  };
  element(id).replaceChildren(...list.map(tile));
}

const counted = (count, name) => `${number(count)} ${name}${count === 1 ? "" : "s"}`;

// Columns: [title, function of a row, class]. Nothing that came from a client is ever read as HTML.
function table(id, columns, rows, none) {
  const head = make("tr");
  head.append(...columns.map(([title, , kind]) => make("th", title, kind === "number" ? kind : "")));
  const body = rows.map((row) => {
    const line = make("tr");
    line.append(...columns.map(([, value, kind]) => make("td", value(row), kind)));
    return line;
  });
  if (rows.length === 0) {
    const cell = make("td", none);
    cell.colSpan = columns.length;
    const line = make("tr");
    line.append(cell);
    body.push(line);
  }
  const top = make("thead", head);
  const rest = make("tbody");
  rest.append(...body);
  element(id).replaceChildren(top, rest);
}

function chart(id, points) {
  const most = Math.max(...points, 1);
  const place = (point, index) => `${((index + POINTS - points.length) * 300 / (POINTS - 1)).toFixed(1)},${(38 - 36 * point / most).toFixed(1)}`;
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  line.setAttribute("points", points.map(place).join(" "));
  element(id).replaceChildren(line);
}

function push(list, point) {
  list.push(point);
  if (list.length > POINTS) list.shift();
}

const PROMISES = {
  applied: "A reply means: applied. The death of the process alone takes nothing.",
  synced: "A reply means: synced. What clients were answered is not among it.",
  none: "A reply promises nothing about power cuts.",
};

function show(status) {
  const { server, totals, durability, engine, snapshots } = status;
  const elapsed = before ? Math.max((status.now_ms - before.now_ms) / 1000, 0.001) : 0;
  const same = before && before.server.run_id === server.run_id;
  const rate = (name) => (same ? Math.max(totals[name] - before.totals[name], 0) / elapsed : 0);
  element("about").textContent =
    `${server.version} · port ${server.port} · ${counted(server.workers, "worker")} · up ${seconds(server.uptime_s)} · user ${status.user}`;
  const takes = durability.pending_bytes > 0;
  element("cut-time").textContent = takes ? micros(durability.pending_us) : "nothing";
  element("cut-bytes").textContent = takes ? bytes(durability.pending_bytes) : "";
  element("cut-note").textContent = PROMISES[durability.acknowledge] || "";
  push(history.cut, durability.pending_bytes);
  push(history.rate, rate("commands"));
  chart("cut-chart", history.cut);
  chart("rate-chart", history.rate);
  tiles("now", [
    ["commands/s", number(rate("commands"))],
    ["errors/s", number(rate("errors")), rate("errors") > 0],
    ["in/s", bytes(rate("input_bytes"))],
    ["out/s", bytes(rate("output_bytes"))],
    ["clients", `${totals.clients}`],
    ["blocked", `${totals.blocked}`],
    ["refused", number(totals.denied), totals.denied > 0],
    ["syncs/s", number(rate("syncs"))],
  ]);
  pairs("epochs", [
    ["active epoch", durability.active],
    ["durable epoch", durability.durable],
    ["end of epoch waits", durability.waiting_operations > 0 ? `${durability.waiting_ms} ms for ${durability.waiting_operations}` : "no", durability.waiting_ms > 1000],
    ["longest wait", micros(durability.longest_wait_us)],
    ["longest sync", micros(durability.longest_sync_us)],
    ["writes throttled", number(durability.throttled_writes), durability.throttled_writes > 0],
    ["log written", bytes(engine.log_bytes)],
    ["log entries", number(engine.log_entries)],
    ["largest entry", bytes(engine.largest_entry_bytes)],
    ["checkpoints", number(engine.checkpoints)],
    ["written by checkpoints", bytes(engine.write_back_bytes)],
  ]);
  pairs("disk", [
    ["files on disk", bytes(engine.disk_bytes)],
    ["records", `${number(engine.records)} · ${bytes(engine.record_bytes)}`],
    ["leaves", `${number(engine.leaves)} · ${bytes(engine.leaf_bytes)}`],
    ["files in memory", bytes(engine.resident_bytes)],
    ["of these in huge pages", bytes(engine.huge_page_bytes)],
    ["memory of the process", bytes(server.memory_bytes)],
    ["reads that waited for disk", number(engine.major_faults)],
    ["writes that grew a file", number(engine.grow_stalls)],
    ["expired keys removed", number(totals.expired)],
  ]);
  pairs("snapshots", [
    ["open", snapshots.open],
    ["oldest", snapshots.open ? seconds(snapshots.oldest_ms / 1000) : "–"],
    ["memory held", bytes(snapshots.memory_bytes)],
    ["replaced records held", bytes(snapshots.record_bytes)],
  ]);
  pairs("keyspaces", status.keyspaces.map(({ database, keys }) => [`db${database}`, counted(keys, "key")]));
  tables(status, same ? before : null, elapsed);
  before = status;
}

function tables(status, last, elapsed) {
  const calls = new Map(last ? last.commands.map((command) => [command.name, command.calls]) : []);
  const rate = (command) => (last ? Math.max(command.calls - (calls.get(command.name) || 0), 0) / elapsed : 0);
  const rows = [...status.commands].sort((one, other) => rate(other) - rate(one) || other.calls - one.calls).slice(0, 40);
  table("commands", [
    ["command", (row) => row.name],
    ["calls/s", (row) => number(rate(row)), "number"],
    ["calls", (row) => number(row.calls), "number"],
    ["errors", (row) => number(row.failed), "number"],
    ["mean", (row) => micros(row.nanos / 1000 / Math.max(row.calls, 1)), "number"],
    ["p50", (row) => micros(row.p50_us), "number"],
    ["p99", (row) => micros(row.p99_us), "number"],
    ["p99.9", (row) => micros(row.p999_us), "number"],
    ["longest", (row) => micros(row.longest_us), "number"],
  ], rows, "no command yet");
  table("slow", [
    ["request", (row) => row.request],
    ["when", (row) => new Date(row.time_s * 1000).toISOString().slice(11, 19)],
    ["took", (row) => micros(row.micros), "number"],
    ["command", (row) => row.words, "words"],
    ["client", (row) => [row.address, row.name].filter(Boolean).join(" ")],
  ], status.slow ?? [], status.slow ? `none took longer than ${micros(status.totals.slower_than_us)}` : "not for this user");
  table("clients", [
    ["id", (row) => row.id, "number"],
    ["address", (row) => row.address],
    ["user", (row) => row.user],
    ["name", (row) => row.name || row.library],
    ["db", (row) => row.database, "number"],
    ["last", (row) => (row.is_blocked ? `${row.command} (waits)` : row.command)],
    ["idle", (row) => seconds(row.idle_s), "number"],
    ["age", (row) => seconds(row.age_s), "number"],
    ["worker", (row) => row.worker, "number"],
  ], status.clients ?? [], status.clients ? "none" : "not for this user");
}

async function poll() {
  try {
    const answer = await fetch("/status.json");
    if (!answer.ok) throw new Error(await answer.text());
    show(await answer.json());
    element("state").textContent = "live";
    element("state").className = "";
  } catch (error) {
    element("state").textContent = `not live: ${error.message}`;
    element("state").className = "lost";
  }
  setTimeout(poll, PERIOD_MS);
}

const digits = (text) => [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
let page = { database: 0, prefix: "", last: "" };

async function showKeys(after) {
  const query = new URLSearchParams({ db: page.database, prefix: digits(page.prefix), after, limit: 50 });
  const answer = await fetch(`/keys.json?${query}`);
  if (!answer.ok) {
    element("keys-note").textContent = await answer.text();
    return;
  }
  const { keys, more } = await answer.json();
  page.last = keys.length > 0 ? keys[keys.length - 1].id : "";
  element("next").disabled = !more;
  element("first").disabled = after === "";
  element("keys-note").textContent = `${counted(keys.length, "key")}${more ? ", more follow" : ""}`;
  const button = (row) => {
    const made = make("button", row.key === "" ? "(empty)" : row.key);
    made.type = "button";
    made.addEventListener("click", () => showValue(row));
    return made;
  };
  table("keys", [
    ["key", button],
    ["type", (row) => row.type],
    ["at rest", (row) => (row.bytes === null ? "–" : bytes(row.bytes)), "number"],
    ["expires", (row) => (row.ttl_ms >= 0 ? `in ${seconds(row.ttl_ms / 1000)}` : "–"), "number"],
  ], keys, "no key");
}

async function showValue(row) {
  const answer = await fetch(`/value.json?${new URLSearchParams({ db: page.database, key: row.id })}`);
  const text = answer.ok ? await answer.json() : null;
  element("value").hidden = false;
  element("value-title").textContent = text ? `${row.key}: ${text.type}, ${text.length}` : row.key;
  const shown = text && (Array.isArray(text.shown) ? text.shown.map((item) => (Array.isArray(item) ? item.join("  ") : item)).join("\n") : text.shown);
  element("value-text").textContent = text ? shown : await answer.text();
}

element("search").addEventListener("submit", (event) => {
  event.preventDefault();
  page = { database: Number(element("database").value) || 0, prefix: element("prefix").value, last: "" };
  showKeys("");
});
element("first").addEventListener("click", () => showKeys(""));
element("next").addEventListener("click", () => showKeys(page.last));
showKeys("");
poll();
