// better-auth on plain node:http with better-sqlite3, set up as its documentation shows. It differs from the defaults
// only where the measurement asks for it: no rate limiter, and argon2id at Penstock's parameters unless
// BENCH_HASH=scrypt (its own default) is set.
import { createServer } from "node:http";
import { hash, verify } from "@node-rs/argon2";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { toNodeHandler } from "better-auth/node";
import Database from "better-sqlite3";

const { BENCH_DATABASE, BENCH_PORT, BENCH_HASH } = process.env;
const argon2id = { algorithm: 2, timeCost: 2, memoryCost: 19 * 1024, parallelism: 1 };

const database = new Database(BENCH_DATABASE);
database.pragma("journal_mode = WAL");
database.pragma("synchronous = FULL");

const options = {
  database,
  baseURL: `http://127.0.0.1:${BENCH_PORT}`,
  secret: "only-for-measuring-0123456789abcdef",
  telemetry: { enabled: false },
  rateLimit: { enabled: false },
  emailAndPassword: {
    enabled: true,
    ...(BENCH_HASH !== "scrypt" && {
      password: {
        hash: (password) => hash(password, argon2id),
        verify: ({ hash: stored, password }) => verify(stored, password),
      },
    }),
  },
};

await (await getMigrations(options)).runMigrations();
createServer(toNodeHandler(betterAuth(options))).listen(Number(BENCH_PORT), "127.0.0.1");
