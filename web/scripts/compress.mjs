// Beside every built file that gets smaller by it: a .br and a .gz, so that the server compresses nothing.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const folder = new URL("../../src/penstock/console/static/", import.meta.url).pathname;

for (const name of readdirSync(folder, { recursive: true })) {
  if (!/\.(js|css|svg|json)$/.test(name)) continue;
  const path = join(folder, name);
  const content = readFileSync(path);
  if (content.length < 1024) continue;
  writeFileSync(`${path}.gz`, gzipSync(content, { level: 9 }));
  writeFileSync(`${path}.br`, brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
}
