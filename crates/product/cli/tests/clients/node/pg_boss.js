// pg-boss: a queue in the database.
"use strict";
const { assert, main, step, url, version } = require("./steps.js");
const PgBoss = require("pg-boss");

main(async () => {
  version("pg-boss");
  const boss = new PgBoss({ connectionString: url, max: 4, supervise: false, schedule: false });
  boss.on("error", (error) => console.error(error));
  await step("migrate", () => boss.start());
  await step("send and fetch", async () => {
    await boss.createQueue("mail");
    const id = await boss.send("mail", { to: "ada" });
    const [job] = await boss.fetch("mail");
    assert.deepEqual([job.id, job.data], [id, { to: "ada" }]);
    await boss.complete("mail", job.id);
    assert.equal((await boss.getJobById("mail", id)).state, "completed");
  });
  await step("insert many", async () => {
    await boss.insert([...Array(10).keys()].map((n) => ({ name: "mail", data: { n } })));
    assert.equal((await boss.fetch("mail", { batchSize: 20 })).length, 10);
  });
});
