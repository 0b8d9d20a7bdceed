// The build fails when the first page loads more script than it may, or loads the editor, the graph or the charts.
import { readFileSync, rmSync } from "node:fs";
import { gzipSync } from "node:zlib";

const MOST = 200 * 1024; // the promise is 350 KB; this is what we hold ourselves to
const LAZY = /node_modules\/(@codemirror|@lezer|@xyflow|@dagrejs|uplot)\//;

const folder = new URL("../../src/penstock/console/static/", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL(".vite/manifest.json", folder), "utf8"));

const first = new Set();
const collect = (key) => {
  if (first.has(key)) return;
  first.add(key);
  for (const next of manifest[key].imports ?? []) collect(next);
};
collect("index.html");
// The frame and the home page are what a signed-in visitor meets first.
for (const key of Object.keys(manifest)) if (/src\/(frame\/Frame|areas\/home\/Home)\.tsx$/.test(key)) collect(key);

let bytes = 0;
for (const key of first) {
  const content = readFileSync(new URL(manifest[key].file, folder));
  bytes += gzipSync(content, { level: 9 }).length;
  if (LAZY.test(key)) fail(`${key} must not be part of the first page`);
}
const kilobytes = (bytes / 1024).toFixed(1);
if (bytes > MOST) fail(`the first page loads ${kilobytes} KB of script (gzipped); ${MOST / 1024} KB are allowed`);
rmSync(new URL(".vite", folder), { recursive: true });
console.log(`first page: ${kilobytes} KB of script, gzipped (at most ${MOST / 1024})`);

function fail(message) {
  console.error(message);
  process.exit(1);
}
