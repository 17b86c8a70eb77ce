// Steps of a client: each prints `ok STEP` or `failed STEP: SQLSTATE MESSAGE`, and the next one runs either way.
"use strict";
const assert = require("node:assert/strict");

const url = process.env.DATABASE_URL;
const connection = {
  host: process.env.PGHOST,
  port: Number(process.env.PGPORT),
  user: process.env.PGUSER,
  database: process.env.PGDATABASE,
};

function version(...packages) {
  const fs = require("node:fs");
  const of = (name) => JSON.parse(fs.readFileSync(`${__dirname}/node_modules/${name}/package.json`)).version;
  console.log("version", packages.map((name) => `${name} ${of(name)}`).join(", "));
}

/** SQLSTATE of an error, or of the driver's error that it wraps. */
function sqlstate(error) {
  for (let e = error, depth = 0; e && depth < 9; e = e.original ?? e.driverError ?? e.nativeError ?? e.cause, depth++) {
    if (typeof e.code === "string" && /^[0-9A-Z]{5}$/.test(e.code)) return e.code;
  }
  return "-----";
}

async function step(name, body) {
  try {
    await body();
    console.log("ok", name);
  } catch (error) {
    const message = `${error?.message ?? error} ${error?.cause?.message ?? ""}`.replace(/\s+/g, " ").slice(0, 300);
    console.log(`failed ${name}: ${sqlstate(error)} ${message}`);
    console.error(error);
  }
}

/** Runs a program, and fails with its output unless it succeeds. */
function run(program, args, options = {}) {
  const { spawnSync } = require("node:child_process");
  const ran = spawnSync(program, args, { encoding: "utf8", env: process.env, ...options });
  const output = `${ran.stdout}${ran.stderr}`;
  console.error(output);
  if (ran.status !== 0) {
    const code = /code: '([0-9A-Z]{5})'/.exec(output)?.[1];
    throw Object.assign(new Error(output.trim().slice(-280)), { code });
  }
  return output;
}

/** Path of a package's program. */
const bin = (name) => `${__dirname}/node_modules/.bin/${name}`;

/** The error that a promise must end in. */
async function refused(promise, code) {
  const error = await Promise.resolve(promise).then(() => assert.fail(`not refused with ${code}`), (error) => error);
  assert.equal(sqlstate(error), code, error.message);
  return error;
}

/** Ends the program when its steps are done, whatever timers a library leaves behind. */
function main(body) {
  body().then(() => process.exit(0), (error) => {
    console.error(error);
    process.exit(1);
  });
}

module.exports = { assert, bin, connection, main, refused, run, sqlstate, step, url, version };
