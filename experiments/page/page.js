// page.js: settings, links and pictures; all numbers come from the worker, which runs the C module.
"use strict";

const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const still = matchMedia("(prefers-reduced-motion: reduce)");
const dark = matchMedia("(prefers-color-scheme: dark)");
const narrow = matchMedia("(max-width: 760px)");
const WITH = 1, WITHOUT = 0, THIRD = 2, KIND = ["without", "with", "third"];
const VIEWS = ["train", "map", "saturation", "steps"]; // and "run", before these, in a page that has one
const PANEL = (view) => $(view === "run" ? "run-view" : view);
let c, worker; // what the module says of itself; the worker

// ---- Numbers for people ------------------------------------------------------------------------

const raised = (n) => String(n).replace(/./g, (d) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(d)]);
function short(x, digits = 2) {
    if (!Number.isFinite(x)) return Number.isNaN(x) ? "–" : "infinite";
    if (x === 0) return "0";
    const size = Math.abs(x);
    if (size >= 1e-3 && size < 1e5) return String(Number(x.toPrecision(digits)));
    const [front, power] = x.toExponential(digits - 1).split("e");
    return `${front}·10${raised(Number(power))}`;
}
const power = (p) => (p >= -2 && p <= 3 ? String(Number(`1e${p}`)) : `10${raised(p)}`);

function element(name, attributes, ...inside) {
    const made = SHAPES.has(name) ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    made.append(...inside);
    return made;
}
const SHAPES = new Set(["svg", "path", "text", "tspan", "rect", "circle", "line", "g", "title"]);

// ---- Settings: a line each, with the command line's names and limits ------------------------------

const between = (least, most, standard) => ({ least, most, standard });
let SETTINGS; // once the module has said its limits
const now = {};

function describe() {
    const { d_k, tokens, batch } = c.limits, names = (list) => list.map((x) => x.name);
    SETTINGS = {
        "d-k": { ...between(1, d_k, Math.min(512, d_k)), whole: true },
        tokens: { ...between(2, tokens, 16), whole: true },
        lr: { ...between(1e-300, 1e300, null), follows: () => optimizer().lr },
        batch: { ...between(1, batch, c.engine === "relaxed" ? 32 : 8), whole: true },
        scale: { words: names(c.rules).filter((x) => x !== "none").map((x) => `none,${x}`), standard: "none,sqrt" },
        optimizer: { words: names(c.optimizers), standard: c.optimizers[0].name },
        seed: { ...between(0, 4294967295, 0), whole: true },
        sigma0: { ...between(1e-3, 1e3, null) },
        kappa: { ...between(1e-4, 1e5, null) },
        keys: { ...between(2, 256, 16), whole: true },
        lesson: { words: names(c.lessons), standard: c.lessons[0]?.name },
        ...Object.fromEntries(["q", "k", "v"].map((name) => [name, { numbers: true, standard: null }])),
        ...Object.fromEntries(["causal", "backward"].map((name) => [name, { words: ["yes"], standard: null }])),
        view: { words: VIEWS, standard: VIEWS[0] },
        engine: { words: ["exact", "relaxed"], standard: null },
    };
}

const rule = () => c.rules.find((r) => r.name === now.scale.split(",")[1]);
const optimizer = () => c.optimizers.find((o) => o.name === now.optimizer);
const rate = () => now.lr ?? optimizer().lr;
const withName = (name = rule().name) => (name === "sqrt" ? "with 1/√dₖ" : `with ${name}`);
const label = (i) => ["without", withName(), "your point"][i];

// A text of a link becomes a setting; what is wrong with it is said, and it is clamped.
function read(name, text) {
    const s = SETTINGS[name];
    if (s.numbers) {
        const good = text.length < 2000 && text.split(",").every((x) => x.trim() !== "" && Math.abs(Number(x)) <= 1e6);
        return good ? [text] : [null, `${name}=${text.slice(0, 40)}: expected numbers from -1e6 to 1e6`];
    }
    if (s.words) return s.words.includes(text) ? [text]
        : [s.standard, `${name}=${text.slice(0, 40)}: expected ${s.words.join(" or ")}`];
    const x = text.trim() === "" ? NaN : Number(text);
    if (!Number.isFinite(x) || (s.whole && !Number.isInteger(x)))
        return [s.standard, `${name}=${text.slice(0, 40)}: expected a ${s.whole ? "whole " : ""}number from ${s.least} to ${s.most}`];
    const clamped = Math.min(s.most, Math.max(s.least, x));
    return clamped === x ? [x] : [clamped, `${name}=${text.slice(0, 40)}: from ${s.least} to ${s.most} here, so ${clamped}`];
}

function readLink() {
    const said = [];
    for (const name in SETTINGS) now[name] = SETTINGS[name].standard;
    for (const [name, text] of new URLSearchParams(location.hash.slice(1))) {
        if (!Object.hasOwn(SETTINGS, name)) {
            said.push(`${name.slice(0, 40)} is no setting`);
            continue;
        }
        const [value, wrong] = read(name, text);
        now[name] = value;
        if (wrong) said.push(wrong);
    }
    if ((now.sigma0 === null) !== (now.kappa === null)) now.sigma0 = now.kappa = null;
    say(said.length ? `The link: ${said.join("; ")}.` : "");
}

const LINKED = {
    train: ["d-k", "tokens", "lr", "batch", "optimizer", "scale", "seed"],
    map: ["d-k", "tokens", "lr", "batch", "optimizer", "scale", "seed", "sigma0", "kappa"],
    saturation: ["d-k", "keys", "scale"],
    run: [],
    steps: ["lesson", "scale", "causal", "backward", "q", "k", "v"],
};
// What is not at its default; `whole`: all of the view, so that another browser shows the same.
function link(whole) {
    const words = now.view === VIEWS[0] && !whole ? [] : [`view=${now.view}`];
    for (const name of LINKED[now.view]) {
        const x = whole && name === "lr" ? rate() : now[name];
        if (x !== null && (whole || name === "d-k" || name === "scale" || x !== SETTINGS[name].standard)) words.push(`${name}=${x}`);
    }
    if (whole || now.engine) words.push(`engine=${whole ? c.engine : now.engine}`);
    return `#${words.join("&")}`;
}

// The command that computes what the view shows.
function command() {
    const STANDARD = { tokens: 16, batch: 32, scale: "none,sqrt", optimizer: "sgd" };
    const given = (...names) => names.filter((n) => now[n] !== null && now[n] !== STANDARD[n]).map((n) => ` --${n} ${now[n]}`).join("");
    const steps = ` --seed ${now.seed} --steps ${Math.max(1, frames.steps)}`;
    if (now.view === "saturation") return `sqrtdk saturation --d-k ${now["d-k"]} --keys ${now.keys} --scale ${now.scale}`;
    if (now.view === "steps") return lessonCommand();
    if (now.view === "run") return `sqrtdk report ${/^[\w./-]+$/.test(run.name) ? run.name : `'${run.name.replaceAll("'", "'\\''")}'`}`;
    if (now.view === "map" && now.sigma0 !== null)
        return `sqrtdk map --d-k ${now["d-k"]} --sigma0 ${now.sigma0} --kappa ${now.kappa}${given("tokens", "batch", "optimizer")}${steps}`;
    return `sqrtdk stall --d-k ${now["d-k"]}${given("tokens", "batch", "optimizer", "lr", "scale")}${steps}`;
}

function say(text) {
    $("notice").hidden = !text;
    $("notice").textContent = text;
}

// ---- Controls ----------------------------------------------------------------------------------

// A slider goes over stops, and shows the nearest one to a value that a link gave.
const STOPS = {
    "d-k": () => [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024].filter((x) => x <= c.limits.d_k),
    tokens: () => Array.from({ length: c.limits.tokens - 1 }, (_, i) => i + 2),
    batch: () => [1, 2, 4, 8, 16, 32].filter((x) => x <= c.limits.batch),
    lr: () => [-4, -3, -2, -1, 0, 1, 2].flatMap((p) => [1, 2, 5].map((x) => Number(`${x}e${p}`))).concat(1000),
    keys: () => [2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256],
};
const nearest = (stops, x) => stops.reduce((best, s, i) => (Math.abs(Math.log(s / x)) < Math.abs(Math.log(stops[best] / x)) ? i : best), 0);
const value = (name) => (name === "lr" ? rate() : now[name]);

function makeControls() {
    for (const name in STOPS) {
        const slider = $(name), stops = STOPS[name]();
        slider.min = 0;
        slider.max = stops.length - 1;
        slider.oninput = () => change(name, stops[slider.value]);
    }
    const fill = (id, list, text) => $(id).replaceChildren(...list.map((x) => element("option", { value: x.name, title: x.source || x.meaning }, text(x))));
    fill("scale", c.rules.filter((r) => r.name !== "none"), (r) => `${r.name}: ${r.meaning}`);
    fill("optimizer", c.optimizers, (o) => o.name);
    fill("lesson", c.lessons, (l) => l.name);
    $("scale").onchange = () => change("scale", `none,${$("scale").value}`);
    $("optimizer").onchange = () => change("optimizer", $("optimizer").value);
    $("lesson").onchange = () => change("lesson", $("lesson").value);
    for (const flag of ["causal", "backward"]) $(flag).onchange = () => change(flag, $(flag).checked ? "yes" : null);
    $("seed").onchange = () => {
        const [seed, wrong] = read("seed", $("seed").value);
        say(wrong ? `${wrong}.` : "");
        change("seed", seed);
    };
    for (const x of document.querySelectorAll(".marks")) x.textContent = `Dotted: ${marks().map(([r, words]) => `${r}, ${words.join(" ")}`).join("; ")}.`;
    for (const form of document.forms) form.onsubmit = (e) => e.preventDefault();
}

function showControls() {
    for (const name in STOPS) {
        const x = value(name), text = name === "lr" ? short(x, 3) : String(x);
        $(name).value = nearest(STOPS[name](), x);
        $(name).setAttribute("aria-valuetext", text);
        $(`${name}-value`).textContent = text;
    }
    $("scale").value = rule().name;
    $("optimizer").value = now.optimizer;
    $("seed").value = now.seed;
    $("lesson").value = now.lesson;
    for (const flag of ["causal", "backward"]) $(flag).checked = now[flag] === "yes";
    $("with-name").textContent = withName();
    $("numbers").tHead.rows[0].cells[1].textContent = withName();
}

// A setting of the training starts it anew, from the same weights for the same numbers.
function change(name, to) {
    now[name] = to;
    if (name === "optimizer") now.lr = null; // each has a rate of its own
    if (name === "keys") curves();
    else if (["lesson", "causal", "backward"].includes(name)) lesson(name === "lesson");
    else restart();
    if (name === "scale") ({ saturation: curves, steps: lesson })[now.view]?.();
    showControls();
    showAll();
    store();
}

function store(hash = link()) {
    try {
        history.replaceState(null, "", hash);
    } catch {
        location.hash = hash; // a browser that keeps files' addresses as they are
    }
}

function show(view, focus) {
    now.view = view;
    for (const v of VIEWS) {
        PANEL(v).hidden = v !== view;
        $(`tab-${v}`).setAttribute("aria-selected", v === view);
        $(`tab-${v}`).tabIndex = v === view ? 0 : -1;
    }
    const trains = view === "train" || view === "map";
    $("d-k").closest("label").hidden = view === "steps";
    $("controls").hidden = $("engine").hidden = view === "run";
    for (const id of ["tokens", "lr", "batch", "optimizer", "seed"]) $(id).closest("label").hidden = !trains;
    $("bar").hidden = !trains;
    if (!trains && frames.playing) pause();
    if (focus) $(`tab-${view}`).focus();
    if (view === "saturation") curves();
    if (view === "steps") lesson();
    if (view === "run") showRun();
    showControls();
    showAll();
    store();
}

// ---- Training ----------------------------------------------------------------------------------

let frames; // what came of the present run
function restart(play = false) {
    const id = (frames?.id ?? 0) + 1, at = (list, name) => list.findIndex((x) => x.name === name);
    const method = at(c.optimizers, now.optimizer);
    const one = (name) => ({ rule: at(c.rules, name), optimizer: method, lr: rate(), gain: 1 });
    const point = now.sigma0 !== null && { optimizer: method, sigma0: now.sigma0, kappa: now.kappa };
    frames = { id, steps: 0, playing: false, done: false, ratios: [[], [], []], trail: [[], [], []], last: null, said: "" };
    worker.postMessage({ do: "start", run: { id, d_k: now["d-k"], tokens: now.tokens, batch: now.batch, seed: now.seed,
        columns: c.columns.length, every: still.matches ? 500 : 40, students: [one("none"), one(rule().name), point || null] } });
    if (play) start();
}

function start() {
    if (frames.done) restart();
    frames.playing = true;
    worker.postMessage({ do: "play" });
    showBar();
}

function pause() {
    frames.playing = false;
    worker.postMessage({ do: "pause" });
    showBar();
}

function onFrame(m) {
    if (m.id !== frames.id) return;
    const ended = frames.playing && m.done;
    m.students.forEach((s, i) => {
        if (!s) return;
        s.ratios.forEach((r, k) => (frames.ratios[i][s.from + k] = r));
        frames.trail[i].push([s.kappaNow, s.sigma]);
    });
    Object.assign(frames, { steps: m.steps, done: m.done, last: m });
    if (m.done) frames.playing = false;
    if (ended) showBar();
    later();
}

let drawing = false;
function later() {
    if (drawing) return;
    drawing = true;
    requestAnimationFrame(() => {
        drawing = false;
        showAll();
    });
}

let firstPicture; // for the tests, ms from the page's start; and how long drawing took
const timings = [];
function showAll() {
    const began = performance.now();
    showBar();
    if (now.view === "train") showTrain();
    if (now.view === "map") showMap();
    if (now.view === "saturation") showSaturation();
    $("command").textContent = command();
    if (frames.last) firstPicture ??= performance.now();
    timings.push(performance.now() - began);
    if (timings.length > 200) timings.shift();
}

function showBar() {
    $("play").textContent = frames.playing ? "Pause" : frames.done ? "Play again" : "Play";
    $("step").disabled = frames.done;
    $("at").textContent = frames.last ? `step ${frames.steps} of ${c.limits.steps}` : "";
}

// ---- Train: sentence, curve, maps, table ---------------------------------------------------------

const times = (ratio) => (Number.isFinite(ratio) ? ` at ${short(ratio)}` : "");

function showSentence() {
    const parts = [WITH, WITHOUT, THIRD].filter((i) => frames.last.students[i]).map((i) => {
        const s = frames.last.students[i], verdict = c.verdicts[s.verdict];
        const word = element("b", { class: KIND[i], title: verdict.meaning }, verdict.name);
        const name = i === WITHOUT ? "without the scale" : label(i);
        return [element("span", { class: KIND[i] }, i === WITH ? name[0].toUpperCase() + name.slice(1) : name), ": ", word, times(s.ratio)];
    });
    const quiet = " Loss over the loss of not attending, median of the last 20 steps.";
    $("sentence").replaceChildren(...parts.flatMap((p, i) => (i ? ["; ", ...p] : p)), ".", element("span", { class: "quiet" }, quiet));
    const verdicts = frames.last.students.map((s) => s?.verdict).join();
    // read out at a pause and where a verdict changes, not at every step
    if (frames.playing && verdicts === frames.said) return;
    frames.said = verdicts;
    $("said").textContent = $("sentence").textContent;
}

function showTrain() {
    if (!frames.last) return;
    showSentence();
    compareRecorded();
    showCurve();
    showHeat();
    showNumbers();
}

const FRAME = { left: 58, top: 12, bottom: 46, get right() { return narrow.matches ? 22 : 118; } };
// A chart's axes: x and y map to the picture; ticks are [value, text].
function axes(svg, x, y, xs, ys, name) {
    const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number), { left, right, top, bottom } = FRAME;
    const out = [element("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - right}` })];
    for (const [v, t] of ys) out.push(element("text", { class: "quiet", x: left - 7, y: y(v) + 5, "text-anchor": "end" }, t));
    for (const [v, t] of xs) out.push(element("text", { class: "quiet", x: x(v), y: height - bottom + 18, "text-anchor": "middle" }, t));
    out.push(element("text", { class: "quiet", x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" }, name));
    return out;
}

// The path through [x, y] points; what it takes of the picture goes to `taken`.
function path(points, name, taken) {
    points.forEach(([x, y], k) => taken.push([points[Math.max(0, k - 1)][0], x, Math.min(y, points[Math.max(0, k - 1)][1]), Math.max(y, points[Math.max(0, k - 1)][1])]));
    return element("path", { class: name, d: `M${points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L")}` });
}

// A label of a curve of ratios near the end of its line, where no line and no label is.
function labelled(frame, kind, text, [x, y], taken) {
    const { left, width, top, height } = frame, tall = narrow.matches ? 19 : 14, wide = text.length * tall * 0.56, beside = x + 8 + wide > left + width, from = beside ? x - 8 - wide : x + 8;
    const near = taken.filter(([a, b]) => b >= from && a <= from + wide), free = (at) => near.every(([, , a, b]) => b < at - tall || a > at + 5);
    const heights = Array.from({ length: height / 3 }, (_, k) => top + 16 + 3 * k).filter((at) => at < top + height - 6).sort((a, b) => Math.abs(a - y - 5) - Math.abs(b - y - 5));
    const at = heights.find(free) ?? heights[0];
    taken.push([from, from + wide, at - tall, at + 5]);
    return element("text", { class: KIND[kind], x: beside ? x - 8 : x + 8, y: at, "text-anchor": beside ? "end" : "start" }, text);
}

// Ratios with a dotted line, and what they are; a narrow screen has the words above the curve.
const marks = () => [[1, ["no better than", "not attending"]], [0.1, [c.verdicts[0].name]]];

// The frame of a curve of ratios up to this step: its x, y and marks.
function ratioFrame(all, end) {
    const { left, right, top, bottom } = FRAME, width = 560 - left - right, height = 400 - top - bottom;
    const finite = all.filter((r) => r > 0 && Number.isFinite(r)), reach = (pick) => Math.log10(finite.reduce((a, b) => pick(a, b), 1));
    const low = Math.max(-12, Math.min(-1.3, reach(Math.min) - 0.3)), high = Math.min(8, Math.max(1.2, reach(Math.max) + 0.15));
    const x = (step) => left + (width * step) / end;
    const y = (r) => top + (height * (high - Math.min(high, Math.max(low, Math.log10(r))))) / (high - low);
    const ys = [], xs = [0, 1, 2, 3, 4, 5].map((i) => [(i * end) / 5, String((i * end) / 5)]), every = high - low > 6 ? 2 : 1;
    for (let p = Math.ceil(low); p <= high; p++) if (p % every === 0) ys.push([10 ** p, power(p)]);
    const out = axes($("curve"), x, y, xs, ys, "training step");
    marks().forEach(([r, words]) => {
        out.push(element("path", { class: "mark", d: `M${left} ${y(r)}H${left + width}` }));
        if (!narrow.matches) words.forEach((w, i) => out.push(element("text", { class: "quiet", x: left + width + 6, y: y(r) + 5 + 15 * i }, w)));
    });
    return { x, y: (r) => y(Number.isFinite(r) ? r : 10 ** high), left, top, width, height, out, taken: [1, 0.1].map((r) => [left, left + width, y(r), y(r)]) };
}

function showCurve() {
    const svg = $("curve"), end = Math.min(c.limits.steps, Math.max(100, Math.ceil(frames.steps / 100) * 100));
    const frame = ratioFrame(frames.ratios.flat(), end), { x, y, out, taken } = frame, drawn = [WITH, WITHOUT, THIRD].filter((i) => frames.ratios[i].length);
    const ends = drawn.map((i) => {
        const points = frames.ratios[i].map((r, k) => [x(k), y(r)]);
        out.push(path(points, KIND[i], taken));
        return points.at(-1);
    });
    ends.forEach(([cx, cy], k) => {
        const gone = frames.last.students[drawn[k]].diverged ? ` ${c.verdicts.at(-1).name}` : "";
        out.push(element("circle", { class: `dot ${KIND[drawn[k]]}`, cx, cy, r: 4 }), labelled(frame, drawn[k], label(drawn[k]) + gone, [cx, cy], taken));
    });
    for (const [step, r] of recordedHere().flat()) out.push(element("circle", { class: "recorded", cx: x(step), cy: y(r), r: 3.5 }));
    svg.replaceChildren(...out);
    if (!frames.playing)
        svg.setAttribute("aria-label", `Loss over the loss of not attending against the training step, log scale. ${$("sentence").textContent}`);
}

// ---- The maps of one sequence ----

let colours = null, cursor = null;
function palette() {
    const style = getComputedStyle(document.documentElement), get = (n) => style.getPropertyValue(n).trim();
    const rgb = (hex) => (hex.length === 4 ? [...hex.slice(1)].map((d) => d + d) : hex.slice(1).match(/../g)).map((d) => parseInt(d, 16));
    const [zero, full] = [rgb(get("--paper")), rgb(get("--full"))], shades = new Uint8ClampedArray(4 * 256);
    for (let w = 0; w < 256; w++) shades.set([...zero.map((z, i) => z + ((full[i] - z) * w) / 255), 255], 4 * w);
    return { ink: get("--ink"), line: get("--line"), kind: [get("--without"), get("--with")], shades };
}

// Widths are asked for when they change, not at every picture: asking lays the page out.
const widths = new Map(), small = document.createElement("canvas");
const resized = new ResizeObserver((all) => {
    for (const x of all) widths.set(x.target, x.contentRect.width);
    later();
});

function heat(canvas, weights, gradients, kind) {
    const n = now.tokens, dpr = devicePixelRatio || 1, wide = widths.get(canvas) || 0, side = gradients ? wide / 1.32 : wide;
    if (!wide) return;
    const pixels = { width: Math.round(wide * dpr), height: Math.round(side * dpr) };
    if (canvas.width !== pixels.width || canvas.height !== pixels.height) Object.assign(canvas, pixels);
    const g = canvas.getContext("2d"), s = side / n, image = new ImageData(n, n);
    weights.forEach((w, i) => image.data.set(colours.shades.subarray(4 * Math.round(255 * w), 4 * Math.round(255 * w) + 4), 4 * i));
    if (small.width !== n) small.width = small.height = n;
    small.getContext("2d").putImageData(image, 0, 0);
    g.setTransform(dpr, 0, 0, dpr, 0, 0);
    g.clearRect(0, 0, wide, side);
    g.imageSmoothingEnabled = false;
    g.drawImage(small, 0, 0, side, side);
    g.strokeStyle = colours.line;
    g.strokeRect(0.5, 0.5, side - 1, side - 1);
    g.fillStyle = colours.kind[kind];
    for (let r = 0; gradients && r < n; r++) {
        const long = Math.max(1, Math.min(1, Math.max(0, (Math.log10(gradients[r]) + 8) / 8)) * (wide - side - 6));
        // stripes, so that orange is told from blue without its colour
        if (kind === WITH) g.fillRect(side + 5, r * s + s * 0.15, long, s * 0.7);
        else for (let x = 0; x < long; x += 5) g.fillRect(side + 5 + x, r * s + s * 0.15, Math.min(3.6, long - x), s * 0.7);
    }
    if (!cursor) return;
    g.strokeStyle = colours.ink;
    g.lineWidth = 2;
    g.strokeRect(cursor.k * s, cursor.r * s, s, s);
    g.lineWidth = 1;
}

function showHeat() {
    const { students, teacher } = frames.last, n = now.tokens;
    if (teacher.length !== n * n) return;
    colours ??= palette();
    heat($("heat-teacher"), teacher, null);
    for (const i of [WITHOUT, WITH]) heat($(`heat-${i}`), students[i].weights, students[i].gradients, i);
    if (cursor) {
        const { r, k } = cursor, at = r * n + k, w = (x) => short(x, 3);
        $("cell").textContent = `Query ${r + 1}, key ${k + 1}: teacher ${w(teacher[at])}; ${withName()} ${w(students[WITH].weights[at])}, without ${w(students[WITHOUT].weights[at])}. ` +
            `Gradient through row ${r + 1}: ${w(students[WITH].gradients[r])} and ${w(students[WITHOUT].gradients[r])}.`;
    }
    if (frames.playing) return;
    const sharp = (weights) => [...Array(n).keys()].filter((r) => Math.max(...weights.slice(r * n, r * n + n)) > 0.9).length;
    const words = (name, weights) => `Attention of ${name}: ${sharp(weights)} of ${n} rows have a weight above 0.9.`;
    $("heat-teacher").setAttribute("aria-label", words("the teacher", teacher));
    for (const i of [WITHOUT, WITH])
        $(`heat-${i}`).setAttribute("aria-label", `${words(`the student ${label(i)}`, students[i].weights)} Median gradient through a row of the batch: ${short(column(i, "row_grad_median"))}.`);
}

function pointAt(e) {
    const box = e.currentTarget.getBoundingClientRect(), s = box.height / now.tokens;
    const r = Math.floor((e.clientY - box.top) / s), k = Math.floor((e.clientX - box.left) / s);
    if (r >= 0 && k >= 0 && r < now.tokens && k < now.tokens) cursor = { r, k };
    later();
}

// Moves {r, k} by an arrow key inside rows x cols; false for another key.
function moved(e, at, rows, cols) {
    const by = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (!by || e.ctrlKey || e.altKey || e.metaKey) return false;
    e.preventDefault();
    at.r = Math.min(rows - 1, Math.max(0, at.r + by[0]));
    at.k = Math.min(cols - 1, Math.max(0, at.k + by[1]));
    return true;
}

// ---- The table ----

const column = (i, name) => frames.last.students[i].columns[c.columns.findIndex((x) => x.name === name)];
const ROWS = ["row_grad_median", "grad_wq", "grad_wq_rms", "logit_step", "entropy_mean", "max_weight_mean", "argmax_agreement"];

// A median stands in the program's list below the mean whose words it shares.
function meaning(name) {
    const at = c.columns.findIndex((x) => x.name === name), own = c.columns[at].meaning;
    for (let i = at; i >= 0; i--) if (c.columns[i].meaning.includes(": ")) return i === at || own.includes(" ") ? own : `${c.columns[i].meaning.split(": ")[0]}: ${own}`;
    return own;
}

function showNumbers() {
    const body = $("numbers").tBodies[0], ratio = (i) => column(i, "loss") / column(i, "loss_uniform");
    const rows = [["loss / loss_uniform", "ratio of the curve", ratio], ...ROWS.map((name) => [meaning(name), name, (i) => column(i, name)])];
    if (body.rows.length !== rows.length)
        body.replaceChildren(...rows.map(([words, name]) => element("tr", {}, element("th", { scope: "row", title: name }, words), element("td"), element("td"))));
    rows.forEach(([, , get], r) => [WITH, WITHOUT].forEach((i, k) => (body.rows[r].cells[k + 1].textContent = short(get(i), 3))));
}

// ---- Map ---------------------------------------------------------------------------------------

let trained; // the default map: its settings, and cells of d_k, sigma0, kappa, verdict, state, index of the step at which it had 0.1
const PLANE = { left: 56, top: 6, height: 300, get width() { return narrow.matches ? 348 : 830; } };
const LETTER = { early: "e", slow: "s", stalled: "S", diverged: "D" }; // as the program's map prints them
let spot = { r: 3, k: 6 }; // where the arrow keys are
const along = (list, x) => Math.log2(x / list[0]) / Math.log2(list[1] / list[0]) + 0.5;

function plane() {
    const d_k = [...new Set(trained.cells.map((x) => x[0]))].reduce((a, b) => (Math.abs(Math.log(b / now["d-k"])) < Math.abs(Math.log(a / now["d-k"])) ? b : a));
    const of = trained.cells.filter((x) => x[0] === d_k), sigma0 = [...new Set(of.map((x) => x[1]))], kappa = [...new Set(of.map((x) => x[2]))];
    const w = PLANE.width / kappa.length, h = PLANE.height / sigma0.length;
    const within = (v, most) => Math.min(most, Math.max(0, v)), at = (list, v) => Math.floor(along(list, v)) in list;
    return { d_k, of, sigma0, kappa, w, h, x: (v) => PLANE.left + within(w * along(kappa, v), PLANE.width),
        y: (v) => PLANE.top + PLANE.height - within(h * along(sigma0, v), PLANE.height), inside: (k, s) => at(kappa, k) && at(sigma0, s) };
}

const square = (p, r, k) => ({ x: PLANE.left + k * p.w, y: PLANE.top + PLANE.height - (r + 1) * p.h, width: p.w, height: p.h });

// The regions, drawn anew only for another d_k or width of the screen.
function showCells(p) {
    const { left, top, width, height } = PLANE, key = `${p.d_k} ${width}`, out = [];
    if ($("plane").dataset.key === key) return;
    const write = (x, y, text, anchor = "middle") => out.push(element("text", { class: "quiet", x, y, "text-anchor": anchor }, text));
    for (const [, s, k, verdict, state, step] of p.of) {
        const at = square(p, p.sigma0.indexOf(s), p.kappa.indexOf(k)), word = narrow.matches ? LETTER[verdict] : verdict, leftAgain = verdict !== "trained";
        out.push(element("rect", { class: `cell ${verdict}`, ...at }, element("title", {}, `sigma0 ${s}, kappa ${k}: ${verdict}${state ? `, ${state}` : ""}`)));
        // above the middle, where a student of this cell starts
        write(at.x + p.w / 2, at.y + 12, step === null ? word : leftAgain && narrow.matches ? "*" : `${step + 1}${leftAgain ? "*" : ""}`);
    }
    p.kappa.forEach((v, i) => write(left + (i + 0.5) * p.w, top + height + 18, narrow.matches && i % 2 ? "" : String(v)));
    p.sigma0.forEach((v, i) => write(left - 7, top + height - (i + 0.5) * p.h + 5, String(v), "end"));
    write(left + width / 2, top + height + 40, "kappa: nominal step in logits");
    out.push(element("text", { class: "quiet", x: 13, y: top + height / 2, transform: `rotate(-90 13 ${top + height / 2})`, "text-anchor": "middle" }, "sigma0: spread of the logits"));
    $("plane").dataset.key = key;
    $("plane").setAttribute("viewBox", `0 0 ${left + width + 8} ${top + height + 48}`);
    $("plane").replaceChildren(element("g", {}, ...out), element("g", { id: "students" }));
    $("map-of").textContent = `The cells are those of d_k ${p.d_k}. *: reached, and left again${narrow.matches ? "; S stalled, s slow, e early" : ""}.`;
    const { optimizer, tokens, batch, seed, steps } = trained;
    $("map-is").textContent = `Each cell was trained for ${steps} steps by sqrtdk map (${optimizer}, T ${tokens}, batch ${batch}, seed ${seed})`;
}

// A student's mark, told by its shape, as in the figures of `map`.
const MARK = ["M0-6L7 6H-7Z", "M-6 0A6 6 0 1 1 6 0A6 6 0 1 1-6 0Z", "M0-7L7 0L0 7L-7 0Z"];
const mark = (i, at = {}) => element("path", { class: `dot ${KIND[i]}`, d: MARK[i], ...at });

// What of the students' settings is not that of the cells.
function unlike(p) {
    const of = { d_k: [p.d_k, now["d-k"]], T: [trained.tokens, now.tokens], batch: [trained.batch, now.batch], seed: [trained.seed, now.seed] };
    const other = Object.entries(of).filter(([, [a, b]]) => a !== b), method = now.optimizer !== trained.optimizer;
    if (!method && !other.length) return "";
    const list = (side) => [...(method ? [[trained.optimizer, now.optimizer][side]] : []), ...other.map(([name, x]) => `${name} ${x[side]}`)].join(", ");
    return ` The cells are of ${list(0)}; your students have ${list(1)}${method ? `, and their kappa is that of ${now.optimizer}` : ""}: the cells need not hold for them.`;
}

function showMap() {
    const p = plane(), out = [];
    showCells(p);
    if (document.activeElement === $("plane")) out.push(element("rect", { class: "cursor", ...square(p, spot.r, spot.k) }));
    for (const i of [WITHOUT, WITH, THIRD]) {
        const trail = frames.trail[i].filter(([k, s]) => k > 0 && s > 0);
        if (!trail.length) continue;
        const line = trail.map(([k, s]) => `${p.x(k).toFixed(1)} ${p.y(s).toFixed(1)}`);
        out.push(element("path", { class: KIND[i], d: `M${line.join("L")}` }), mark(i, { transform: `translate(${line.at(-1)})` }));
    }
    $("students").replaceChildren(...out);
    if (!frames.last) return;
    const there = [WITH, WITHOUT, THIRD].filter((i) => frames.last.students[i]), lines = there.map((i) => {
        const s = frames.last.students[i];
        const place = Number.isNaN(s.kappaNow) ? "no kappa (its rule divides by norms), so no mark" : `kappa ${short(s.kappaNow)}${p.inside(s.kappaNow, s.sigma) ? "" : " (beyond the map)"}`;
        return `${label(i)}: spread ${short(s.sigma)}, ${place}, ${c.verdicts[s.verdict].name}${times(s.ratio)}`;
    });
    $("map-key").replaceChildren(...there.filter((i) => !Number.isNaN(frames.last.students[i].kappaNow)).map((i) => element("span", { class: KIND[i] }, element("svg", { class: "key", viewBox: "-9 -9 18 18" }, mark(i)), label(i))));
    $("plane-text").textContent = `At step ${frames.steps} ${lines.join("; ")}.${unlike(p)}`;
    if (frames.playing) return;
    $("plane").setAttribute("aria-label", `Map of ${p.kappa.length} by ${p.sigma0.length} cells; arrow keys choose one, Enter trains there. ${$("plane-text").textContent}`);
    showSentence();
}

function trainAt(sigma0, kappa) {
    Object.assign(now, { sigma0: Number(sigma0.toPrecision(2)), kappa: Number(kappa.toPrecision(2)) });
    restart(true);
    store();
    showAll();
}

function clickPlane(e) {
    const p = plane(), { x, y } = new DOMPoint(e.clientX, e.clientY).matrixTransform($("plane").getScreenCTM().inverse());
    const k = (x - PLANE.left) / p.w, s = (PLANE.top + PLANE.height - y) / p.h;
    if (k < 0 || s < 0 || k > p.kappa.length || s > p.sigma0.length) return;
    const from = (list, at) => list[0] * (list[1] / list[0]) ** (at - 0.5);
    trainAt(from(p.sigma0, s), from(p.kappa, k));
}

function keyOnPlane(e) {
    const p = plane(), at = { r: p.sigma0.length - 1 - spot.r, k: spot.k };
    if (e.key === "Enter") return trainAt(p.sigma0[spot.r], p.kappa[spot.k]);
    if (!moved(e, at, p.sigma0.length, p.kappa.length)) return;
    spot = { r: p.sigma0.length - 1 - at.r, k: at.k };
    showMap();
    const [, s, k, verdict, , steps] = p.of.find((x) => x[1] === p.sigma0[spot.r] && x[2] === p.kappa[spot.k]);
    $("said").textContent = `sigma0 ${s}, kappa ${k}: ${verdict}${steps === null ? "" : ` after ${steps + 1} steps`}`;
}

// ---- Saturation --------------------------------------------------------------------------------

let points = { id: 0, of: [[], []] };
// [index in theory_moments, what is drawn of it, the picture's top]
const METRICS = [[7, (x) => x, 1], [5, Math.sqrt, 0.5]];

function curves() {
    if (points.key === `${now.keys} ${now.scale}`) return;
    points = { id: points.id + 1, key: `${now.keys} ${now.scale}`, of: [[], []], done: false };
    const d_k = STOPS["d-k"]();
    worker.postMessage({ do: "curve", id: points.id, keys: now.keys, d_k, scales: ["none", rule().name].map((n) => c.rules.findIndex((r) => r.name === n)) });
}

function onPoint(m) {
    if (m.id !== points.id) return;
    if (m.is === "curve") points.done = true;
    else if (m.values) points.of[m.which].push([m.d_k, m.values]);
    if (now.view === "saturation") later();
}

const interpolated = (list, x, get) => {
    const k = list.findIndex(([d]) => d >= x);
    if (k < 0) return NaN;
    const [d1, v1] = list[k], [d0, v0] = list[Math.max(0, k - 1)], t = d1 === d0 ? 1 : Math.log(x / d0) / Math.log(d1 / d0);
    return get(v0) + t * (get(v1) - get(v0));
};

function showSaturation() {
    $("keys-said").textContent = now.keys;
    const { left, right, top, bottom } = FRAME, width = 560 - left - right, height = 360 - top - bottom, said = [[], []];
    const x = (d) => left + (width * Math.log2(d)) / Math.log2(c.limits.d_k), freezing = 2 * Math.log(now.keys);
    METRICS.forEach(([index, of, most], m) => {
        const y = (v) => top + height * (1 - v / most);
        const out = axes($(`sat-${m}`), x, y, [1, 4, 16, 64, 256, 1024].map((d) => [d, String(d)]), [0, 0.2, 0.4, 0.6, 0.8, 1].map((f) => [f * most, String(Number((f * most).toFixed(2)))]), "key width dₖ");
        const taken = [[x(freezing), x(freezing) + 140, top, top + 18]];
        if (freezing >= 1) out.push(element("path", { class: "mark", d: `M${x(freezing)} ${top}V${top + height}` }), element("text", { class: "quiet", x: x(freezing) + 5, y: top + 14 }, `dₖ = 2 ln n = ${short(freezing)}`));
        const ends = points.of.map((list, i) => {
            const get = (v) => of(v[index]), here = said[m][i] = list.length ? interpolated(list, now["d-k"], get) : NaN;
            if (list.length) out.push(path(list.map(([d, v]) => [x(d), y(get(v))]), KIND[i], taken));
            if (Number.isNaN(here)) return list.length && [x(list.at(-1)[0]), y(get(list.at(-1)[1]))];
            out.push(element("circle", { class: `dot ${KIND[i]}`, cx: x(now["d-k"]), cy: y(here), r: 6 }));
            taken.push([x(now["d-k"]) - 8, x(now["d-k"]) + 8, y(here) - 8, y(here) + 8]);
            return list.length && [x(list.at(-1)[0]), y(get(list.at(-1)[1]))];
        });
        ends.forEach((end, i) => end && out.push(labelled({ left, width, top, height }, i, label(i), end, taken)));
        $(`sat-${m}`).replaceChildren(...out);
        $(`sat-${m}`).setAttribute("aria-label", !points.done ? "Curves that are being computed" : `Exact curves against the key width for ${now.keys} keys. At d_k ${now["d-k"]}: without ${short(said[m][0])}, ${withName()} ${short(said[m][1])}.`);
    });
    const exact = points.of[1].length || !points.done;
    $("saturation-text").textContent = !points.done ? "Computing …" : `At dₖ ${now["d-k"]} the largest of ${now.keys} weights is on average ${short(said[0][0])} without the scale` +
        (exact ? ` and ${short(said[0][1])} ${withName()}; the root mean square of the Jacobian’s norm is ${short(said[1][0])} and ${short(said[1][1])}.` : `; of the rule ${rule().name}, which divides by norms, no exact mean is known.`);
}

// ---- Step by step --------------------------------------------------------------------------------

// In the order of page.h; those above each step; those that both sides share.
const MATRICES = ["Q", "K", "V", "S", "dO", "dP", "Z", "E", "sum of E", "P", "O", "dZ", "dS", "dQ", "dK", "dV"];
const ABOVE = [[], ["Q", "K", "V"], ["S"], ["Z"], ["E"], ["sum of E"], ["P"], ["O"], ["dO"], ["dV"], ["dP"], ["dZ"], ["dS"], ["dQ"], ["dK"]];
const SHARED = ["Q", "K", "V", "S", "dO", "dP"], INPUTS = ["Q", "K", "V"];
let head = null; // the matrices by name, a pair of sides each

// The numbers of a link, or the lesson's own; `afresh` forgets what was changed.
function lesson(afresh) {
    if (afresh) now.q = now.k = now.v = null;
    const given = [now.q, now.k, now.v], inputs = given.some((x) => x) ? given.map((x) => (x ?? "").split(",").map(Number)) : null;
    worker.postMessage({ do: "attend", lesson: c.lessons.findIndex((l) => l.name === now.lesson), inputs, names: MATRICES,
        rule: c.rules.findIndex((r) => r.name === rule().name), causal: now.causal ? 1 : 0, backward: now.backward ? 1 : 0 });
}

const plain = (x) => (x === 0 ? "0" : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e6 ? String(Number(x.toFixed(4))) : short(x, 3));
const number = (name, side, r, k) => head[name][side].values[r * head[name][side].cols + Number(k)];
const own = (name, side) => (SHARED.includes(name) ? 0 : side);
const hidden = (r, k) => now.causal === "yes" && k > r;

// A sum of products: what is said of it, and the cells it is made of.
function sum(side, pairs) {
    const terms = pairs.map(([a, b]) => `${plain(number(a[0], own(a[0], side), a[1], a[2]))} · ${plain(number(b[0], own(b[0], side), b[1], b[2]))}`);
    return [terms.length > 6 ? [...terms.slice(0, 5), "…", terms.at(-1)].join(" + ") : terms.join(" + "), pairs.flat()];
}

// Where entry [r, k] of a matrix comes from: in words, and the cells.
function origin(name, side, r, k) {
    const all = (n) => [...Array(n).keys()], get = (m, ...at) => plain(number(m, own(m, side), ...at));
    const keys = all(head.K[0].rows), seen = keys.filter((j) => !hidden(r, j)), width = all(head.Q[0].cols);
    const used = side ? c.rules.find((x) => x.name === "none") : rule();
    if (["S", "Z", "E", "P", "dP", "dZ", "dS"].includes(name) && hidden(r, k)) return ["masked: this key has no part in what follows", []];
    switch (name) {
    case "S": return sum(side, width.map((i) => [["Q", r, i], ["K", k, i]]));
    case "Z": return [`${used.meaning}, of ${get("S", r, k)}`, [["S", r, k], ...width.flatMap((i) => [["Q", r, i], ["K", k, i]])]];
    case "E": return [`exp(${get("Z", r, k)} - ${plain(Math.max(...seen.map((j) => number("Z", side, r, j))))})`, seen.map((j) => ["Z", r, j])];
    case "sum of E": return [seen.map((j) => get("E", r, j)).join(" + "), seen.map((j) => ["E", r, j])];
    case "P": return [`${get("E", r, k)} / ${get("sum of E", r, 0)}`, [["E", r, k], ["sum of E", r, 0]]];
    case "O": return sum(side, seen.map((j) => [["P", r, j], ["V", j, k]]));
    case "dV": return sum(side, all(head.Q[0].rows).map((i) => [["P", i, r], ["dO", i, k]]));
    case "dP": return sum(side, all(head.V[0].cols).map((i) => [["dO", r, i], ["V", k, i]]));
    case "dZ": return [`${get("P", r, k)} · (${get("dP", r, k)} - (${sum(side, seen.map((j) => [["P", r, j], ["dP", r, j]]))[0]}))`, seen.flatMap((j) => [["P", r, j], ["dP", r, j]])];
    case "dS": return [`${get("dZ", r, k)} times the scale: ${used.meaning}`, [["dZ", r, k]]];
    case "dQ": return head.dS[side] ? sum(side, seen.map((j) => [["dS", r, j], ["K", j, k]])) : [used.meaning, []];
    case "dK": return head.dS[side] ? sum(side, all(head.Q[0].rows).map((i) => [["dS", i, r], ["Q", i, k]])) : [used.meaning, []];
    case "dO": return ["the loss is the sum of O", []];
    default: return ["yours to change", []];
    }
}

const cellOf = (name, side, r, k) => document.querySelector(`td[data-at="${name}|${own(name, side)}|${r}|${k}"]`);
function explain(td) {
    const [name, side, r, k] = td.dataset.at.split("|").map((x, i) => (i ? Number(x) : x));
    for (const x of document.querySelectorAll("#lesson-steps .from, #lesson-steps .here")) x.classList.remove("from", "here");
    const [text, from] = origin(name, side, r, k);
    td.classList.add("here");
    for (const [n, i, j] of from) cellOf(n, side, i, j)?.classList.add("from");
    const of = SHARED.includes(name) ? "" : `, ${side ? "without the scale" : withName()}`;
    $("origin").textContent = `${name}[${r + 1},${k + 1}]${of} = ${plain(number(name, side, r, k))}: ${text}`;
}

function table(name, side) {
    const m = head[name][side], body = element("tbody"), sides = SHARED.includes(name) ? "" : side ? " without" : ` ${withName()}`;
    for (let r = 0; r < m.rows; r++) {
        const row = element("tr");
        for (let k = 0; k < m.cols; k++) {
            const x = m.values[r * m.cols + k], td = element("td", { "data-at": `${name}|${side}|${r}|${k}`, tabindex: !INPUTS.includes(name) && r + k === 0 ? 0 : -1 });
            if (INPUTS.includes(name)) td.append(element("input", { type: "text", inputmode: "decimal", value: plain(x), "aria-label": `${name}, row ${r + 1}, column ${k + 1}` }));
            else td.textContent = hidden(r, k) && ["S", "Z", "E", "P", "dP", "dZ", "dS"].includes(name) ? "-" : plain(x);
            // a weight is a bar too
            if (name === "P") td.style.background = `linear-gradient(to right, var(${side ? "--bad" : "--good"}) ${100 * x}%, transparent 0)`;
            row.append(td);
        }
        body.append(row);
    }
    return element("table", { class: "matrix" }, element("caption", { class: sides && (side ? "without" : "with") }, `${name}${sides} [${m.rows},${m.cols}]`), body);
}

function onAttended(m) {
    if (m.sizes) {
        say(`q, k, v: expected ${m.sizes.join(", ")} numbers for the lesson ${now.lesson}; it is as it was.`);
        return lesson(true);
    }
    if (!m.matrices) return say("These numbers are beyond the range of a double, or there is not enough memory.");
    head = m.matrices;
    const focus = document.activeElement?.closest?.("td")?.dataset.at, norms = !head.dS[0] && now.backward;
    const sections = c.headings.map((h, i) => {
        const tables = ABOVE[i].flatMap((name) => (SHARED.includes(name) ? [0] : [0, 1]).filter((side) => head[name][side]).map((side) => table(name, side)));
        const shows = tables.length && (i <= 7 || now.backward);
        return shows && element("section", {}, element("h2", {}, norms ? h.meaning : h.name), element("div", { class: "matrices" }, ...tables));
    });
    $("lesson-steps").replaceChildren(...sections.filter((x) => x));
    $("about").textContent = c.lessons.find((l) => l.name === now.lesson).meaning;
    const again = focus && document.querySelector(`td[data-at="${focus}"]`);
    if (again) (again.querySelector("input") ?? again).focus();
    $("command").textContent = command();
}

// Any entry of Q, K, V may be changed; all three then stand in the link.
function edit(input) {
    const x = Number(input.value), [name, , r, k] = input.closest("td").dataset.at.split("|");
    const good = input.value.trim() !== "" && Number.isFinite(x) && Math.abs(x) <= 1e6;
    say(good ? "" : `${name}[${Number(r) + 1},${Number(k) + 1}] '${input.value}': expected a number from -1e6 to 1e6.`);
    if (!good || x === number(name, 0, r, k)) return;
    const [q, kk, v] = INPUTS.map((n) => [...head[n][0].values]);
    ({ Q: q, K: kk, V: v })[name][r * head[name][0].cols + Number(k)] = x;
    Object.assign(now, { q: q.join(), k: kk.join(), v: v.join() });
    lesson();
    store();
}

function lessonCommand() {
    const options = `${rule().name === "sqrt" ? "" : ` --scale ${rule().name}`}${now.causal ? " --mask causal-top-left" : ""}${now.backward ? " --backward" : ""}`;
    if (!now.q || !head) return `sqrtdk trace --lesson ${now.lesson}${options}`;
    const lines = (m) => [...Array(m.rows).keys()].map((r) => [...m.values.slice(r * m.cols, (r + 1) * m.cols)].join()).join("\\n");
    const files = INPUTS.map((n) => `printf '${lines(head[n][0])}\\n' >${n.toLowerCase()}.csv; `).join("");
    return `${files}sqrtdk trace --q q.csv --k k.csv --v v.csv${options}`;
}

function listenToLessons() {
    const steps = $("lesson-steps");
    const at = (e) => e.target.closest?.("td[data-at]");
    steps.onpointerover = (e) => at(e) && explain(at(e));
    // all digits of a number while it is edited
    const entry = (e) => number(...at(e).dataset.at.split("|"));
    steps.addEventListener("focusin", (e) => {
        if (at(e)) explain(at(e));
        if (e.target.matches("input")) e.target.value = entry(e);
    });
    steps.addEventListener("focusout", (e) => e.target.matches("input") && (e.target.value = plain(entry(e))));
    steps.addEventListener("change", (e) => e.target.matches("input") && edit(e.target));
    steps.onkeydown = (e) => {
        const td = at(e), [name, side, r, k] = td ? td.dataset.at.split("|") : [];
        if (!td || e.target.matches("input")) return;
        const place = { r: Number(r), k: Number(k) }, m = head[name][side];
        if (moved(e, place, m.rows, m.cols)) cellOf(name, Number(side), place.r, place.k).focus();
    };
    $("restore").onclick = () => {
        lesson(true);
        store();
    };
}

// ---- The run of `sqrtdk report` ------------------------------------------------------------------

let run = null; // name, command, meta, said, tables, figures; of stall rows of {d_k, rate, scale, seed, step, ratio}
let recorded = null; // {key, points: [without, with]} of the run that is trained again
const identity = () => ["d-k", "tokens", "batch", "scale", "seed", "optimizer"].map((n) => now[n]).concat(rate()).join();

// The first rows of a CSV; all digits of a number are its title.
function rowsOf({ ending, rows, more }) {
    const fields = (line) => [...line.matchAll(/(?:^|,)("(?:[^"]|"")*"|[^,]*)/g)].map(([, f]) => (f[0] === '"' ? f.slice(1, -1).replaceAll('""', '"') : f));
    const [head, ...lines] = rows.trim().split("\n").map(fields), text = (x) => (x === "" || isNaN(x) || Number.isInteger(Number(x)) ? x : short(Number(x), 4));
    const row = (name, list, of) => element("tr", {}, ...list.map((x) => element(name, { title: x }, of(x))));
    const made = element("table", {}, element("thead", {}, row("th", head, String)), element("tbody", {}, ...lines.map((l) => row("td", l, text))));
    const count = more ? `the first ${lines.length} of ${lines.length + more} rows` : `${lines.length} rows`;
    return element("details", run.log ?? run.bands ? {} : { open: "" }, element("summary", {}, `${run.name.replace(/\.csv$/, "")}${ending}: ${count}`), element("div", { class: "wide", tabindex: 0 }, made));
}

function openRun() {
    run = JSON.parse($("run").textContent);
    if (!run) return;
    // the figures of the plot scripts; what a reader hears of one is its own description
    $("run-figures").replaceChildren(...run.figures.map((svg) => element("img", { src: `data:image/svg+xml,${encodeURIComponent(svg)}`,
        alt: new DOMParser().parseFromString(svg, "image/svg+xml").querySelector("title")?.textContent ?? "A figure of these results" })));
    $("run-name").textContent = run.name;
    // the table keeps its lines, sentences find their own
    $("run-said").replaceChildren(...run.said.trim().split("\n\n").flatMap((part) => (/^ +d_k/.test(part) ? [element("pre", {}, part)]
        : part.split(/(?<=\.)\n/).map((sentence) => element("p", {}, sentence.replaceAll("\n", " "))))));
    $("run-meta").textContent = run.meta;
    $("run-tables").replaceChildren(...run.tables.map(rowsOf));
    $("tab-run").hidden = false;
    VIEWS.unshift("run");
    $("run-form").hidden = $("run-drawn").hidden = !(run.log ?? run.bands);
    if (!$("run-form").hidden) openLog();
}

// What the page draws of stall, and can train again.
function openLog() {
    const [head, ...lines] = (run.log ?? run.bands).trim().split("\n").map((l) => l.split(",")), at = (n) => head.indexOf(n);
    run.rows = lines.map((l) => ({ d_k: l[at("d_k")], rate: `${l[at("optimizer")]} ${l[at("lr")]}`, scale: l[at("scale")], step: Number(l[at("step")]),
        seed: run.log ? l[at("seed")] : "median", ratio: run.log ? Number(l[at("loss")]) / Number(l[at("loss_uniform")]) : Number(l[at("ratio_median")]) }));
    run.settings = Object.fromEntries(run.meta.split("\n").map((l) => l.split(" = ")));
    const distinct = (n) => [...new Set(run.rows.map((r) => r[n]))];
    const fill = (id, list, pick) => ($(id).replaceChildren(...list.map((v) => element("option", { value: v }, v))), ($(id).value = pick ?? list[0]));
    fill("run-d-k", distinct("d_k"), distinct("d_k").at(-1));
    fill("run-rate", distinct("rate"));
    fill("run-scale", distinct("scale").filter((n) => n !== "none"));
    fill("run-seed", distinct("seed"));
    for (const id of ["run-d-k", "run-rate", "run-scale", "run-seed"]) $(id).onchange = showRun;
    $("again").onclick = trainAgain;
}

// Of the chosen runs: a line a seed, for a scale.
function lines(scale, seed) {
    const of = new Map(), [d_k, rate] = [$("run-d-k").value, $("run-rate").value];
    for (const r of run.rows) {
        if (r.d_k !== d_k || r.rate !== rate || r.scale !== scale || (seed !== undefined && r.seed !== seed)) continue;
        if (!of.has(r.seed)) of.set(r.seed, []);
        of.get(r.seed).push([r.step, r.ratio]);
    }
    return [...of.values()];
}

// Why the page cannot train it; "" if it can.
function cannotTrain() {
    const s = run.settings, { d_k, tokens, batch } = c.limits;
    if (run.bands) return "only medians over seeds are in this page";
    if (run.only_there) return `it was run with --${run.only_there}, which the page does not have`;
    const over = [["tokens", s.tokens, tokens], ["batch", s.batch, batch], ["d_k", $("run-d-k").value, d_k]].find(([, x, most]) => Number(x) > most);
    if (over) return `its ${over[0]} ${over[1]} is more than the page trains, ${over[2]}`;
    return $("run-scale").value && c.rules.some((r) => r.name === $("run-scale").value) ? "" : "it has no rule that the page has beside none";
}

function showRun() {
    $("command").textContent = command();
    if (!run.rows) return;
    const rule = $("run-scale").value, sets = [lines("none"), rule ? lines(rule) : []], all = sets.flat(2);
    const last = all.reduce((most, p) => Math.max(most, p[0]), 1), tick = 5 * 10 ** Math.max(0, Math.floor(Math.log10(last)) - 2);
    const frame = ratioFrame(all.map((p) => p[1]), Math.ceil(last / tick) * tick), { x, y, out, taken } = frame;
    const ends = sets.map((set, i) => {
        const drawn = set.map((line) => line.map(([s, r]) => [x(s), y(r)]));
        out.push(...drawn.map((points) => path(points, `${KIND[i]} thin`, taken)));
        return drawn[0]?.at(-1);
    });
    ends.forEach((end, i) => end && out.push(labelled(frame, i, i ? withName(rule) : "without", end, taken)));
    $("run-curve").replaceChildren(...out);
    $("run-lines").textContent = run.log ? `${sets[0].length || sets[1].length} seeds, a line each` : "medians over seeds";
    $("run-curve").setAttribute("aria-label", `Loss over the loss of not attending at d_k ${$("run-d-k").value}; what the runs showed is said beside.`);
    const why = cannotTrain();
    $("again").disabled = why !== "";
    $("run-why").textContent = why && `It cannot be trained here: ${why}.`;
}

function trainAgain() {
    const seed = $("run-seed").value, [method, lr] = $("run-rate").value.split(" "), rule = $("run-scale").value;
    Object.assign(now, { "d-k": Number($("run-d-k").value), tokens: Number(run.settings.tokens), batch: Number(run.settings.batch), optimizer: method,
        lr: Number(lr), scale: `none,${rule}`, seed: Number(seed), sigma0: null, kappa: null });
    recorded = { key: identity(), points: ["none", rule].map((name) => lines(name, seed)[0] ?? []) };
    restart(true);
    show("train", true);
}

const recordedHere = () => (recorded?.key === identity() ? recorded.points : []);
function compareRecorded() {
    const seen = recordedHere().flatMap((points, i) => points.filter(([s]) => s in frames.ratios[i]).map(([s, r]) => r === frames.ratios[i][s]));
    $("recorded").hidden = !seen.length;
    $("recorded").textContent = `Circles: as recorded in ${run?.name}. ${seen.filter((x) => x).length} of ${seen.length} numbers have the same bits here.`;
}

// ---- Start -------------------------------------------------------------------------------------

const unpack = async (id) => {
    const bytes = Uint8Array.from(atob($(id).textContent.trim()), (x) => x.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
};

function listen() {
    $("play").onclick = () => (frames.playing ? pause() : start());
    $("step").onclick = () => {
        frames.playing = false;
        worker.postMessage({ do: "step" });
    };
    $("reset").onclick = () => restart();
    $("link").onclick = async () => {
        store(link(true));
        const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
        say(copied ? "The link to this view is copied." : `The link to this view is in the address bar: ${location.hash}`);
    };
    VIEWS.forEach((v, i) => {
        $(`tab-${v}`).onclick = () => show(v);
        $(`tab-${v}`).onkeydown = (e) => {
            const to = { ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: VIEWS.length - 1 }[e.key];
            if (to !== undefined) show(VIEWS[(to + VIEWS.length) % VIEWS.length], true);
        };
    });
    // space plays wherever it has no meaning of its own
    document.addEventListener("keydown", (e) => {
        if (e.key !== " " || $("bar").hidden || e.target.closest("button, input, select, a")) return;
        e.preventDefault();
        $("play").click();
    });
    for (const id of ["heat-teacher", "heat-0", "heat-1"]) {
        $(id).onpointermove = pointAt;
        resized.observe($(id));
    }
    $("maps").onkeydown = (e) => {
        const at = cursor ?? { r: 0, k: 0 };
        if (moved(e, at, now.tokens, now.tokens)) {
            cursor = at;
            later();
        }
    };
    $("plane").onclick = clickPlane;
    $("plane").onkeydown = keyOnPlane;
    $("plane").onfocus = $("plane").onblur = later;
    document.addEventListener("visibilitychange", () => document.hidden && frames.playing && pause());
    addEventListener("hashchange", () => ![link(), link(true)].includes(location.hash) && (asked() === engine ? open() : location.reload()));
    addEventListener("resize", later);
    for (const change of [dark, matchMedia("print")]) change.addEventListener("change", () => {
        colours = null;
        showAll();
    });
}

function open() {
    readLink();
    cursor = null;
    restart();
    show(now.view);
}

const HEARD = {
    loaded(m) {
        c = m;
        openRun();
        describe();
        makeControls();
        listen();
        listenToLessons();
        open();
        $("engine").textContent = m.engine === "relaxed" ? "Computed by the C code of sqrtdk as WebAssembly, with this browser’s fused multiply-add: the bits of the command line."
            : `Computed by the C code of sqrtdk as WebAssembly: the bits of the command line. This browser’s own multiply-add is not used, so it is done in software, some twenty times slower; the batch is ${SETTINGS.batch.standard} at first.`;
        if (m.faults) say("This browser does not round as the program does: the numbers below are not the program’s.");
    },
    frame: onFrame,
    point: onPoint,
    curve: onPoint,
    attended: (m) => onAttended(m),
    failed: () => say("There is not enough memory for these sizes."),
};

const asked = () => new URLSearchParams(location.hash.slice(1)).get("engine"), engine = asked();
async function main() {
    trained = JSON.parse($("map-cells").textContent);
    worker = new Worker(URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" })));
    worker.onmessage = (m) => HEARD[m.data.is](m.data);
    worker.onerror = (e) => say(`The computation failed: ${e.message}`);
    const [relaxed, exact] = await Promise.all([unpack("relaxed"), unpack("exact")]);
    worker.postMessage({ do: "load", relaxed, exact, want: engine }, [relaxed, exact]);
}

main().catch((e) => say(`The page needs a browser with WebAssembly and its vectors: ${e.message}`));
