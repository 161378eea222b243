// events.mjs: events of a job as the page's log has them.
import "./page.mjs";
import assert from "node:assert/strict";
import test from "node:test";

const { eventWords } = await import("../../../clients/dashboard/views/jobs/job_events.js");

test("each event is a line", () => {
  for (const [event, expected] of [
    [{ type: "queued" }, "queued"],
    [{ type: "started", attempt: 2, device: "cpu", executor: "cpu/fused" }, "started on cpu with cpu/fused, attempt 2"],
    [{ type: "epoch", epoch: 1200, epochs: 9000, loss: 0.25, validation: { loss: 0.5 } }, "epoch 1,200, loss 0.25, validation 0.5"],
    [{ type: "batch", epoch: 3, epochs: 9, batch: 1200, batches: 4000, loss: 0.125 }, "epoch 3, batch 1,200 of 4,000, loss 0.125"],
    [{ type: "layers", epoch: 1200, epochs: 9000, layers: [] }, "layers after epoch 1,200"],
    [{ type: "checkpoint", epoch: 1200, epochs: 9000, step: 4800, bytes: 1536 }, "checkpoint at epoch 1,200, step 4,800, 1.5 KiB"],
    [{ type: "paused", epoch: 1200, epochs: 9000 }, "paused at epoch 1,200 of 9,000"],
    [{ type: "resumed", epoch: 0, epochs: 9000 }, "resumed at epoch 0 of 9,000"],
    [{ type: "restarted", attempt: 2, epoch: 12, message: "the worker died; going on from epoch 12" }, "restarted, attempt 2: the worker died; going on from epoch 12"],
    [{ type: "warning", message: "the disk is slow" }, "warning: the disk is slow"],
    [{ type: "end", status: "failed", error: "diverged" }, "ended: failed"],
  ])
    assert.equal(eventWords(event), expected);
});
