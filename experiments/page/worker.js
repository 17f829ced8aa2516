// worker.js: runs the C module, away from the page. Work is cut into slices of some 30 ms, between
// which messages are heard. A call may grow the memory: views of it are made after each.
"use strict";

const SLICE = 30, PACE = 15; // ms: the longest slice, and the least time from step to step
let c; // the module's functions
let run = null, asked = null, playing = false, due = 0, unit = 0, sent = [], shown = 0, queue = [];

const numbers = (at, count) => new Float64Array(c.memory.buffer, at, count).slice();

function text(at) {
    const bytes = new Uint8Array(c.memory.buffer);
    let end = at;
    while (bytes[end]) end++;
    return new TextDecoder().decode(bytes.subarray(at, end));
}

function list(which) {
    const out = [];
    for (let at, i = 0; (at = c.word(which, i, 0)); i++) {
        const [meaning, source] = [c.word(which, i, 1), c.word(which, i, 2)];
        out.push({ name: text(at), meaning: meaning ? text(meaning) : "", source: source ? text(source) : "" });
    }
    return out;
}

// ---- Loading -----------------------------------------------------------------------------------

// The module asks the system for nothing but to print, and what it would print nobody sees.
const WASI = { fd_write: () => 52, fd_seek: () => 52, fd_close: () => 52 };

async function instance(bytes) {
    return (await WebAssembly.instantiate(bytes, { wasi_snapshot_preview1: WASI })).instance.exports;
}

// The relaxed module is taken where the browser knows it and its multiply-add rounds once.
async function load({ relaxed, exact, want }) {
    let engine = "exact";
    if (want !== "exact")
        try {
            c = await instance(relaxed);
            if (c.fma_faults() === 0) engine = "relaxed";
        } catch { /* a browser without relaxed SIMD: the other module is for it */ }
    if (engine === "exact") c = await instance(exact);
    const [steps, d_k, tokens, batch] = [0, 1, 2, 3].map((i) => c.limit(i));
    const [rules, optimizers, columns, verdicts, lessons, headings] = [0, 1, 2, 3, 4, 5].map(list);
    optimizers.forEach((o, i) => (o.lr = c.optimizer_lr(i)));
    postMessage({ is: "loaded", engine, limits: { steps, d_k, tokens, batch }, rules, optimizers, columns, verdicts,
        lessons, headings, faults: c.fma_faults() });
}

// ---- Training ----------------------------------------------------------------------------------

// The newest run that was asked for, {id, d_k, tokens, batch, seed, columns, every, students: [null or {rule, optimizer,
// lr, gain} or {optimizer, sigma0, kappa}]}: those that a slider passed meanwhile are left out.
function start() {
    if (!asked) return;
    [run, asked] = [asked, null];
    unit = shown = 0;
    sent = run.students.map(() => 0);
    if (!c.teacher(run.d_k, run.tokens, run.batch, run.seed)) return postMessage({ is: "failed", id: run.id });
    run.students.forEach((s, i) => {
        if (s?.sigma0) c.point(i, s.optimizer, s.sigma0, s.kappa);
        else if (s) c.student(i, s.rule, s.optimizer, s.lr, s.gain);
    });
    step();
    frame();
}

const most = () => Math.max(...run.students.map((s, i) => (s ? c.steps(i) : 0)));
const running = (i) => run.students[i] && !run.students[i].done;

// A unit of work: the teacher's batch, or one student's step on it. False once nothing is left.
function work(measured) {
    if (unit === 0 && !run.students.some((s, i) => running(i))) return false;
    if (unit === 0) c.next();
    else if (running(unit - 1)) {
        const s = run.students[unit - 1], went = c.step(unit - 1, measured);
        s.done = went !== 1 || c.steps(unit - 1) >= c.limit(0);
        s.diverged = went === -1;
    }
    unit = (unit + 1) % (run.students.length + 1);
    return true;
}

function step() {
    run.show = true;
    do if (!work(1)) return;
    while (unit !== 0);
}

function student(i) {
    if (!run.students[i]) return null;
    const steps = c.steps(i), from = sent[i], n = run.tokens, s = run.students[i];
    sent[i] = steps;
    return { from, ratios: numbers(c.ratios(i) + 8 * from, steps - from), columns: numbers(c.columns(i), run.columns),
        weights: numbers(c.weights(i), n * n), gradients: numbers(c.row_gradients(i), n), kappaNow: c.kappa_now(i),
        sigma: c.sigma_now(i), ratio: c.ratio(i), verdict: c.verdict(i), diverged: !!s.diverged };
}

function frame() {
    const done = !run.students.some((s, i) => running(i));
    if (done) playing = false;
    shown = performance.now();
    postMessage({ is: "frame", id: run.id, steps: most(), done, playing, students: run.students.map((s, i) => student(i)),
        teacher: numbers(c.teacher_weights(), run.tokens ** 2) });
}

// What is shown is measured: the step after which a frame is due, and the last.
function train() {
    const began = performance.now();
    if (began < due) return setTimeout(again, due - began);
    for (let now = began; playing && now - began < SLICE; now = performance.now()) {
        if (unit === 0 && now < due) break;
        if (unit === 0) run.show = now - shown > run.every || most() === c.limit(0) - 1;
        if (!work(run.show ? 1 : 0)) return frame();
        if (unit === 0) due = Math.max(due + PACE, now - SLICE);
        if (unit === 0 && (run.show || !run.students.some((s, i) => running(i)))) frame();
    }
    again();
}

// ---- Turns -------------------------------------------------------------------------------------

// Training and points of curves take turns; a message channel comes back sooner than a timer.
const turn = new MessageChannel();
let waiting = false;
function again() {
    if (waiting || !(playing || asked || queue.length)) return;
    waiting = true;
    turn.port2.postMessage(0);
}
turn.port1.onmessage = () => {
    waiting = false;
    start();
    const began = performance.now();
    while (queue.length && performance.now() - began < SLICE) queue.shift()();
    if (playing) train();
    else again();
};

// Exact means of n keys, a point at a time; the newest curve is the one that is wanted.
function curve({ keys, scales, d_k, id }) {
    queue = d_k.flatMap((d) => scales.map((rule, which) => () => {
        const at = c.theory(keys, d, rule), values = at ? numbers(at, 8) : null;
        postMessage({ is: "point", id, which, d_k: d, values });
    }));
    queue.push(() => postMessage({ is: "curve", id }));
    again();
}

// Every matrix of a head, by side; the inputs are the lesson's, or those that were given.
function attend({ lesson, inputs, rule, causal, backward, names }) {
    if (!c.lesson(lesson) || !c.attend(rule, 0, 0)) return { matrices: null };
    const sizes = [0, 1, 2].map((which) => c.rows(which, 0) * c.cols(which, 0));
    if (inputs?.some((values, which) => values.length !== sizes[which])) return { sizes };
    inputs?.forEach((values, which) => new Float64Array(c.memory.buffer, c.input(which), values.length).set(values));
    if (!c.attend(rule, causal, backward)) return { matrices: null };
    const matrix = (which, side) => {
        const at = c.matrix(which, side), rows = c.rows(which, side), cols = c.cols(which, side);
        return at ? { rows, cols, values: numbers(at, rows * cols) } : null;
    };
    return { matrices: Object.fromEntries(names.map((name, which) => [name, [0, 1].map((side) => matrix(which, side))])) };
}

const HEARD = {
    load,
    start(m) {
        playing = false;
        asked = m.run;
        again();
    },
    play() {
        if (playing) return;
        playing = true;
        due = performance.now();
        again();
    },
    // ends in the middle of no step, and with one that was measured
    pause() {
        playing = false;
        start();
        while (unit !== 0) work(run.show ? 1 : 0);
        if (!run.show) step();
        frame();
    },
    step() {
        playing = false;
        start();
        while (unit !== 0) work(0);
        step();
        frame();
    },
    curve,
    attend(m) {
        postMessage({ is: "attended", id: m.id, ...attend(m) });
    },
};

onmessage = (m) => HEARD[m.data.do](m.data);
