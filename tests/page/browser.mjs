// browser.mjs: the page in a headless Chromium, opened from the disk: it plays, keys and links work,
// garbage is said, both engines give the program's bits, nothing is asked of a network and nothing
// goes wrong. Pictures of it go to a folder, to be looked at.
//   node tests/page/browser.mjs PAGE PROGRAM FOLDER [quick]
//   node tests/page/browser.mjs PAGE PROGRAM FILE.png picture      the picture of README, no tests
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, utimesSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import { browser } from "./chromium.mjs";

// as a shell takes it
const quoted = (path) => (/^[\w./-]+$/.test(path) ? path : `'${path}'`);

const [page, program, folder, quick] = process.argv.slice(2);
const url = (hash = "") => `file://${resolve(page)}${hash}`;
if (quick !== "picture") mkdirSync(folder, { recursive: true });
const b = await browser();
let passed = 0, failed = 0;

// The page with the results of a command in it, and a figure that was drawn of others.
function report(figure, command, ...options) {
    const csv = resolve(folder, `${command}.csv`), out = resolve(folder, `report-${command}.html`), drawn = resolve(folder, "figures", figure);
    execFileSync(program, [command, ...options, "--force", "--output", csv]);
    mkdirSync(resolve(folder, "figures"), { recursive: true });
    copyFileSync(`experiments/expected/${figure}`, drawn);
    utimesSync(drawn, new Date(), new Date());
    execFileSync(program, ["report", "--page", page, "--output", out, csv]);
    return out;
}

async function test(name, size, hash, body) {
    const t = await b.tab(size);
    try {
        await t.go(size.page ? `file://${size.page}${hash}` : url(hash));
        await t.until("typeof frames === 'object' && frames?.last", "the first picture");
        await body(t);
        if (t.requests.length) throw new Error(`asked of a network: ${t.requests}`);
        if (t.faults.length) throw new Error(`went wrong: ${t.faults}`);
        passed++;
    } catch (e) {
        failed++;
        console.error(`${name}: ${e.message}`);
        await t.picture(`${folder}/failed-${failed}.png`).catch(() => {});
    }
}

function equal(what, got, expected) {
    if (got !== expected) throw new Error(`${what}: ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
}
const text = (t, id) => t.see(`document.getElementById(${JSON.stringify(id)}).textContent`);
const press = (t, id) => t.see(`document.getElementById(${JSON.stringify(id)}).click()`);

// The ratios of a run of the program, by rule.
function natively(...options) {
    const csv = execFileSync(program, ["stall", ...options, "--every", "1", "--quiet", "--output", "-"], { encoding: "utf8" });
    const [head, ...rows] = csv.trim().split("\n").map((line) => line.split(","));
    const at = (name) => head.indexOf(name);
    return (rule) => rows.filter((r) => r[at("scale")] === rule).map((r) => Number(r[at("loss")]) / Number(r[at("loss_uniform")]));
}

async function playsTo(t, steps) {
    await press(t, "play");
    await t.until(`frames.steps >= ${steps}`, `step ${steps}`, 120);
    await press(t, "play");
    await t.until("!frames.playing");
    await t.until("frames.ratios[1].at(-1) === column(1, 'loss') / column(1, 'loss_uniform')", "the columns of the step that is shown");
}

async function hasTheBits(t, steps, ...options) {
    const expected = natively(...options, "--steps", String(steps));
    for (const [i, rule] of [[0, "none"], [1, "sqrt"]]) {
        const got = await t.see(`frames.ratios[${i}].slice(0, ${steps})`);
        equal(`${rule}: steps`, got.length, steps);
        got.forEach((r, k) => equal(`${rule}, step ${k}`, r, expected(rule)[k]));
    }
}

// Labels of a chart that a line goes through: "" for none.
const crossed = (t, id) => t.see(`(() => {
    const svg = document.getElementById("${id}"), lines = [...svg.querySelectorAll("path.with, path.without, path.third")];
    return [...svg.querySelectorAll("text.with, text.without, text.third")].filter((x) => {
        const box = x.getBBox();
        for (let i = 0; i <= 30; i++) for (let j = 3; j <= 7; j++)
            if (lines.some((l) => l.isPointInStroke(new DOMPoint(box.x + (box.width * i) / 30, box.y + (box.height * j) / 10)))) return true;
        return false;
    }).map((x) => x.textContent).join();
})()`);

// Texts of a chart that lie over each other, by the first two; "" for none.
const overlapping = (t, id) => t.see(`(() => {
    const boxes = [...document.querySelectorAll("#${id} text")].filter((x) => x.textContent).map((x) => [x.textContent, x.getBoundingClientRect()]);
    for (const [a, p] of boxes) for (const [b, q] of boxes)
        if (p !== q && p.left < q.right - 0.5 && q.left < p.right - 0.5 && p.top < q.bottom - 3 && q.top < p.bottom - 3) return a + " and " + b;
    return "";
})()`);

// Texts whose contrast with what is behind them is below 4.5, and which: by the formula of WCAG 2.
const faint = (t) => t.see(`(() => {
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number), style = (x) => getComputedStyle(x);
    const light = (c) => c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
    const behind = (x) => { for (; x; x = x.parentElement) { const c = numbers(style(x).backgroundColor); if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
    const cells = [...document.querySelectorAll("#plane .cell")].filter((x) => x.checkVisibility()).map((x) => numbers(style(x).fill));
    return [...document.querySelectorAll("main *")].filter((x) => x.checkVisibility() && [...x.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())).filter((x) => {
        const own = numbers(x instanceof SVGElement ? style(x).fill : style(x).color);
        return [behind(x), ...(x.closest("#plane text") ? cells : [])].some((b) => ratio(own, b) < 4.5);
    }).map((x) => x.textContent.slice(0, 30)).join("; ");
})()`);

const DESKTOP = { width: 1280, height: 800 }, PHONE = { width: 390, height: 844, mobile: true };

if (quick === "picture") {
    await test("the picture", DESKTOP, "#d-k=512&batch=32", async (t) => {
        await playsTo(t, 150);
        for (let at = await t.see("frames.steps"); at < 200; at++) await press(t, "step");
        await t.until("frames.steps === 200", "step 200");
        await t.picture(folder);
    });
    await b.close();
    process.exit(failed);
}

await test("plays with the program's bits", DESKTOP, "#d-k=64", async (t) => {
    await playsTo(t, 60);
    await hasTheBits(t, 60, "--d-k", "64", "--seed", "0", "--batch", String(await t.see("now.batch")));
    await t.picture(`${folder}/desktop.png`);
});

if (!quick) {
    await test("the exact engine has them too", DESKTOP, "#d-k=8&engine=exact", async (t) => {
        equal("engine", await t.see("c.engine"), "exact");
        equal("batch", await t.see("now.batch"), 8);
        if (!(await text(t, "engine")).includes("software")) throw new Error("the page does not say which engine");
        await playsTo(t, 30);
        await hasTheBits(t, 30, "--d-k", "8", "--seed", "0", "--batch", "8");
    });

    await test("a reset goes back to the same weights", DESKTOP, "#d-k=8&tokens=5&batch=4&seed=3", async (t) => {
        const first = await t.see("frames.ratios[0][0]");
        await playsTo(t, 25);
        const before = await t.see("frames.ratios[0].slice(0, 20).join()");
        await press(t, "reset");
        await t.until("frames.steps === 1");
        equal("the first ratio", await t.see("frames.ratios[0][0]"), first);
        for (let i = 0; i < 19; i++) await press(t, "step");
        await t.until("frames.steps === 20");
        equal("20 steps", await t.see("frames.ratios[0].join()"), before);
    });

    await test("stops at its last step, and says it", DESKTOP, "#d-k=1&tokens=2&batch=1", async (t) => {
        await press(t, "play");
        await t.until("frames.done", "the end", 60);
        equal("steps", await t.see("frames.steps"), await t.see("c.limits.steps"));
        equal("button", await text(t, "play"), "Play again");
    });

    await test("says that a student diverged", DESKTOP, "#d-k=8&lr=1e300&tokens=4&batch=2", async (t) => {
        await press(t, "play");
        await t.until("frames.last.students[0].diverged", "the end of a student");
        await t.until("document.getElementById('sentence').textContent.includes('diverged')", "its word");
    });

    await test("a lesson's number can be changed, and a link keeps it", DESKTOP, "#view=steps&lesson=soft-lookup&backward=yes", async (t) => {
        await t.until("document.querySelectorAll('#lesson-steps section').length === 14", "the steps");
        equal("P", await t.see("cellOf('P', 0, 0, 0).textContent"), "0.6698");
        await t.see("cellOf('Q', 0, 0, 0).querySelector('input').focus()");
        equal("the number that is edited", await t.see("document.activeElement.value"), "1");
        await t.see("document.activeElement.value = '2'; document.activeElement.dispatchEvent(new Event('change', { bubbles: true }))");
        await t.until("cellOf('S', 0, 0, 0).textContent === '2'", "a new score");
        equal("link", await t.see("location.hash"), "#view=steps&scale=none,sqrt&backward=yes&q=2,0&k=1,0,0,1&v=10,0,0,20");
        await t.see("explain(cellOf('O', 0, 0, 1))");
        if (!/^O\[1,2\], with .* = 3.9114: 0.8044 · 0 \+ 0.1956 · 20$/.test(await text(t, "origin"))) throw new Error(await text(t, "origin"));
        equal("marked", await t.see("document.querySelectorAll('.from').length"), 4);
        const printed = execFileSync("sh", ["-c", `cd '${folder}' && ${(await text(t, "command")).replace("sqrtdk", `'${resolve(program)}'`)}`], { encoding: "utf8" });
        if (!printed.includes("3.9114")) throw new Error("its command prints other numbers");
        await t.picture(`${folder}/steps.png`);
        await press(t, "restore");
        await t.until("cellOf('S', 0, 0, 0).textContent === '1'", "as it was");
    });

    await test("a lesson's numbers that do not fit are said", DESKTOP, "#view=steps&lesson=batch&q=1,2&k=x", async (t) => {
        await t.until("cellOf('S', 0, 0, 0)", "the lesson");
        if (!(await text(t, "notice")).includes("12, 12, 12")) throw new Error(await text(t, "notice"));
    });

    await test("keys: tabs, sliders, space, maps", DESKTOP, "#d-k=8", async (t) => {
        await t.see("document.getElementById('d-k').focus()");
        await t.key("ArrowRight");
        await t.until("now['d-k'] === 12", "a slider's arrow");
        equal("link", await t.see("location.hash"), "#d-k=12&scale=none,sqrt");
        await t.see("document.activeElement.blur()");
        await t.key(" ", " ");
        await t.until("frames.playing && frames.steps > 2", "space plays");
        await t.key(" ", " ");
        await t.until("!frames.playing", "space pauses");
        await t.see("document.getElementById('maps').focus()");
        await t.key("ArrowDown");
        await t.key("ArrowRight");
        await t.until("document.getElementById('cell').textContent.startsWith('Query 2, key 2')", "arrows on a map");
        await t.see("document.getElementById('tab-train').focus()");
        await t.key("ArrowRight");
        equal("view", await t.see("now.view"), "map");
        await t.see("document.getElementById('plane').focus()");
        await t.key("ArrowUp");
        await t.key("Enter");
        await t.until("frames.steps > 2 && frames.last.students[2]", "Enter trains at a point");
        const order = [];
        await t.see("document.activeElement.blur()");
        for (let i = 0; i < 14; i++) {
            await t.key("Tab");
            order.push(await t.see("document.activeElement.id"));
        }
        for (const id of ["tab-map", "d-k", "tokens", "lr", "batch", "scale", "optimizer", "seed", "play", "step", "reset", "link", "plane"])
            if (!order.includes(id)) throw new Error(`Tab does not reach ${id}: ${order}`);
    });

    await test("a click on the map trains there, by the map's own start", DESKTOP, "#view=map&d-k=64", async (t) => {
        await t.until("document.getElementById('plane-text').textContent", "the first picture: what it says moves the map");
        const { x, y } = await t.see("(() => { const p = plane(), m = new DOMPoint(p.x(16), p.y(8)).matrixTransform(document.getElementById('plane').getScreenCTM()); return { x: m.x, y: m.y }; })()");
        await t.click(x, y);
        await t.until("frames.steps > 5", "training");
        // a pixel is some hundredth of an octave
        for (const [name, at] of [["sigma0", 8], ["kappa", 16]]) {
            const got = await t.see(`now.${name}`);
            if (!(Math.abs(Math.log2(got / at)) < 0.05)) throw new Error(`${name}: ${got}, expected ${at}`);
        }
        await t.picture(`${folder}/map.png`);
    });

    await test("a link is taken", DESKTOP, "#d-k=32&tokens=8&lr=0.5&batch=4&optimizer=adam&scale=none,linear&seed=9", async (t) => {
        equal("settings", await t.see("[now['d-k'], now.tokens, now.lr, now.batch, now.optimizer, now.scale, now.seed].join()"), "32,8,0.5,4,adam,none,linear,9");
        equal("link", await t.see("location.hash"), "#d-k=32&tokens=8&lr=0.5&batch=4&optimizer=adam&scale=none,linear&seed=9");
        if (!(await text(t, "command")).startsWith("sqrtdk stall --d-k 32 --tokens 8 --batch 4 --optimizer adam --lr 0.5 --scale none,linear --seed 9 --steps "))
            throw new Error(await text(t, "command"));
        await t.see("location.hash = '#d-k=16'");
        await t.until("now['d-k'] === 16 && frames.last", "another link");
    });

    await test("the button's link is all of the view", DESKTOP, "#d-k=8&engine=exact&view=map&sigma0=4&kappa=2&seed=5", async (t) => {
        await press(t, "link");
        const hash = await t.see("location.hash");
        equal("link", hash, "#view=map&d-k=8&tokens=16&lr=1&batch=8&optimizer=sgd&scale=none,sqrt&seed=5&sigma0=4&kappa=2&engine=exact");
        const command = await text(t, "command");
        await t.go("about:blank");
        await t.go(url(hash));
        await t.until("typeof frames === 'object' && frames?.last", "the view again");
        equal("command", await text(t, "command"), command);
        await t.see(`location.hash = ${JSON.stringify(hash.replace("exact", "relaxed"))}`);
        await t.until("typeof c === 'object' && c?.engine === 'relaxed' && frames?.last", "a link to the other engine");
    });

    for (const hash of ["#d-k=8&lr=1e-7&optimizer=adam&scale=none,rms", "#d-k=1&tokens=2&batch=1&lr=1e300", "#view=map&d-k=8&batch=2", "#view=map&d-k=8&batch=2&sigma0=4&kappa=2&optimizer=adamw",
        "#view=saturation&d-k=4&keys=8&scale=none,cosine", "#view=steps&lesson=batch&causal=yes&backward=yes&scale=none,t5", "#view=steps&q=1e-7,-2&k=1,0,0,1&v=1,2,3,4"])
        await test(`its command runs: ${hash}`, DESKTOP, hash, async (t) => {
            if (hash.includes("steps")) await t.until("head", "the lesson");
            const command = (await text(t, "command")).replace(/sqrtdk (stall|map|saturation)(.*)/, "sqrtdk $1$2 --force --output again.csv");
            execFileSync("sh", ["-c", `cd '${folder}' && ${command.replace("sqrtdk", `'${resolve(program)}'`)}`], { stdio: ["ignore", "ignore", "pipe"] });
        });

    await test("of many changes at once the last is trained", DESKTOP, "#d-k=512&batch=8", async (t) => {
        await t.see("globalThis.heard = 0; worker.addEventListener('message', (m) => (heard += m.data.is === 'frame')); for (let i = 1; i <= 40; i++) change('seed', i)");
        await t.until("frames.id >= 40 && frames.last", "the last");
        if (!((await t.see("heard")) < 20)) throw new Error(`${await t.see("heard")} of 40 were trained`);
    });

    await test("a student without a kappa has no mark, and others' settings are said", DESKTOP, "#view=map&d-k=100&optimizer=adam&tokens=8&batch=4&scale=none,rms", async (t) => {
        equal("marks", await t.see("document.getElementById('map-key').textContent"), "without");
        const said = await text(t, "plane-text");
        for (const part of ["with rms: spread", "no kappa", "The cells are of sgd, d_k 64, T 16, batch 32; your students have adam, d_k 100, T 8, batch 4"])
            if (!said.includes(part)) throw new Error(`${said}: expected ${part}`);
    });

    await test("dark colours are not printed", { ...DESKTOP, dark: true }, "", async (t) => {
        await t.ask("Emulation.setEmulatedMedia", { media: "print", features: [{ name: "prefers-color-scheme", value: "dark" }] });
        equal("paper", await t.see("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)");
    });

    for (const garbage of ["#d-k=99999", "#d-k=abc&tokens=-1", "#%00%ff&x=<b>", "#lr=1e999", "#scale=none", "#view=__proto__&constructor=1", "#seed=1.5", "#&&&===", "#sigma0=4"])
        await test(`garbage in a link: ${garbage}`, DESKTOP, garbage, async (t) => {
            const silent = ["#&&&===", "#sigma0=4"].includes(garbage); // an empty name, and half a point
            if (!silent) equal("said", await t.see("document.getElementById('notice').hidden"), false);
            if (!(await t.see("now['d-k'] >= 1 && now['d-k'] <= c.limits.d_k && now.tokens >= 2"))) throw new Error("not clamped");
        });

    const ofStall = report("stall_verdict.svg", "stall", "--d-k", "8,128", "--seed", "0,1", "--batch", "4", "--steps", "40");
    await test("a report shows a run and trains it again, to the same bits", { ...DESKTOP, page: ofStall }, "", async (t) => {
        equal("view", await t.see("now.view"), "run");
        if (!(await text(t, "run-said")).includes("Stall within 40 steps")) throw new Error("the run's sentences are missing");
        await t.until("document.querySelector('#run-figures img').naturalWidth > 0", "a figure");
        equal("lines through labels", await crossed(t, "run-curve"), "");
        equal("its command", await text(t, "command"), `sqrtdk report ${quoted(resolve(folder, "stall.csv"))}`);
        await t.picture(`${folder}/run.png`);
        await press(t, "again");
        // 40 steps, of which the log has 0, 5, ..., 35 and 39
        await t.until("document.getElementById('recorded').textContent.includes('18 of 18 numbers have the same bits')", "the recorded points");
        await t.picture(`${folder}/run-again.png`);
    });

    const others = [["map", report("map_kappa.svg", "map", "--d-k", "8", "--kappa", "1,4", "--steps", "20", "--batch", "4")],
        ["saturation", report("saturation_metrics.svg", "saturation", "--d-k", "8,64", "--keys", "16", "--rows", "50")]];
    for (const [command, of] of others)
        await test(`a report of ${command}`, { ...DESKTOP, page: of }, "", async (t) => {
            equal("view", await t.see("now.view"), "run");
            equal("nothing to train again", await t.see("document.getElementById('run-form').checkVisibility()"), false);
            await t.until("document.querySelector('#run-figures img').naturalWidth > 0", "a figure");
            const csv = readFileSync(resolve(folder, `${command}.csv`), "utf8").trim().split("\n");
            equal("head", await t.see("[...document.querySelector('#run-tables tr').cells].map((x) => x.textContent).join()"), csv[0]);
            equal("a row", await t.see("[...document.querySelectorAll('#run-tables tr')[16].cells].map((x) => x.title).join()"), csv[16]);
            if (!(await text(t, "run-meta")).includes(`program = sqrtdk ${command}`)) throw new Error("its settings are missing");
            await t.picture(`${folder}/run-${command}.png`, true);
        });

    for (const [name, of] of [["stall", ofStall], ["map", others[0].at(-1)]]) await test(`a report of ${name} on a phone`, { ...PHONE, page: of }, "", async (t) => {
        const wide = await t.see("document.documentElement.scrollWidth");
        if (wide > PHONE.width) throw new Error(`scrolls sideways: ${wide} px`);
        await t.picture(`${folder}/phone-run-${name}.png`);
    });

    await test("curves of saturation", DESKTOP, "#view=saturation&d-k=64&keys=16", async (t) => {
        await t.until("document.getElementById('saturation-text').textContent.includes('0.84 without the scale and 0.25')", "the curves");
        await t.picture(`${folder}/saturation.png`);
    });

    for (const [name, size] of [["phone", PHONE], ["dark", { ...DESKTOP, dark: true }], ["phone-dark", { ...PHONE, dark: true }], ["still", { ...DESKTOP, still: true }]])
        for (const view of ["train", "map", "saturation", "steps"])
            await test(`${name}, ${view}`, size, `#view=${view}&d-k=64`, async (t) => {
                if (view === "train" || view === "map") await playsTo(t, 30);
                else await t.until(view === "saturation" ? "points.done && document.getElementById('saturation-text').textContent.startsWith('At')" : "head && cellOf('O', 1, 0, 0)", "all that is computed");
                const wide = await t.see("document.documentElement.scrollWidth");
                if (wide > size.width) throw new Error(`scrolls sideways: ${wide} px`);
                equal("faint", await faint(t), "");
                for (const chart of { train: ["curve"], map: ["plane"], saturation: ["sat-0", "sat-1"], steps: [] }[view]) {
                    equal(`lines through labels of ${chart}`, await crossed(t, chart), "");
                    equal(`texts over each other in ${chart}`, await overlapping(t, chart), "");
                }
                await t.until("[...document.querySelectorAll('[role=img]')].every((x) => !x.checkVisibility() || x.ariaLabel)", "words for every picture", 20);
                await t.picture(`${folder}/${name}-${view}.png`);
            });

    await test("first picture and drawing in time", DESKTOP, "", async (t) => {
        await t.until("firstPicture !== undefined", "the first picture");
        const first = await t.see("firstPicture");
        await playsTo(t, 60);
        const drawing = await t.see("timings.slice().sort((a, b) => a - b)[timings.length >> 1]");
        console.log(`first picture after ${Math.round(first)} ms, drawing ${drawing.toFixed(1)} ms (median)`);
    });
}

await b.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
