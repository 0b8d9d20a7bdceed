import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env["PENSTOCK_URL"] ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": new URL("./src", import.meta.url).pathname } },
  build: {
    outDir: "../src/penstock/console/static",
    emptyOutDir: true,
    // The policy allows no data: script or font, and a file of its own is cached for ever.
    assetsInlineLimit: 0,
    sourcemap: false,
    manifest: true,
    chunkSizeWarningLimit: 700,
  },
  server: {
    // `npm run dev`: the page from Vite, everything else from a server that runs.
    proxy: Object.fromEntries(["/api", "/user", "/docs", "/openapi.json"].map((path) => [path, server])),
  },
  test: {
    // What needs a document says so: `// @vitest-environment jsdom` (it takes seconds to set up).
    environment: "node",
    include: ["src/**/*.test.{ts,tsx}"],
    // A machine with more to do than cores may halt a test for longer than the usual five seconds.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 120_000,
  },
});
