// User interaction with the picture of accesses: point, zoom, move, select a request, or step from
// cell to cell with the keyboard. plot.js, which precedes this script in the page, draws it.

const columnOf = (cell) => firstBeyond(shown.ends, cell);

// Returns the first index whose value is above `value`.
function firstBeyond(values, value) {
  let low = 0;
  for (let high = values.length; low < high; ) {
    const middle = (low + high) >> 1;
    if (values[middle] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

// Returns the cell nearest to a point of the canvas, within a few pixels; null if there is none.
function near(x, y) {
  const box = frame();
  if (x < box.left || y < box.top || y > box.top + box.height) return null;
  const step = shown.touches_per_column;
  const wide = across(view.from + step, box) - box.left;
  const high = box.height / (view.high - view.low);
  const reach = 5;
  const centre = ((x - box.left) / wide) + view.from / step;
  const from = Math.max(Math.floor(centre - reach / wide), 0);
  const to = Math.min(Math.ceil(centre + reach / wide), shown.ends.length);
  let best = null;
  let least = reach;
  for (let column = from; column < to; column++) {
    const left = across(column * step, box);
    const beside = Math.max(left - x, x - left - Math.max(wide, 1), 0);
    for (let at = column ? shown.ends[column - 1] : 0; at < shown.ends[column]; at++) {
      if (!missesOf(at)) continue;
      const top = upwards(shown.rows[at] + 1, box);
      const above = Math.max(top - y, y - top - Math.max(high, 1), 0);
      const distance = Math.max(beside, above);
      if (distance < least) [best, least] = [at, distance];
    }
  }
  return best;
}

function regionOf(line) {
  const at = shown.regions.findLastIndex(([first]) => first <= line);
  return shown.regions[at][1];
}

function told(at) {
  const line = shown.rows[at] * shown.lines_per_row;
  const last = Math.min(line + shown.lines_per_row, shown.lines.length) - 1;
  const address = (place, more) => "0x" + (shown.lines[place] * 64 + more).toString(16);
  const first = columnOf(at) * shown.touches_per_column;
  const end = Math.min(first + shown.touches_per_column, shown.touches);
  const stay = shown.stays.findLastIndex(([begins]) => begins < end);
  const owner = shown.owner[at];
  const others = owner % 2 ? " and others" : "";
  const counts = [
    [shown.fetches[at], "fetches"],
    [shown.loads[at], "loads"],
    [shown.stores[at], "stores"],
  ];
  const touched = counts.filter(([count]) => count).map(([count, kind]) => `${count} ${kind}`);
  const [one, split] = [shown.missedOne[at], shown.missedSplit[at]];
  return [
    data.names[owner >> 1] + others,
    `${regionOf(line)}, ${address(line, 0)} to ${address(last, 63)}`,
    `core ${shown.stays[stay][1]}, accesses ${grouped(first)} to ${grouped(end - 1)}`,
    `${touched.join(", ")}; L2 misses: ${one} on one core, ${split} with the split`,
  ];
}

function tell(at, x, y) {
  const tip = byId("tip");
  tip.hidden = at === null;
  if (at === null) return;
  tip.textContent = told(at).join("\n");
  const width = canvas.clientWidth;
  const right = x + 16 + tip.offsetWidth > width;
  tip.style.left = Math.max(right ? x - tip.offsetWidth - 12 : x + 16, 0) + "px";
  const below = y + 16 + tip.offsetHeight > canvas.clientHeight;
  tip.style.top = (below ? y - tip.offsetHeight - 10 : y + 16) + "px";
}

// Shows `times` as much of the request; the point at these shares of the view stays in place.
function zoom(times, right = 0.5, up = 0.5) {
  const range = (from, to, share, least, most) => {
    const size = Math.min(Math.max((to - from) * times, least), most);
    const begin = Math.min(Math.max(from + (to - from - size) * share, 0), most - size);
    return [begin, begin + size];
  };
  const step = shown.touches_per_column;
  const fewest = Math.min(4 * step, shown.touches);
  [view.from, view.to] = range(view.from, view.to, right, fewest, shown.touches);
  const rows = Math.min(4, shown.rowCount);
  [view.low, view.high] = range(view.low, view.high, up, rows, shown.rowCount);
  draw();
}

function move(touches, rows) {
  const clamp = (by, from, to, most) => Math.min(Math.max(by, -from), most - to);
  const by = clamp(touches, view.from, view.to, shown.touches);
  const up = clamp(rows, view.low, view.high, shown.rowCount);
  view = { from: view.from + by, to: view.to + by, low: view.low + up, high: view.high + up };
  draw();
}

function whole() {
  view = { from: 0, to: shown.touches, low: 0, high: shown.rowCount };
  draw();
}

async function pick() {
  const at = byId("request").selectedIndex;
  const request = data.requests[at];
  shown = request.decoded || (request.decoded = await decode(request));
  cursor = null;
  byId("tip").hidden = true;
  byId("spot").textContent = "\u00a0";
  const hops = shown.stays.length - 1;
  const warming = shown.counted ? "" : " This request warms the caches and is not counted.";
  byId("said").textContent =
    `Request ${shown.request} of thread ${shown.thread}: ${grouped(shown.touches)} accesses to ` +
    `${grouped(shown.lines.length)} lines (${Math.round(shown.lines.length / 16)} KiB), ` +
    `${hops} ${hops === 1 ? "hop" : "hops"}; L2 misses: ${grouped(shown.missed[0])} on one core, ` +
    `${grouped(shown.missed[1])} with the split.` + warming;
  tabulate();
  whole();
}

function tabulate() {
  const sums = shown.regions.map(() => [0, 0, 0, 0, 0]);
  const ends = shown.regions.slice(1).map(([first]) => first).concat(shown.lines.length);
  for (let at = 0; at < shown.rows.length; at++) {
    const sum = sums[firstBeyond(ends, shown.rows[at] * shown.lines_per_row)];
    STREAMS.slice(0, 5).forEach((name, place) => (sum[place] += shown[name][at]));
  }
  const rows = shown.regions.map(([first, name], at) => {
    const row = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.textContent = name;
    row.append(head);
    for (const count of [ends[at] - first, ...sums[at]]) {
      row.insertCell().textContent = grouped(count);
    }
    return row;
  });
  byId("regions").replaceChildren(...rows.reverse());
}

// Moves the cursor to the next cell in a direction; the first time, to the middle of the view.
function step(right, up) {
  if (cursor === null) {
    const column = Math.floor((view.from + view.to) / 2 / shown.touches_per_column);
    cursor = Math.min(shown.ends[column], shown.rows.length) - 1;
  } else if (right) {
    const column = columnOf(cursor) + right;
    if (column < 0 || column >= shown.ends.length) return;
    const row = shown.rows[cursor];
    const from = column ? shown.ends[column - 1] : 0;
    let best = from;
    for (let at = from; at < shown.ends[column]; at++) {
      if (Math.abs(shown.rows[at] - row) < Math.abs(shown.rows[best] - row)) best = at;
    }
    cursor = best;
  } else {
    const column = columnOf(cursor);
    const at = cursor + up;
    if (at < (column ? shown.ends[column - 1] : 0) || at >= shown.ends[column]) return;
    cursor = at;
  }
  draw();
  const box = frame();
  const x = across((columnOf(cursor) + 0.5) * shown.touches_per_column, box);
  tell(cursor, x, upwards(shown.rows[cursor] + 0.5, box));
  byId("spot").textContent = told(cursor).join("; ");
}

const KEYS = {
  ArrowLeft: () => step(-1, 0),
  ArrowRight: () => step(1, 0),
  ArrowUp: () => step(0, 1),
  ArrowDown: () => step(0, -1),
  "+": () => zoom(0.5),
  "=": () => zoom(0.5),
  "-": () => zoom(2),
  0: whole,
};

function listen() {
  let held = null;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener("pointerdown", (event) => {
    held = at(event);
    canvas.setPointerCapture(event.pointerId);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(end, () => (held = null));
  }
  canvas.addEventListener("pointermove", (event) => {
    if (!shown) return;
    const [x, y] = at(event);
    const box = frame();
    if (held) {
      const touches = ((held[0] - x) / box.width) * (view.to - view.from);
      move(touches, ((y - held[1]) / box.height) * (view.high - view.low));
      held = [x, y];
    }
    tell(near(x, y), x, y);
  });
  canvas.addEventListener("pointerleave", () => (byId("tip").hidden = true));
  canvas.addEventListener(
    "wheel",
    (event) => {
      const isWhole = !shown || (view.to - view.from === shown.touches &&
        view.high - view.low === shown.rowCount);
      // Zooming out beyond the whole scrolls the page.
      if (isWhole && event.deltaY > 0) return;
      event.preventDefault();
      const [x, y] = at(event);
      const box = frame();
      const times = event.deltaY > 0 ? 1.25 : 0.8;
      const share = (part) => Math.min(Math.max(part, 0), 1);
      zoom(times, share((x - box.left) / box.width), share(1 - (y - box.top) / box.height));
    },
    { passive: false },
  );
  canvas.addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!act || !shown || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  });
  canvas.addEventListener("blur", draw);
  byId("in").addEventListener("click", () => zoom(0.5));
  byId("out").addEventListener("click", () => zoom(2));
  byId("whole").addEventListener("click", whole);
  byId("request").addEventListener("change", pick);
  byId("view").addEventListener("change", draw);
  dark.addEventListener("change", draw);
  window.addEventListener("resize", draw);
}

function begin() {
  for (const request of data.requests) {
    const option = document.createElement("option");
    option.textContent = `${request.request} (${grouped(request.touches)} accesses)`;
    byId("request").append(option);
  }
  byId("request").selectedIndex = data.first;
  for (let core = 0; core < data.cores; core++) {
    const entry = document.createElement("span");
    const key = document.createElement("span");
    key.className = "key";
    key.style.background = `var(--core${core % 8})`;
    entry.append(key, ` core ${core}`);
    byId("core-colours").append(entry, " ");
  }
  listen();
  if (data.requests.length) pick();
}

begin();
