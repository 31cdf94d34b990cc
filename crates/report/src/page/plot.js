// Draws the accesses of one request on a canvas, and describes the cell under the pointer or the
// cursor. A request is decoded when it is first selected. The cells themselves are drawn and
// described, so zooming shows no finer detail. encode.rs writes the format that is read here.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const canvas = byId("plot");
const context = canvas.getContext("2d");
const dark = matchMedia("(prefers-color-scheme: dark)");
const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, "\u202f");

// The decoded request, and the part of it in view, in accesses and rows.
let shown = null;
let view = null;
// The cell of the request at the keyboard's cursor.
let cursor = null;

const STREAMS = ["fetches", "loads", "stores", "missedOne", "missedSplit", "owner"];

async function decode(request) {
  const packed = Uint8Array.from(atob(request.cells), (letter) => letter.charCodeAt(0));
  const unpacking = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const bytes = new Uint8Array(await new Response(unpacking).arrayBuffer());
  let place = 0;
  // Numbers with seven bits per byte, the lowest first (LEB128).
  const number = () => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[place++];
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  };
  const lines = new Float64Array(request.lines);
  let line = 0;
  for (let at = 0; at < lines.length; at++) lines[at] = line += number();
  const ends = new Uint32Array(request.columns);
  let cells = 0;
  for (let at = 0; at < ends.length; at++) ends[at] = cells += number();
  const rows = new Uint32Array(cells);
  for (let column = 0, at = 0; column < ends.length; column++) {
    for (let row = 0; at < ends[column]; at++) rows[at] = row += number();
  }
  const decoded = { ...request, lines, ends, rows };
  for (const name of STREAMS) {
    decoded[name] = new Uint32Array(cells);
    for (let at = 0; at < cells; at++) decoded[name][at] = number();
  }
  decoded.rowCount = Math.ceil(lines.length / request.lines_per_row);
  decoded.cells = null;
  return decoded;
}

function missesOf(at) {
  const kind = byId("view").value;
  if (kind === "one") return shown.missedOne[at];
  if (kind === "split") return shown.missedSplit[at];
  return 1;
}

// Returns the plot's position on the canvas: names of regions are left of it, if there is room.
function frame() {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const left = width < 600 ? 0 : 190;
  const top = 20;
  return { left, top, width: width - left, height: height - top - 22, all: width };
}

const across = (touch, box) =>
  box.left + ((touch - view.from) / (view.to - view.from)) * box.width;
const upwards = (row, box) =>
  box.top + box.height - ((row - view.low) / (view.high - view.low)) * box.height;

const stayEnd = (at) => (at + 1 < shown.stays.length ? shown.stays[at + 1][0] : shown.touches);

function colours() {
  const style = getComputedStyle(document.documentElement);
  return (name) => style.getPropertyValue("--" + name).trim();
}

function draw() {
  if (!shown) return;
  const box = frame();
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(box.all * scale);
  canvas.height = Math.round(canvas.clientHeight * scale);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  const colour = colours();
  context.fillStyle = colour("paper");
  context.fillRect(0, 0, box.all, canvas.clientHeight);
  drawCores(box, colour);
  context.save();
  context.beginPath();
  context.rect(box.left, box.top, box.width, box.height);
  context.clip();
  drawCells(box, colour);
  drawCursor(box, colour);
  context.restore();
  drawRegions(box, colour);
  context.fillStyle = colour("faint");
  context.font = "12px system-ui, sans-serif";
  context.textAlign = "left";
  const range = `accesses ${grouped(Math.round(view.from))} to ${grouped(Math.round(view.to))}`;
  context.fillText(range + " →", box.left + 2, box.top + box.height + 15);
}

function drawCores(box, colour) {
  shown.stays.forEach(([begins, core], at) => {
    const left = Math.max(across(begins, box), box.left);
    const right = Math.min(across(stayEnd(at), box), box.left + box.width);
    if (right <= left) return;
    context.globalAlpha = 0.2;
    context.fillStyle = colour("core" + (core % 8));
    context.fillRect(left, 0, right - left, box.top + box.height);
    context.globalAlpha = 1;
    context.font = "600 12px system-ui, sans-serif";
    context.textAlign = "left";
    const label = right - left > 50 ? "core " + core : String(core);
    if (right - left < 14) return;
    context.fillStyle = colour("ink");
    context.fillText(label, left + 4, 14);
  });
}

function drawCells(box, colour) {
  const step = shown.touches_per_column;
  const wide = Math.max(across(view.from + step, box) - box.left, 1);
  const high = Math.max(box.height / (view.high - view.low), 1);
  const paints = [colour("fetch"), colour("data")];
  const all = byId("view").value === "all";
  const first = Math.max(Math.floor(view.from / step), 0);
  const last = Math.min(Math.ceil(view.to / step), shown.ends.length);
  // Misses are drawn over hits, data over code.
  for (const misses of all ? [1] : [0, 1]) {
    context.globalAlpha = misses ? 1 : 0.12;
    for (const kind of [0, 1]) {
      context.fillStyle = paints[kind];
      for (let column = first; column < last; column++) {
        const x = across(column * step, box);
        for (let at = column ? shown.ends[column - 1] : 0; at < shown.ends[column]; at++) {
          const row = shown.rows[at];
          if (row + 1 < view.low || row > view.high) continue;
          if ((shown.fetches[at] ? 0 : 1) !== kind || (missesOf(at) ? 1 : 0) !== misses) continue;
          const y = upwards(row + 1, box);
          const size = all || !misses ? 0 : 1;
          context.fillRect(x - size / 2, y - size / 2, wide + size, high + size);
        }
      }
    }
  }
  context.globalAlpha = 1;
}

function drawCursor(box, colour) {
  if (cursor === null || document.activeElement !== canvas) return;
  const x = across((columnOf(cursor) + 0.5) * shown.touches_per_column, box);
  const y = upwards(shown.rows[cursor] + 0.5, box);
  context.strokeStyle = colour("ink");
  context.lineWidth = 1;
  context.strokeRect(x - 6, y - 6, 12, 12);
}

function drawRegions(box, colour) {
  const perRow = shown.lines_per_row;
  context.font = "12px system-ui, sans-serif";
  shown.regions.forEach(([first, name], at) => {
    const end = at + 1 < shown.regions.length ? shown.regions[at + 1][0] : shown.lines.length;
    const low = Math.min(upwards(first / perRow, box), box.top + box.height);
    const high = Math.max(upwards(end / perRow, box), box.top);
    if (low - high < 3) return;
    context.strokeStyle = colour("rule");
    context.beginPath();
    context.moveTo(0, Math.round(high) + 0.5);
    context.lineTo(box.all, Math.round(high) + 0.5);
    context.stroke();
    if (low - high < 13) return;
    const y = Math.min((low + high) / 2 + 4, box.top + box.height - 3);
    if (box.left) {
      context.fillStyle = colour("ink");
      context.textAlign = "right";
      context.fillText(clipped(name, box.left - 12), box.left - 8, y);
    } else {
      const label = clipped(name, box.width / 2);
      context.globalAlpha = 0.85;
      context.fillStyle = colour("paper");
      context.fillRect(0, y - 11, context.measureText(label).width + 6, 14);
      context.globalAlpha = 1;
      context.fillStyle = colour("ink");
      context.textAlign = "left";
      context.fillText(label, 3, y);
    }
  });
}

function clipped(name, most) {
  if (context.measureText(name).width <= most) return name;
  let end = name.length;
  while (end > 1 && context.measureText(name.slice(0, end) + "…").width > most) end--;
  return name.slice(0, end) + "…";
}

