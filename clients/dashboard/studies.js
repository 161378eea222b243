// studies.js: the two studies that the page offers, as requests of POST /v1/sweeps. epochctl has the same:
// `epochctl example doubling`, `epochctl example rows-nodes-depth`.

// What both have: one training at a time, each after one that is thrown away, on points of the unit square.
function study({ name, metric, repeats, epochs, rows, devices, layers, space, zip }) {
  return {
    name,
    tags: ["study"],
    metric,
    repeats,
    warm_up: 1,
    exclusive: true,
    job: {
      data: { generator: "disc", rows, seed: 1, standardize: ["x"] },
      model: { layers },
      loss: "cross_entropy",
      optimizer: { type: "sgd", lr: 0.1 },
      epochs,
      batch_size: 100,
    },
    space: { ...space, ...(devices ? { "/device": { values: devices } } : {}) },
    ...(zip ? { zip } : {}),
  };
}

// Linear layers of these widths with ReLU between them and two outputs.
const dense = (widths) => [...widths.flatMap((width) => [{ type: "linear", out_features: width }, { type: "relu" }]), { type: "linear", out_features: 2 }];

export const doublingLayers = { least: 2, most: 12 }; // 22 parameters to 11 million

// `layers` linear layers, each twice as wide as the one before: 2-4-8-…-2.
export const doublingNet = (layers) => dense(Array.from({ length: layers - 1 }, (_, i) => 2 ** (i + 2)));

// Networks that double from layer to layer. devices: ids, the other axis; null: the daemon takes one.
export function doublingStudy({ from = doublingLayers.least, to = doublingLayers.most, epochs = 20, repeats = 3, devices = null } = {}) {
  const networks = Array.from({ length: to - from + 1 }, (_, i) => doublingNet(from + i));
  return study({
    name: "doubling", metric: "epoch_microseconds", repeats, epochs, rows: 1000, devices,
    layers: networks[0], space: { "/model/layers": { values: networks } },
  });
}

// Rows of data, nodes of each hidden layer, hidden layers: they grow together.
export const configurations = [[200, 8, 1], [500, 16, 2], [1000, 32, 3], [2000, 64, 4], [5000, 128, 5]];

export function rowsNodesDepthStudy({ epochs = 20, repeats = 5, devices = null } = {}) {
  const networks = configurations.map(([, nodes, depth]) => dense(Array(depth).fill(nodes)));
  const rows = configurations.map(([count]) => count);
  return study({
    name: "rows-nodes-depth", metric: "seconds", repeats, epochs, rows: rows[0], devices,
    layers: networks[0], space: { "/data/rows": { values: rows }, "/model/layers": { values: networks } },
    zip: [["/data/rows", "/model/layers"]],
  });
}
