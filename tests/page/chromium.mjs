// chromium.mjs: a headless Chromium, driven over its remote-debugging pipe: no port, no package.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export async function browser(program = process.env.CHROMIUM ?? "chromium") {
    const profile = mkdtempSync(join(tmpdir(), "page-"));
    const child = spawn(program, ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
        "--no-first-run", "--disable-background-networking", `--user-data-dir=${profile}`, "--remote-debugging-pipe"],
        { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    const waiting = new Map(), listeners = [];
    let count = 0, rest = "";
    child.stdio[4].setEncoding("utf8").on("data", (data) => {
        const parts = (rest + data).split("\0");
        rest = parts.pop();
        for (const part of parts) {
            const m = JSON.parse(part);
            if (!m.id) listeners.forEach((hear) => hear(m));
            else if (m.error) waiting.get(m.id)[1](new Error(m.error.message));
            else waiting.get(m.id)[0](m.result);
        }
    });
    const send = (method, params = {}, sessionId) => new Promise((done, failed) => {
        waiting.set(++count, [done, failed]);
        child.stdio[3].write(JSON.stringify({ id: count, method, params, sessionId }) + "\0");
    });
    const close = async () => {
        await send("Browser.close").catch(() => {});
        await new Promise((done) => (child.exitCode === null ? child.once("exit", done) : done()));
        rmSync(profile, { recursive: true, force: true });
    };

    // A tab of this size; what it asks of a network and what goes wrong in it is collected.
    async function tab({ width = 1280, height = 800, dark = false, still = false, mobile = false } = {}) {
        const { targetId } = await send("Target.createTarget", { url: "about:blank" });
        const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
        const requests = [], faults = [], ask = (method, params) => send(method, params, sessionId);
        listeners.push((m) => {
            if (m.sessionId !== sessionId) return;
            if (m.method === "Network.requestWillBeSent" && !/^(file|blob|data):/.test(m.params.request.url)) requests.push(m.params.request.url);
            if (m.method === "Runtime.exceptionThrown") faults.push(m.params.exceptionDetails.exception?.description ?? m.params.exceptionDetails.text);
            if (m.method === "Log.entryAdded" && m.params.entry.level === "error") faults.push(m.params.entry.text);
        });
        for (const domain of ["Page", "Runtime", "Log", "Network"]) await ask(`${domain}.enable`);
        await ask("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: mobile ? 2 : 1, mobile });
        await ask("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" },
            { name: "prefers-reduced-motion", value: still ? "reduce" : "no-preference" }] });
        const see = async (expression) => {
            const { result, exceptionDetails } = await ask("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
            if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
            return result.value;
        };
        const until = async (expression, what = expression, seconds = 60) => {
            const end = Date.now() + 1000 * seconds;
            for (;;) {
                if (await see(expression).catch(() => false)) return;
                if (Date.now() > end) throw new Error(`waited ${seconds} s in vain: ${what}`);
                await new Promise((done) => setTimeout(done, 40));
            }
        };
        const key = async (name, text) => {
            const code = { " ": "Space" }[name] ?? name, number = { " ": 32, Tab: 9, Enter: 13, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40 }[name];
            for (const type of [text ? "keyDown" : "rawKeyDown", "keyUp"])
                await ask("Input.dispatchKeyEvent", { type, key: name, code, windowsVirtualKeyCode: number, text: type === "keyDown" ? text : undefined });
        };
        const click = async (x, y) => {
            for (const type of ["mousePressed", "mouseReleased"]) await ask("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
        };
        const picture = async (path, whole = false) => writeFileSync(path, Buffer.from((await ask("Page.captureScreenshot", { format: "png", captureBeyondViewport: whole })).data, "base64"));
        return { ask, see, until, key, click, picture, requests, faults, go: (url) => ask("Page.navigate", { url }) };
    }
    return { tab, close };
}
