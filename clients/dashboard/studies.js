// studies.js: the jobs and numbers of a study, without their drawing.

// A network of `layers` linear layers, each twice as wide as the one before (2-4-8-…-2), on the disc data:
// 1,000 points, batches of 100, SGD at 0.1. 8 layers have 44.7 thousand parameters, 12 have 11.2 million.
export function doublingNet(layers, { device, epochs, tag }) {
  const hidden = Array.from({ length: layers - 1 }, (_, i) => 2 ** (i + 2));
  return {
    name: `doubling-${layers}`,
    tags: [tag],
    data: { generator: "disc", rows: 1000, seed: 1, standardize: ["x"] },
    model: {
      layers: [
        ...hidden.flatMap((width) => [{ type: "linear", out_features: width }, { type: "relu" }]),
        { type: "linear", out_features: 2 },
      ],
    },
    loss: "cross_entropy",
    optimizer: { type: "sgd", lr: 0.1 },
    batch_size: 100,
    epochs,
    device,
  };
}

const finished = (jobs) => jobs.filter((job) => job.status === "succeeded" && job.device && job.timing.epoch_microseconds > 0);

// Seconds an epoch over parameters: [{device, parameters: [], seconds: []}], ascending. Of several jobs of
// one size on one device the fastest counts: other load on the machine only adds time.
export function timed(jobs) {
  const devices = new Map();
  for (const job of finished(jobs)) {
    const sizes = devices.get(job.device) ?? new Map();
    const time = job.timing.epoch_microseconds / 1e6;
    sizes.set(job.model.parameters, Math.min(time, sizes.get(job.model.parameters) ?? Infinity));
    devices.set(job.device, sizes);
  }
  return [...devices].sort(([a], [b]) => (a < b ? -1 : 1)).map(([device, sizes]) => {
    const sorted = [...sizes].sort(([a], [b]) => a - b);
    return { device, parameters: sorted.map(([size]) => size), seconds: sorted.map(([, time]) => time) };
  });
}

// The sizes at which one device's line passes below another's: by straight lines, on logarithmic axes,
// between the sizes that both have.
export function crossings(curves) {
  const found = [];
  for (let a = 0; a < curves.length; a++)
    for (let b = a + 1; b < curves.length; b++) {
      const shared = curves[a].parameters.filter((size) => curves[b].parameters.includes(size));
      const gap = shared.map((size) => Math.log(at(curves[a], size)) - Math.log(at(curves[b], size)));
      for (let i = 1; i < shared.length; i++) {
        if (gap[i - 1] * gap[i] >= 0) continue;
        const share = gap[i - 1] / (gap[i - 1] - gap[i]);
        const parameters = Math.exp(Math.log(shared[i - 1]) * (1 - share) + Math.log(shared[i]) * share);
        const [slower, faster] = gap[i] > 0 ? [curves[a].device, curves[b].device] : [curves[b].device, curves[a].device];
        found.push({ slower, faster, parameters });
      }
    }
  return found;
}

const at = (curve, size) => curve.seconds[curve.parameters.indexOf(size)];

// Jobs whose specs differ in the device alone (name, tags and priority aside):
// [{key, name, parameters, jobs}], one job a device, by size.
export function pairs(jobs) {
  const groups = new Map();
  for (const job of finished(jobs)) {
    const { name: _n, tags: _t, priority: _p, device: _d, executor: _e, ...spec } = job.spec;
    const key = JSON.stringify(spec);
    const group = groups.get(key) ?? { key, name: job.name || job.id, parameters: job.model.parameters, devices: new Map() };
    const before = group.devices.get(job.device);
    if (!before || job.timing.epoch_microseconds < before.timing.epoch_microseconds) group.devices.set(job.device, job);
    groups.set(key, group);
  }
  return [...groups.values()]
    .map(({ devices, ...group }) => ({ ...group, jobs: [...devices.values()].sort((a, b) => (a.device < b.device ? -1 : 1)) }))
    .sort((a, b) => a.parameters - b.parameters);
}
