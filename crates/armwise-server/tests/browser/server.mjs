// Programs under test, each in a folder of its own, and a small client of the API.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const armwise = process.env.ARMWISE ?? "target/release/armwise";

/** Runs a command to its end and gives what it printed. */
export function run(...args) {
  const done = spawnSync(armwise, args, { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`armwise ${args.join(" ")}: ${done.stderr}`);
  return done.stdout;
}

/** A folder that goes when the process ends. */
export function folder() {
  const path = mkdtempSync(join(tmpdir(), "armwise-browser-"));
  process.on("exit", () => rmSync(path, { recursive: true, force: true }));
  return path;
}

const children = [];

/** Ends every server; node does not end while one runs. */
export function stopAll() {
  children.forEach((child) => child.kill("SIGKILL"));
}

/** Starts a server and waits until it says where it is. */
export function start(...args) {
  const child = spawn(armwise, args, { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  let said = "";
  child.stderr.on("data", (text) => (said += text));
  return new Promise((resolve, reject) => {
    let out = "";
    child.stdout.on("data", (text) => {
      out += text;
      const address = out.match(/https?:\/\/[0-9.:]+/);
      if (address) resolve({ url: address[0], child, said: () => said });
    });
    child.on("exit", (code) => reject(new Error(`armwise ${args[0]} ended with ${code}: ${said}`)));
  });
}

/** Asks the API; fails unless the answer is a good one. */
export async function ask(url, method, path, body, token) {
  const headers = { "content-type": "application/json" };
  if (token) headers.authorization = `Bearer ${token}`;
  const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : undefined;
}

/** Waits until a server takes requests. */
export async function ready(url) {
  for (let tries = 0; tries < 1200; tries += 1) {
    if ((await fetch(`${url}/readyz`).catch(() => ({ ok: false }))).ok) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`${url} is not ready`);
}
