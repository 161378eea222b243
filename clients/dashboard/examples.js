// examples.js: jobs and a sweep to start from. `needs` names a dataset that is uploaded first; all others run as they
// are. Small tables are generated here, the same in every browser; `tables` are those that are uploaded as files.

// Random numbers from 0 to 1 (Lehmer's generator), good enough for example tables.
function shares(seed) {
  let state = seed;
  return () => (state = (state * 48271) % 2147483647) / 2147483647;
}

const round = (v, digits) => Number(v.toFixed(digits));

// Prices of flats, in thousands: area, rooms, age.
function flats(rows) {
  const next = shares(7);
  const x = [], y = [];
  for (let i = 0; i < rows; i++) {
    const area = round(35 + 110 * next(), 0);
    const rooms = 1 + Math.floor(area / 35 + 1.5 * next());
    const years = Math.floor(70 * next());
    x.push([area, rooms, years]);
    y.push(round(18 + 2.4 * area + 9 * rooms - 0.7 * years + 16 * (next() - 0.5), 1));
  }
  return { x, y };
}

// Whether machines failed: hours of use, temperature.
function machines(rows) {
  const next = shares(11);
  const x = [], y = [];
  for (let i = 0; i < rows; i++) {
    const hours = round(200 + 4800 * next(), 0);
    const temperature = round(30 + 60 * next(), 1);
    x.push([hours, temperature]);
    y.push((hours - 2600) / 1400 + (temperature - 60) / 17 + 1.2 * (next() - 0.5) > 0 ? 1 : 0);
  }
  return { x, y };
}

export const dense = (...widths) => widths.flatMap((width) => [{ type: "linear", out_features: width }, { type: "relu" }]);

const csv = (names, { x, y }, target) => `${names.join(",")}\n${x.map((row, i) => [...row, target(y[i])].join(",")).join("\n")}\n`;

export const tables = [
  {
    id: "flats",
    title: "Predict the price of a flat",
    about: "400 flats: the price by area, rooms and age",
    target: "price",
    csv: () => csv(["area", "rooms", "age", "price"], flats(400), (price) => Math.round(1000 * price)),
  },
  {
    id: "machines",
    title: "Predict machine failures",
    about: "400 machines: yes or no, by hours of use and temperature",
    target: "failed",
    csv: () => csv(["hours", "temperature", "failed"], machines(400), (failed) => (failed ? "yes" : "no")),
  },
];

export const examples = [
  {
    id: "xor",
    title: "XOR",
    about: "Four rows that no line can part; one hidden layer does.",
    spec: () => ({
      name: "xor",
      data: { generator: "xor" },
      model: { layers: [{ type: "linear", out_features: 4 }, { type: "tanh" }, { type: "linear", out_features: 1 }] },
      loss: "bce_with_logits",
      optimizer: { type: "sgd", lr: 0.5, momentum: 0.9 },
      epochs: 1000,
    }),
  },
  {
    id: "linear",
    title: "Linear regression",
    about: "Prices of 40 flats, in the job itself.",
    spec: () => ({
      name: "flats",
      data: { inline: flats(40), test: 0.25, standardize: ["x", "y"] },
      model: { layers: [{ type: "linear", out_features: 1 }] },
      loss: "mse",
      optimizer: { type: "sgd", lr: 0.1 },
      epochs: 500,
    }),
  },
  {
    id: "logistic",
    title: "Logistic regression",
    about: "Which of 60 machines fail, in the job itself.",
    spec: () => ({
      name: "machines",
      data: { inline: machines(60), test: 0.25, standardize: ["x"] },
      model: { layers: [{ type: "linear", out_features: 1 }] },
      loss: "bce_with_logits",
      optimizer: { type: "sgd", lr: 0.5 },
      epochs: 1000,
    }),
  },
  {
    id: "disc",
    title: "Disc, eight layers",
    about: "Points in a square; which lie inside the circle? 44,700 parameters.",
    spec: () => ({
      name: "disc",
      data: { generator: "disc", rows: 1000, validation: 0.2, standardize: ["x"] },
      model: { layers: [...dense(4, 8, 16, 32, 64, 128, 256), { type: "linear", out_features: 2 }] },
      loss: "cross_entropy",
      optimizer: { type: "sgd", lr: 0.1 },
      epochs: 100,
      batch_size: 100,
    }),
  },
  {
    id: "sweep",
    title: "Disc, a sweep",
    about: "100 small networks: which width, activation and learning rate tell the points apart?",
    spec: () => ({
      name: "disc-sweep",
      max_trials: 100,
      space: {
        "/model/layers/0/out_features": { int_log_uniform: [2, 64] },
        "/model/layers/1/type": { values: ["relu", "tanh", "gelu"] },
        "/optimizer/lr": { log_uniform: [0.001, 1] },
      },
      job: {
        data: { generator: "disc", rows: 1000, validation: 0.2, standardize: ["x"] },
        model: { layers: [{ type: "linear" }, {}, { type: "linear", out_features: 2 }] },
        loss: "cross_entropy",
        optimizer: { type: "sgd", momentum: 0.9 },
        epochs: 30,
        batch_size: 100,
      },
    }),
  },
  {
    id: "houses",
    title: "House prices (linear.json)",
    about: "The 6-6-1 network on 321 rows; upload linear.json as “linear”.",
    needs: "linear",
    spec: () => ({
      name: "6-6-1",
      data: { dataset: "linear", standardize: ["x", "y"] },
      model: { layers: [...dense(6), { type: "linear", out_features: 1 }] },
      loss: "mse",
      optimizer: { type: "sgd", lr: 0.005 },
      epochs: 40000,
    }),
  },
  {
    id: "accounts",
    title: "Yes or no (logistic.json)",
    about: "19 columns, 3,530 rows; upload logistic.json as “logistic”.",
    needs: "logistic",
    spec: () => ({
      name: "logistic",
      data: { dataset: "logistic", standardize: ["x"] },
      model: { layers: [{ type: "linear", out_features: 1 }] },
      loss: "bce_with_logits",
      optimizer: { type: "sgd", lr: 0.5 },
      epochs: 2000,
    }),
  },
  {
    id: "mnist",
    title: "MNIST, convolutional",
    about: "Handwritten digits; upload the four files of MNIST as parts of “mnist”.",
    needs: "mnist",
    spec: () => ({
      name: "mnist",
      data: { dataset: "mnist", normalize: { mean: 0.1307, std: 0.3081 } },
      model: {
        layers: [
          { type: "conv2d", out_channels: 10, kernel_size: 5 },
          { type: "max_pool2d", kernel_size: 2 },
          { type: "relu" },
          { type: "conv2d", out_channels: 20, kernel_size: 5 },
          { type: "dropout2d", p: 0.5 },
          { type: "max_pool2d", kernel_size: 2 },
          { type: "relu" },
          { type: "flatten" },
          { type: "linear", out_features: 50 },
          { type: "relu" },
          { type: "dropout", p: 0.5 },
          { type: "linear", out_features: 10 },
          { type: "log_softmax" },
        ],
      },
      loss: "nll",
      optimizer: { type: "sgd", lr: 0.01, momentum: 0.5 },
      epochs: 5,
      batch_size: 200,
    }),
  },
];
