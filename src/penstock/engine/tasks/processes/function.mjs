// Runs a JavaScript script as the body of an async function: `function.mjs CODE ARGUMENTS RESULT`.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [code, named, result] = process.argv.slice(2);
const names = JSON.parse(readFileSync(named, "utf8"));
const AsyncFunction = (async () => {}).constructor;

globalThis.require = createRequire(join(process.cwd(), "script.mjs"));
const value = await new AsyncFunction(...Object.keys(names), readFileSync(code, "utf8"))(...Object.values(names));
if (value !== undefined) writeFileSync(result, JSON.stringify(value));
