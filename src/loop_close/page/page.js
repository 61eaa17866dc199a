"use strict";
// Everything shown comes from the data element and becomes text, never markup.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);

  const hasMany = data.sources.length > 1;
  const ROW = 20, AXIS = 16, TREND = 52, LANE = 16, LANES = hasMany ? 4 : 3, HEAD = AXIS + TREND + LANES * LANE + 4;
  const WIDTHS = [1, 2, 4, 6, 8, 11, 14, 18, 22, 28];
  const FAILING = "FE", MOST_CAUSES = 8, MOST_CARDS = 20, MOST_LINES = 200;

  // --- the data, unpacked

  const { runs } = data;
  const tests = data.tests.map(({ name, cells, causes }) => {
    const letters = [...cells.replace(/(\d+)(\D)/g, (_, count, letter) => letter.repeat(count))], ofRun = new Map(), links = [...causes], cut = name.indexOf("::");
    letters.forEach((letter, run) => { if (FAILING.includes(letter)) ofRun.set(run, links.shift()); });
    return { name, file: cut < 0 ? "" : name.slice(0, cut), short: cut < 0 ? name : name.slice(cut + 2), letters, ofRun, words: name.toLowerCase() };
  });
  const causes = data.causes.map((cause) => {
    const counts = new Map(Object.entries(cause.runs).map(([run, count]) => [Number(run), count]));
    const suspects = cause.suspects.map((each) => ({ ...each, where: each.line ? `${each.file}:${each.line}` : each.file }));
    const places = suspects.map((each) => `${each.function} ${each.where}`).join(" ");
    const words = `${cause.title} ${cause.exception} ${cause.message} ${cause.where} ${places}`.toLowerCase();
    return { ...cause, suspects, counts, words };
  });

  // --- what is shown of it

  const state = { source: -1, query: "", cause: -1, row: 0, col: 0, by: "row", allCauses: false, cards: MOST_CARDS, width: 0 };
  let rows = [], cols = [];

  function choose() {
    const { query } = state;
    cols = runs.map((_, i) => i).filter((i) => state.source < 0 || runs[i].source === state.source);
    const hits = causes.map((cause) => !query || cause.words.includes(query));
    const isSeen = (i) => cols.some((run) => causes[i].counts.has(run));
    const isOfHit = (test) => [...new Set(test.ofRun.values())].some((i) => i >= 0 && hits[i] && (state.cause < 0 || i === state.cause));
    const chosenTests = [];
    tests.forEach((test, i) => {
      const isHit = query ? test.words.includes(query) || isOfHit(test) : true;
      const isOfCause = state.cause < 0 || [...test.ofRun.values()].includes(state.cause);
      if (isHit && isOfCause && cols.some((run) => test.letters[run] !== ".")) chosenTests.push(i);
    });
    const named = new Set(query ? chosenTests : []);
    let bands = causes.map((_, i) => i).filter((i) => isSeen(i) && (hits[i] || causes[i].tests.some((t) => named.has(t))));
    if (state.cause >= 0) bands = [state.cause];
    state.found = bands;
    const shown = state.allCauses ? bands : bands.slice(0, MOST_CAUSES);
    rows = [...shown.map((i) => ({ cause: i })), ...chosenTests.map((i) => ({ test: i }))];
    state.tests = chosenTests.length;
    state.row = Math.min(state.row, Math.max(rows.length - 1, 0));
    state.col = Math.min(state.col, Math.max(cols.length - 1, 0));
    state.most = Math.max(0, ...cols.map((i) => runs[i].failing ?? 0));
  }

  // --- elements

  function el(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes ?? {})) {
      if (name === "onclick") node.addEventListener("click", value);
      else if (value !== false && value !== undefined) node.setAttribute(name, value === true ? "" : value);
    }
    node.append(...children);
    return node;
  }
  const many = (number, one, more = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : more}`;
  const when = (run) => new Date(run.started * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  const spoken = (verdict) => verdict.replace("-", " ");
  const runName = (run) => (hasMany ? `${data.sources[run.source]} ${run.number}` : `run ${run.number}`);
  const initial = (source) => (source < 26 ? String.fromCharCode(65 + source) : "+");
  const isBad = (verdict) => ["red", "void", "unfinished"].includes(verdict);

  // --- the map: a canvas for what is in view, real elements for its labels and the cell in focus

  const map = byId("map"), view = byId("view"), extent = byId("extent"), canvas = byId("canvas"), grid = byId("grid");
  // Two elements take turns: a screen reader speaks when the focus moves, and not when the element in focus changes.
  let cell = el("div", { role: "gridcell", tabindex: "0", id: "cell" }), spare = cell.cloneNode();
  const pool = [];
  let label = 200, width = 14, colours = {}, frame = 0, hover = null, isMoved = false;

  function readColours() {
    const probe = el("i");
    map.append(probe); // where the colours of high contrast, which has none for outcomes, are not forced
    const names = ["paper", "panel", "line", "ink", "quiet", "accent", "wash", "band", "on-band", ..."FEPQSN", ...[..."FEPQSN"].map((l) => `on-${l}`)];
    for (const name of names) {
      probe.style.color = `var(--${name})`;
      colours[name] = getComputedStyle(probe).color;
    }
    colours.X = colours.S;
    colours["on-X"] = colours["on-S"];
    probe.remove();
  }

  function layout() {
    const room = map.clientWidth;
    label = Math.round(Math.min(Math.max(room * 0.36, 118), 400));
    const fitting = Math.floor((room - label - 8) / Math.max(cols.length, 1));
    width = state.width || Math.min(Math.max(fitting, 6), 32);
    const whole = HEAD + Math.max(rows.length, 1) * ROW + 6;
    extent.style.width = `${Math.max(label + cols.length * width + 8, room)}px`;
    extent.style.height = `${whole}px`;
    view.style.width = `${room}px`;
    view.style.height = `${Math.min(whole, map.clientHeight)}px`;
    byId("lanes").style.width = `${label}px`;
    byId("most").textContent = state.most ? `most ${state.most.toLocaleString("en")}` : "";
    grid.setAttribute("aria-rowcount", String(rows.length));
    grid.setAttribute("aria-colcount", String(cols.length + 1));
    redraw();
  }

  function redraw() {
    if (!frame) frame = requestAnimationFrame(draw);
  }

  function draw() {
    frame = 0;
    const w = map.clientWidth, h = Math.min(parseFloat(extent.style.height), map.clientHeight), scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(w * scale) || canvas.height !== Math.round(h * scale)) {
      canvas.width = Math.round(w * scale);
      canvas.height = Math.round(h * scale);
      canvas.style.width = `${w}px`;
      canvas.style.height = `${h}px`;
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.fillStyle = colours.paper;
    pen.fillRect(0, 0, w, h);
    const left = map.scrollLeft, top = map.scrollTop;
    const c0 = Math.max(0, Math.floor(left / width)), c1 = Math.min(cols.length, Math.ceil((left + w - label) / width));
    const r0 = Math.max(0, Math.floor(top / ROW)), r1 = Math.min(rows.length, Math.ceil((top + h - HEAD) / ROW));
    const x = (c) => label + c * width - left, y = (r) => HEAD + r * ROW - top;
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    drawFocus(pen, x, y, w, h);
    pen.save();
    pen.beginPath();
    pen.rect(label, HEAD, w - label, h - HEAD);
    pen.clip();
    for (let r = r0; r < r1; r += 1) drawRow(pen, rows[r], r, c0, c1, x, y(r));
    pen.restore();
    pen.save();
    pen.beginPath();
    pen.rect(label, 0, w - label, HEAD);
    pen.clip();
    drawHead(pen, c0, c1, x);
    pen.restore();
    pen.fillStyle = colours.line;
    pen.fillRect(0, HEAD - 2, w, 1);
    pen.fillRect(label - 1, 0, 1, h);
    drawHover(pen, x, y);
    labels(r0, r1, x, y);
  }

  function drawRow(pen, row, r, c0, c1, x, top) {
    if (row.cause !== undefined) {
      const cause = causes[row.cause];
      for (let c = c0; c < c1; c += 1) {
        const count = cause.counts.get(cols[c]);
        if (!count) continue;
        const joined = c > 0 && cause.counts.has(cols[c - 1]);
        pen.fillStyle = colours.band;
        pen.fillRect(x(c) + (joined ? 0 : 1), top + 4, width - (joined ? 0 : 1), ROW - 8);
        if (width >= 14) text(pen, count > 99 ? "99+" : String(count), x(c) + width / 2, top + ROW / 2, colours["on-band"], width >= 20 ? 10 : 9);
      }
      return;
    }
    const { letters } = tests[row.test];
    for (let c = c0; c < c1; c += 1) drawCell(pen, letters[cols[c]], x(c), top);
  }

  // Wide cells show a glyph; in narrow ones each outcome has a shape of its own.
  function drawCell(pen, letter, left, top) {
    if (letter === ".") return;
    const high = ROW - 2, gap = width > 6 ? 1 : 0;
    pen.fillStyle = colours[letter];
    if (width >= 11) {
      pen.fillRect(left, top + 1, width - gap, high);
      text(pen, data.outcomes[letter][1], left + (width - gap) / 2, top + ROW / 2 + 0.5, colours[`on-${letter}`], 11, letter === "F");
      return;
    }
    const part = { F: [0, 1], E: [0, 1], P: [0.3, 0.4], Q: [0.42, 0.16], S: [0.7, 0.3], X: [0.7, 0.3], N: [0.45, 0.1] }[letter];
    if (letter === "N") pen.fillStyle = colours["on-N"];
    pen.fillRect(left, top + 1 + part[0] * high, width - gap, part[1] * high);
    if (letter === "E") {
      pen.fillStyle = colours.paper;
      pen.fillRect(left, top + ROW / 2 - 1, width - gap, 2);
    }
  }

  function text(pen, words, x, y, colour, size, bold = false) {
    pen.fillStyle = colour;
    pen.font = `${bold ? "700 " : ""}${size}px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace`;
    pen.fillText(words, x, y);
  }

  function drawHead(pen, c0, c1, x) {
    const longest = String(runs[cols.at(-1)]?.number ?? "").length, step = Math.max(1, Math.ceil((6.2 * longest + 8) / width)), base = AXIS + TREND - 4;
    for (let c = c0; c < c1; c += 1) {
      const run = runs[cols[c]], middle = x(c) + width / 2;
      if (c % step === 0) text(pen, String(run.number), Math.max(middle, label + 10), AXIS / 2 + 1, colours.quiet, 10);
      const tall = state.most ? Math.round(((run.failing ?? 0) / state.most) * (TREND - 18)) : 0;
      const gap = width > 6 ? 1 : 0;
      pen.fillStyle = tall ? colours.F : colours.line;
      pen.fillRect(x(c), base - Math.max(tall, 1), width - gap, Math.max(tall, 1));
      if (tall && width >= 18) text(pen, String(run.failing), middle, base - tall - 7, colours.quiet, 10);
      const lane = AXIS + TREND + LANE / 2;
      const loud = isBad(run.verdict) ? colours.F : colours.quiet;
      if (width >= 8) text(pen, data.verdicts[run.verdict], middle, lane, loud, 11, run.verdict === "done");
      else if (run.verdict !== "green") square(pen, middle, lane, 1, loud);
      if (run.edit === "effective" || run.edit === "ineffective") triangle(pen, middle, lane + LANE, Math.min(width / 2 - 0.5, 4.5), run.edit === "effective");
      if (run.signals.length) diamond(pen, middle, lane + 2 * LANE, Math.min(width / 2, 4.5));
      if (hasMany && width >= 8) text(pen, initial(run.source), middle, lane + 3 * LANE, colours.quiet, 10);
    }
  }

  function square(pen, x, y, half, colour) {
    pen.fillStyle = colour;
    pen.fillRect(x - half, y - half, 2 * half, 2 * half);
  }

  function shape(pen, points, isFull) {
    pen.beginPath();
    points.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    pen.fillStyle = pen.strokeStyle = colours.accent;
    if (isFull) pen.fill();
    else pen.stroke();
  }
  const triangle = (pen, x, y, half, isFull) => shape(pen, [[x - half, y + half], [x + half, y + half], [x, y - half]], isFull);
  const diamond = (pen, x, y, half) => shape(pen, [[x - half, y], [x, y - half], [x + half, y], [x, y + half]], true);

  function drawFocus(pen, x, y, w, h) {
    if (!rows.length || !cols.length) return;
    const across = y(state.row), down = x(state.col);
    pen.fillStyle = colours.wash;
    if (down + width > label) pen.fillRect(Math.max(down, label), 0, Math.min(width, down + width - label), h);
    if (across + ROW > HEAD) pen.fillRect(0, Math.max(across, HEAD), w, ROW);
  }

  function drawHover(pen, x, y) {
    if (hover && hover.row >= 0 && hover.col >= 0 && x(hover.col) >= label && y(hover.row) >= HEAD) {
      pen.strokeStyle = colours.ink;
      pen.strokeRect(x(hover.col) + 0.5, y(hover.row) + 1.5, width - 2, ROW - 3);
    }
  }

  function labels(r0, r1, x, y) {
    const wanted = [], had = document.activeElement === cell;
    for (let r = r0; r < r1; r += 1) wanted.push(r);
    if (rows.length && (state.row < r0 || state.row >= r1)) wanted.push(state.row);
    while (pool.length < wanted.length) {
      const header = el("div", { role: "rowheader", "aria-colindex": "1" }, el("span", { class: "name" }), el("span", { class: "file" }));
      const row = el("div", { role: "row" }, header);
      pool.push({ row, header, name: header.firstChild, file: header.lastChild });
    }
    while (grid.children.length > wanted.length) grid.lastChild.remove();
    wanted.forEach((r, i) => {
      const { row, header, file, name } = pool[i], item = rows[r];
      const isCause = item.cause !== undefined, of = isCause ? causes[item.cause] : tests[item.test];
      if (row.parentNode !== grid) grid.append(row);
      row.className = `${isCause ? "cause" : "test"}${r === state.row ? " chosen" : ""}`;
      row.style.transform = `translateY(${y(r)}px)`;
      row.style.clipPath = y(r) < HEAD ? `inset(${Math.min(HEAD - y(r), ROW)}px 0 0 0)` : "none";
      row.setAttribute("aria-rowindex", String(r + 1));
      header.style.width = `${label - 1}px`;
      set(file, isCause ? "" : of.file);
      set(name, isCause ? of.title : of.short);
      file.hidden = isCause || !of.file;
    });
    const at = wanted.indexOf(state.row);
    if (at < 0) return cell.remove();
    const home = pool[at].row;
    if (cell.parentNode !== home) {
      home.append(cell);
      isMoved = true; // by scrolling: it must not be scrolled back to
      if (had) cell.focus({ preventScroll: true });
      isMoved = false;
    }
    cell.style.left = `${x(state.col)}px`;
    cell.style.width = `${width}px`;
    cell.setAttribute("aria-colindex", String(state.col + 2));
    cell.setAttribute("aria-label", cols.length ? described(rows[state.row], cols[state.col]) : "no run");
  }

  function set(node, words) { if (node.textContent !== words) node.textContent = words; }

  function described(row, index) {
    const run = runs[index];
    if (row.cause !== undefined) {
      const count = causes[row.cause].counts.get(index);
      return `${causes[row.cause].title}, ${runName(run)}: ${count ? many(count, causes[row.cause].isCheck ? "finding" : "test") : "not there"}`;
    }
    return `${tests[row.test].name}, ${runName(run)}: ${data.outcomes[tests[row.test].letters[index]][0]}`;
  }

  // --- moving in it

  function move(row, col) {
    if (!rows.length || !cols.length) return;
    state.row = Math.min(Math.max(row, 0), rows.length - 1);
    state.col = Math.min(Math.max(col, 0), cols.length - 1);
    reveal();
    [cell, spare] = [spare, cell];
    draw();
    cell.focus({ preventScroll: true });
    spare.remove();
    showSlice();
  }

  function reveal() {
    const x = state.col * width, y = state.row * ROW, wide = map.clientWidth - label, high = map.clientHeight - HEAD;
    if (x < map.scrollLeft) map.scrollLeft = x;
    else if (x + width > map.scrollLeft + wide) map.scrollLeft = x + width - wide + 4;
    if (y < map.scrollTop) map.scrollTop = y;
    else if (y + ROW > map.scrollTop + high) map.scrollTop = y + ROW - high + 4;
  }

  grid.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.floor((map.clientHeight - HEAD) / ROW) - 1), whole = event.ctrlKey || event.metaKey;
    if (event.altKey || (whole && event.key !== "Home" && event.key !== "End")) return; // Alt and an arrow go back in the browser
    const { row, col } = state;
    const to = {
      ArrowUp: [row - 1, col], ArrowDown: [row + 1, col], ArrowLeft: [row, col - 1], ArrowRight: [row, col + 1],
      PageUp: [row - page, col], PageDown: [row + page, col], Home: [whole ? 0 : row, 0], End: [whole ? rows.length - 1 : row, cols.length - 1],
    }[event.key];
    if (to) move(to[0], to[1]);
    else if (event.key === "Enter" || event.key === " ") byId("slice").focus();
    else return;
    event.preventDefault();
  });
  grid.addEventListener("focusin", () => { if (!isMoved) { reveal(); redraw(); } });

  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
      event.preventDefault();
      byId("search").focus();
    }
    if (event.key !== "Escape") return;
    hideTip();
    if (byId("slice").contains(event.target) && rows.length) cell.focus();
    else if (state.cause >= 0) show(() => { state.cause = -1; });
    else if (state.query) show(() => { state.query = byId("search").value = ""; });
    else if (event.target === cell) byId("search").focus();
  });

  function at(event) {
    const box = map.getBoundingClientRect(), px = event.clientX - box.left - map.clientLeft, py = event.clientY - box.top - map.clientTop;
    if (px > map.clientWidth || py > map.clientHeight) return null;
    const col = px < label ? -1 : Math.floor((px - label + map.scrollLeft) / width);
    const row = py < HEAD ? -1 : Math.floor((py - HEAD + map.scrollTop) / ROW);
    return { col: col < cols.length ? col : -1, row: row < rows.length ? row : -1 };
  }

  map.addEventListener("click", (event) => {
    const found = at(event);
    if (!found || (found.row < 0 && found.col < 0)) return;
    if (found.row < 0) state.by = "run";
    else state.by = "row";
    move(found.row < 0 ? state.row : found.row, found.col < 0 ? state.col : found.col);
    if (found.row >= 0 && rows[found.row].cause !== undefined) bring(rows[found.row].cause);
  });
  map.addEventListener("mousemove", (event) => {
    hover = at(event);
    redraw();
    if (!hover || (hover.row < 0 && hover.col < 0)) return hideTip();
    const parts = [];
    if (hover.row >= 0 && hover.col >= 0) parts.push(described(rows[hover.row], cols[hover.col]));
    else if (hover.row >= 0) parts.push(rows[hover.row].cause !== undefined ? causes[rows[hover.row].cause].title : tests[rows[hover.row].test].name);
    if (hover.col >= 0 && hover.row < 0) {
      const run = runs[cols[hover.col]];
      parts.push(`${runName(run)}, ${when(run)}: ${spoken(run.verdict)}${run.failing === null ? "" : `, ${run.failing} failing`}`, ...run.edits.slice(0, 4), ...run.signals.slice(0, 3));
    }
    showTip(parts.join("\n"), event.clientX, event.clientY);
  });
  map.addEventListener("mouseleave", () => { hover = null; hideTip(); redraw(); });
  map.addEventListener("scroll", () => { hideTip(); redraw(); }, { passive: true });

  const tip = byId("tip");
  function showTip(words, x, y) {
    tip.hidden = false;
    set(tip, words);
    tip.style.left = `${Math.min(x + 14, innerWidth - tip.offsetWidth - 8)}px`;
    tip.style.top = `${y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 18}px`;
  }
  function hideTip() { tip.hidden = true; }

  // --- the table of the row or of the run in focus

  const glyph = (letter) => [el("span", { class: `glyph ${letter}`, "aria-hidden": "true" }, data.outcomes[letter][1]), data.outcomes[letter][0]];
  const headings = (...names) => el("tr", {}, ...names.map((name) => el("th", { scope: "col" }, name)));
  const causeLink = (i) => (i === undefined || i < 0 ? "" : el("button", { type: "button", class: "link", onclick: () => bring(i, true) }, causes[i].title));

  function showSlice() {
    const isRow = state.by === "row";
    byId("by-row").setAttribute("aria-pressed", String(isRow));
    byId("by-run").setAttribute("aria-pressed", String(!isRow));
    byId("slice").hidden = !rows.length || !cols.length;
    if (byId("slice").hidden) return;
    if (isRow) sliceOfRow(rows[state.row]);
    else sliceOfRun(cols[state.col]);
  }

  function sliceOfRow(row) {
    const isCause = row.cause !== undefined, from = Math.max(0, Math.min(state.col - 7, cols.length - 15)), lines = cols.slice(from, from + 15);
    set(byId("caption"), `${isCause ? causes[row.cause].title : tests[row.test].name}${cols.length > lines.length ? `, ${many(lines.length, "run")} around the one in focus` : ""}`);
    byId("head").replaceChildren(headings("Run", isCause ? "Tests" : "Outcome", "Verdict of the run", "When", ...(isCause ? [] : ["Root cause"]), "Edited before it", "Signals"));
    byId("body").replaceChildren(...lines.map((index) => {
      const run = runs[index];
      const short = (...content) => el("td", { class: "short" }, ...content);
      return el("tr", { "aria-current": index === cols[state.col] && "true" }, short(runName(run)),
        isCause ? el("td", { class: "number" }, String(causes[row.cause].counts.get(index) ?? 0)) : short(...glyph(tests[row.test].letters[index])),
        short(`${data.verdicts[run.verdict]} ${spoken(run.verdict)}`), short(when(run)),
        ...(isCause ? [] : [el("td", {}, causeLink(tests[row.test].ofRun.get(index)))]), el("td", {}, run.edits.join("; ") || edited(run)), el("td", {}, run.signals.join("; ")));
    }));
  }
  const edited = (run) => ({ unknown: "not known", none: "nothing", ineffective: "comments or formatting", effective: "" })[run.edit] ?? "";

  function sliceOfRun(index) {
    const run = runs[index], found = tests.filter((test) => FAILING.includes(test.letters[index]));
    const facts = [`${runName(run)}, ${when(run)}: ${spoken(run.verdict)}`, `${many(run.passed, "test")} passed`, run.skipped && `${run.skipped} skipped`, run.seconds && `${run.seconds} s`,
      run.edits.length && `edited before it: ${run.edits.join("; ")}`, run.signals.length && `signals: ${run.signals.join("; ")}`];
    set(byId("caption"), facts.filter(Boolean).join(" · "));
    byId("head").replaceChildren(headings("Test", "Outcome", "Root cause"));
    const lines = found.slice(0, MOST_LINES).map((test) => el("tr", {},
      el("td", { class: "mono" }, test.name), el("td", { class: "short" }, ...glyph(test.letters[index])), el("td", {}, causeLink(test.ofRun.get(index)))));
    if (!found.length) lines.push(el("tr", {}, el("td", { colspan: "3" }, "No test failed in this run.")));
    if (found.length > MOST_LINES) lines.push(el("tr", {}, el("td", { colspan: "3" }, `and ${many(found.length - MOST_LINES, "more test")}`)));
    byId("body").replaceChildren(...lines);
  }

  // --- the root causes

  function showCards() {
    const chosen = state.found.slice(0, state.cards), left = state.found.length - chosen.length;
    const stops = (home) => [...(home?.querySelectorAll("pre, summary, button") ?? []), cell], home = document.activeElement.closest("article");
    const place = stops(home).indexOf(document.activeElement); // the same place of the new card keeps the focus
    byId("cards").replaceChildren(...chosen.map(card));
    if (home) (stops(byId(home.id))[place] ?? cell).focus({ preventScroll: true });
    if (!chosen.length) byId("cards").append(el("p", { class: "quiet" }, causes.length ? "No root cause matches." : "No test failed."));
    byId("more").hidden = left <= 0;
    set(byId("more"), `Show ${many(Math.min(left, MOST_CARDS), "more root cause")}`);
    const now = state.found.filter((i) => causes[i].isCurrent).length;
    set(byId("causes-title"), `Root causes: ${now} now, ${state.found.length - now} earlier`);
  }

  function card(i) {
    const cause = causes[i], first = runs[Math.min(...cause.counts.keys())], last = runs[Math.max(...cause.counts.keys())];
    const span = first === last ? runName(first) : `${runName(first)} to ${runName(last)}`;
    const facts = [many(cause.count, cause.isCheck ? "finding" : "test"), span, cause.isCurrent ? "fails now" : "not in the last run"];
    const isTitled = cause.title.includes(cause.exception) && (!cause.where || cause.title.includes(cause.where));
    const at = isTitled ? "" : cause.where ? `${cause.exception} at ${cause.where}${cause.function && !cause.function.startsWith("<") ? ` in ${cause.function}()` : ""}` : cause.exception;
    const reasons = cause.suspects.length ? cause.suspects[0].reasons : [];
    return el("article", { id: `cause-${i}`, tabindex: "-1", class: `${cause.isCurrent ? "now" : "past"}${i === state.cause ? " chosen" : ""}` },
      el("h3", {}, cause.title), el("p", {}, facts.join(" · ")), ...(at ? [el("p", {}, at)] : []),
      ...(cause.message ? [el("pre", cause.message.length > 200 ? { tabindex: "0", "aria-label": "Message" } : {}, cause.message)] : []),
      ...(cause.suspects.length ? [el("ol", { "aria-label": "Suspects" }, ...cause.suspects.map(suspect))] : []),
      ...(reasons.length ? [el("details", {}, el("summary", {}, "Why the first one"), el("ul", {}, ...reasons.map((reason) => el("li", {}, reason))))] : []),
      el("div", { class: "actions" },
        el("button", { type: "button", class: "main", "aria-label": `Copy the prompt: ${cause.title}`, onclick: (event) => copy(cause, event.currentTarget) }, "Copy prompt"),
        el("button", { type: "button", "aria-pressed": String(i === state.cause), "aria-label": `Show only its tests: ${cause.title}`, onclick: () => show(() => { state.cause = state.cause === i ? -1 : i; state.row = 0; }) }, "Only its tests")));
  }

  function suspect(each) {
    const bar = el("i");
    bar.style.width = `${Math.round(each.score * 100)}%`;
    const name = each.function && !each.function.startsWith("<") ? `${each.function}()  ` : "";
    return el("li", {}, el("span", { class: "share" }, `${Math.min(Math.max(Math.round(100 * each.score), 1), 99)} %`), el("code", {}, `${name}${each.where}`), el("span", { class: "meter", "aria-hidden": "true" }, bar));
  }

  function bring(i, takesFocus = false) {
    const position = state.found.indexOf(i);
    if (position >= state.cards) {
      state.cards = position + 1;
      showCards();
    }
    const node = byId(`cause-${i}`);
    if (!node) return;
    for (const each of document.querySelectorAll("article.chosen")) each.classList.remove("chosen");
    node.classList.add("chosen");
    if (takesFocus) {
      node.focus({ preventScroll: true });
      node.scrollIntoView({ block: "nearest" });
    }
  }

  async function copy(cause, button) {
    let done = true;
    try {
      await navigator.clipboard.writeText(cause.prompt);
    } catch {
      const area = el("textarea", { "aria-hidden": "true" });
      area.value = cause.prompt;
      document.body.append(area);
      area.select();
      done = document.execCommand("copy");
      area.remove();
      button.focus();
    }
    const words = button.textContent === "Copied" ? "Copy prompt" : button.textContent;
    set(button, done ? "Copied" : "Not copied");
    button.addEventListener("blur", () => set(button, words), { once: true });
    set(byId("status"), done ? `Copied the prompt: ${cause.title}` : "The browser does not allow to copy.");
  }

  // --- the page around it

  function show(change) {
    const had = document.activeElement === cell;
    change();
    choose();
    byId("clear").hidden = state.cause < 0;
    const more = byId("all-causes");
    more.hidden = state.cause >= 0 || state.found.length <= MOST_CAUSES;
    more.setAttribute("aria-pressed", String(state.allCauses));
    set(more, state.allCauses ? "Fewer root causes" : `All ${state.found.length} root causes`);
    layout();
    draw();
    showSlice();
    showCards();
    set(byId("status"), `${many(state.tests, "test")}, ${many(state.found.length, "root cause")}, ${many(cols.length, "run")}`);
    if (had && rows.length) cell.focus({ preventScroll: true });
  }

  function theme(name) {
    if (name) document.documentElement.dataset.theme = name;
    const isDark = name ? name === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    byId("theme").setAttribute("aria-pressed", String(isDark));
    readColours();
    redraw();
  }
  const kept = { // a browser may refuse to keep anything for a file
    get theme() { try { return localStorage.getItem("loop-close-theme"); } catch { return null; } },
    set theme(name) { try { localStorage.setItem("loop-close-theme", name); } catch { /* then it is not kept */ } },
  };

  function top() {
    const last = new Map(runs.map((run) => [run.source, run]));
    byId("state").append(...[...last.values()].slice(-8).map((run) => el("li", {}, el("b", {}, data.sources[run.source]), " ",
      el("span", { class: isBad(run.verdict) ? "bad" : "" }, `${data.verdicts[run.verdict]} ${spoken(run.verdict)}${run.failing ? `, ${run.failing} failing` : ""}`))));
    const { sources } = data;
    if (hasMany) byId("lanes").append(el("li", {}, "source"));
    byId("source").append(el("option", { value: "-1" }, hasMany ? `all ${sources.length} sources` : sources[0] ?? "none"));
    if (hasMany) byId("source").append(...sources.map((name, i) => el("option", { value: String(i) }, name)));
    const [olderRuns, moreTests, moreCauses] = data.leftOut;
    const facts = runs.length ? [data.state, many(runs.length, "run"), [...new Set([when(runs[0]), when(runs.at(-1))])].join(" to "), `${many(tests.length, ...(causes.some((each) => each.isCheck) ? ["test or finding", "tests and findings"] : ["test"]))} failed at least once; others have no row`,
      olderRuns && `${many(olderRuns, "older run")} not shown`, moreTests && `${many(moreTests, "test")} not shown`, moreCauses && `${many(moreCauses, "root cause")} not shown`] : [];
    set(byId("facts"), facts.filter(Boolean).join(" · "));
    const used = Object.keys(data.outcomes).filter((letter) => letter !== "." && tests.some((test) => test.letters.includes(letter)));
    const item = (mark, words, kind) => el("li", {}, el("b", { class: kind, "aria-hidden": "true" }, mark), words);
    byId("legend").append(...used.map((letter) => item(data.outcomes[letter][1], data.outcomes[letter][0], letter)), item("▲", "edit", "mark"), item("△", "only comments or formatting", "mark"), item("◆", "signal", "mark"),
      ...[...new Set(runs.map((run) => run.verdict))].map((verdict) => item(data.verdicts[verdict], spoken(verdict), "")),
      ...(hasMany ? sources.map((name, source) => item(initial(source), name, "")) : []));
  }

  byId("source").addEventListener("change", (event) => show(() => { state.source = Number(event.target.value); state.col = Infinity; }));
  byId("search").addEventListener("input", (event) => show(() => { state.query = event.target.value.trim().toLowerCase(); state.row = 0; map.scrollTop = 0; }));
  byId("theme").addEventListener("click", () => theme(kept.theme = byId("theme").getAttribute("aria-pressed") === "true" ? "light" : "dark"));
  byId("clear").addEventListener("click", () => { show(() => { state.cause = -1; }); cell.focus(); }); // it is hidden then
  byId("all-causes").addEventListener("click", () => show(() => { state.allCauses = !state.allCauses; }));
  byId("more").addEventListener("click", () => { state.cards += MOST_CARDS; showCards(); byId("cards").children[state.cards - MOST_CARDS].focus(); });
  byId("by-row").addEventListener("click", () => { state.by = "row"; showSlice(); });
  byId("by-run").addEventListener("click", () => { state.by = "run"; showSlice(); });
  const zoom = (by) => show(() => { state.width = (by > 0 ? WIDTHS.find((each) => each > width) : WIDTHS.findLast((each) => each < width)) ?? width; });
  byId("narrower").addEventListener("click", () => zoom(-1));
  byId("wider").addEventListener("click", () => zoom(1));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => theme(kept.theme));

  top();
  theme(kept.theme);
  if (!runs.length) {
    byId("content").hidden = true;
    byId("empty").hidden = false;
    set(byId("empty"), "No run is recorded yet. pytest --loop-close records one.");
    return;
  }
  show(() => { state.col = Infinity; });
  map.scrollLeft = map.scrollWidth;
  draw();
  new ResizeObserver(() => layout()).observe(map);
  document.documentElement.dataset.ready = String(Math.round(performance.now())); // milliseconds since the page was asked for
})();
