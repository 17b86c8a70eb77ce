// graphile-worker: migrate, add a job, run it.
"use strict";
const { makeWorkerUtils, runOnce } = require("graphile-worker");
const { assert, main, step, url, version } = require("./steps.js");

main(async () => {
  version("graphile-worker");
  let utils;
  await step("migrate", async () => {
    utils = await makeWorkerUtils({ connectionString: url });
    await utils.migrate();
  });
  await step("add and run", async () => {
    await utils.addJob("mail", { to: "ada" });
    let done;
    await runOnce({ connectionString: url, taskList: { mail: async (payload) => { done = payload; } } });
    assert.deepEqual(done, { to: "ada" });
  });
  await utils?.release();
});
