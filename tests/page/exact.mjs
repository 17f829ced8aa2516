// exact.mjs: the page's modules in Node against the native program, bit for bit: every column of 40
// steps of stall, at a narrow and a wide d_k; and their multiply-add on hard cases and random ones.
//   node [--experimental-wasm-relaxed-simd] tests/page/exact.mjs PROGRAM MODULE.wasm...
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import process from "node:process";

const [program, ...modules] = process.argv.slice(2);
const STEPS = 40, BATCH = 8, SEED = 1;
const wasi = { fd_write: () => 52, fd_seek: () => 52, fd_close: () => 52 };

function load(path) {
    const module = new WebAssembly.Module(readFileSync(path));
    return new WebAssembly.Instance(module, { wasi_snapshot_preview1: wasi }).exports;
}

function text(c, at) {
    const bytes = new Uint8Array(c.memory.buffer);
    let end = at;
    while (bytes[end]) end++;
    return new TextDecoder().decode(bytes.subarray(at, end));
}

function list(c, which) {
    const out = [];
    for (let at, i = 0; (at = c.word(which, i, 0)); i++) out.push(text(c, at));
    return out;
}

// The program's log: rows by column name.
function log(d_k, optimizer) {
    const csv = execFileSync(program, ["stall", "--d-k", d_k, "--batch", BATCH, "--steps", STEPS, "--every", 1,
        "--seed", SEED, "--optimizer", optimizer, "--quiet", "--output", "-"], { encoding: "utf8" });
    const [head, ...rows] = csv.trim().split("\n").map((line) => line.split(","));
    return rows.map((row) => Object.fromEntries(row.map((x, i) => [head[i], x])));
}

let compared = 0, wrong = 0;
function same(what, got, expected) {
    compared++;
    if (Object.is(got, expected)) return;
    wrong++;
    console.error(`${what}: ${got} here, ${expected} natively`);
}

function training(c, name, d_k, optimizer) {
    const columns = list(c, 2), method = list(c, 1).indexOf(optimizer), rules = list(c, 0);
    const rows = log(d_k, optimizer);
    c.teacher(d_k, 16, BATCH, SEED);
    ["none", "sqrt"].forEach((rule, i) => c.student(i, rules.indexOf(rule), method, c.optimizer_lr(method), 1));
    for (let step = 0; step < STEPS; step++) {
        c.next();
        ["none", "sqrt"].forEach((rule, i) => {
            c.step(i, 2); // all columns
            const at = c.columns(i), got = new Float64Array(c.memory.buffer, at, columns.length);
            const row = rows.find((r) => r.scale === rule && Number(r.step) === step);
            columns.forEach((column, k) =>
                same(`${name}, d_k ${d_k}, ${optimizer}, ${rule}, step ${step}, ${column}`, got[k], Number(row[column])));
        });
    }
}

// a b + c with one rounding, by whole numbers: every double is an integer times 2^-1074.
function exactly(a, b, c) {
    const parts = (x) => {
        const bits = new BigUint64Array(new Float64Array([x]).buffer)[0];
        const e = Number((bits >> 52n) & 2047n), m = bits & ((1n << 52n) - 1n);
        return [(bits >> 63n ? -1n : 1n) * (e ? m | (1n << 52n) : m), (e || 1) - 1075];
    };
    const [ma, ea] = parts(a), [mb, eb] = parts(b), [mc, ec] = parts(c), low = Math.min(ea + eb, ec);
    let sum = ((ma * mb) << BigInt(ea + eb - low)) + (mc << BigInt(ec - low)), e = low;
    const sign = sum < 0n ? -1 : 1;
    if (sum === 0n) return a * b + c;
    if (sum < 0n) sum = -sum;
    const drop = Math.max(sum.toString(2).length - 53, -1074 - e);
    if (drop > 0) {
        const rest = sum & ((1n << BigInt(drop)) - 1n), half = 1n << BigInt(drop - 1);
        sum >>= BigInt(drop);
        e += drop;
        if (rest > half || (rest === half && sum & 1n)) sum += 1n;
    }
    // in two steps, neither of which rounds: 2^e may be below the least number by itself
    const first = Math.trunc(e / 2);
    return sign * Number(sum) * 2 ** first * 2 ** (e - first);
}

function multiply_add(c, name) {
    const random = (() => {
        let x = 1n;
        return () => Number((x = (x * 6364136223846793005n + 1442695040888963407n) & ((1n << 64n) - 1n)) >> 11n) / 2 ** 53;
    })();
    const number = () => (random() < 0.5 ? -1 : 1) * (1 + random()) * 2 ** Math.floor(random() * 40 - 20);
    same(`${name}: faults on hard cases`, c.fma_faults(), 0);
    for (let i = 0; i < 4000; i++) {
        const a = number(), b = number();
        // every other time the sum nearly cancels, where two roundings show
        const z = i % 2 ? -a * b * (1 + Math.floor(random() * 3) * 2 ** -52) : number();
        same(`${name}: ${a} * ${b} + ${z}`, c.fma(a, b, z), exactly(a, b, z));
    }
    // where the software's halves would be lost or overflow
    for (const [a, b, z] of [[1e-300, 1e-20, 1e-310], [1e300, 1e-300, -1], [2 ** 1000, 2 ** -1000, -1], [5e-324, 0.5, 5e-324],
        [1e-160, 1e-160, 5e-324], [1.7e308, 1.5, -1.7e308]])
        same(`${name}: ${a} * ${b} + ${z}`, c.fma(a, b, z), exactly(a, b, z));
}

for (const path of modules) {
    // the first module needs nothing new; Node 18 has relaxed SIMD under numbers that are no longer its own
    if (path !== modules[0] && !WebAssembly.validate(readFileSync(path))) {
        console.log(`note: Node ${process.version} does not know what ${path} is made of: not compared`);
        continue;
    }
    const c = load(path), name = path.replace(/.*\//, "");
    multiply_add(c, name);
    for (const d_k of [8, 512]) training(c, name, d_k, "sgd");
    training(c, name, 8, "adam");
}
console.log(`${compared - wrong} of ${compared} numbers have the program's bits`);
process.exit(wrong || !compared ? 1 : 0);
