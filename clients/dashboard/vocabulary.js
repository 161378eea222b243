// vocabulary.js: the words of a job and their fields. `rare` is seldom given; `example` is a first value
// of a required field. Printed by tests/docs/generate.c from the tables of api/: change those.

export const layers = {
  linear: { group: "dense", fields: {
    in_features: {"kind": "integer", "rare": true, "default": null},
    out_features: {"kind": "integer", "required": true, "example": 16},
    bias: {"kind": "boolean", "default": true},
    init: {"kind": "word", "default": "default"},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  relu: { group: "activations", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  leaky_relu: { group: "activations", fields: {
    negative_slope: {"kind": "number", "default": 0.01},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  tanh: { group: "activations", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  sigmoid: { group: "activations", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  gelu: { group: "activations", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  sin: { group: "activations", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  softmax: { group: "activations", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  log_softmax: { group: "activations", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  elu: { group: "activations", fields: {
    alpha: {"kind": "number", "default": 1},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  silu: { group: "activations", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  softplus: { group: "activations", fields: {
    beta: {"kind": "number", "default": 1},
    threshold: {"kind": "number", "rare": true, "default": 20},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  flatten: { group: "dense", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  conv2d: { group: "images", fields: {
    in_channels: {"kind": "integer", "rare": true, "default": null},
    out_channels: {"kind": "integer", "required": true, "example": 8},
    kernel_size: {"kind": "pair", "required": true, "example": 3},
    stride: {"kind": "pair", "default": 1},
    padding: {"kind": "pair", "default": 0},
    dilation: {"kind": "pair", "rare": true, "default": 1},
    groups: {"kind": "integer", "rare": true, "default": 1},
    bias: {"kind": "boolean", "default": true},
    init: {"kind": "word", "default": "default"},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  max_pool2d: { group: "images", fields: {
    kernel_size: {"kind": "pair", "required": true, "example": 2},
    stride: {"kind": "pair", "default": null},
    padding: {"kind": "pair", "rare": true, "default": 0},
    dilation: {"kind": "pair", "rare": true, "default": 1},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  avg_pool2d: { group: "images", fields: {
    kernel_size: {"kind": "pair", "required": true, "example": 2},
    stride: {"kind": "pair", "default": null},
    padding: {"kind": "pair", "rare": true, "default": 0},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  adaptive_avg_pool2d: { group: "images", fields: {
    output_size: {"kind": "pair", "required": true, "example": 1},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  dropout: { group: "regularization", fields: {
    p: {"kind": "number", "default": 0.5},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  dropout2d: { group: "regularization", fields: {
    p: {"kind": "number", "default": 0.5},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  batch_norm: { group: "regularization", fields: {
    eps: {"kind": "number", "rare": true, "default": 1e-5},
    momentum: {"kind": "number", "rare": true, "default": 0.1},
    affine: {"kind": "boolean", "default": true},
    sync: {"kind": "boolean", "rare": true, "default": false},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  layer_norm: { group: "regularization", fields: {
    eps: {"kind": "number", "rare": true, "default": 1e-5},
    affine: {"kind": "boolean", "default": true},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  embedding: { group: "dense", fields: {
    num_embeddings: {"kind": "integer", "required": true, "example": 10},
    embedding_dim: {"kind": "integer", "required": true, "example": 4},
    init: {"kind": "word", "default": "default"},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  residual: { group: "blocks", fields: {
    layers: {"kind": "json", "required": true, "example": [{"type": "relu"}]},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  mish: { group: "activations", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  hardswish: { group: "activations", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  add: { group: "blocks", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  mul: { group: "blocks", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  concat: { group: "blocks", fields: {
    dim: {"kind": "integer", "default": 1},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  slice: { group: "blocks", fields: {
    dim: {"kind": "integer", "default": 1},
    start: {"kind": "integer", "default": 0},
    length: {"kind": "integer", "default": null},
    columns: {"kind": "json", "default": null},
    places: {"kind": "json", "rare": true, "default": null},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  reshape: { group: "blocks", fields: {
    shape: {"kind": "json", "required": true, "example": [1, 8, 8]},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  permute: { group: "blocks", fields: {
    dims: {"kind": "json", "required": true, "example": [2, 1]},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  conv1d: { group: "images", fields: {
    in_channels: {"kind": "integer", "rare": true, "default": null},
    out_channels: {"kind": "integer", "required": true, "example": 8},
    kernel_size: {"kind": "integer", "required": true, "example": 3},
    stride: {"kind": "integer", "default": 1},
    padding: {"kind": "integer", "default": 0},
    dilation: {"kind": "integer", "default": 1},
    causal: {"kind": "boolean", "default": false},
    groups: {"kind": "integer", "rare": true, "default": 1},
    bias: {"kind": "boolean", "default": true},
    init: {"kind": "word", "default": "default"},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  unfold: { group: "images", fields: {
    kernel_size: {"kind": "pair", "required": true, "example": 3},
    stride: {"kind": "pair", "default": 1},
    padding: {"kind": "pair", "default": 0},
    dilation: {"kind": "pair", "rare": true, "default": 1},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  instance_norm: { group: "regularization", fields: {
    eps: {"kind": "number", "rare": true, "default": 1e-5},
    affine: {"kind": "boolean", "default": false},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  gru: { group: "dense", fields: {
    input_size: {"kind": "integer", "rare": true, "default": null},
    hidden_size: {"kind": "integer", "required": true, "example": 16},
    bias: {"kind": "boolean", "default": true},
    init: {"kind": "word", "default": "default"},
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  selu: { group: "activations", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  hardsigmoid: { group: "activations", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
  softsign: { group: "activations", fields: {
    name: {"kind": "string", "rare": true, "default": null},
    input: {"kind": "json", "rare": true, "default": null},
  } },
};

export const losses = {
  mse: { fields: {} },
  mae: { fields: {} },
  huber: { fields: {
    delta: {"kind": "number", "default": 1},
  } },
  bce: { fields: {
    pos_weight: {"kind": "number", "default": 1},
  } },
  bce_with_logits: { fields: {
    pos_weight: {"kind": "number", "default": 1},
  } },
  cross_entropy: { fields: {
    label_smoothing: {"kind": "number", "default": 0},
    class_weights: {"kind": "json", "default": null},
  } },
  nll: { fields: {
    class_weights: {"kind": "json", "default": null},
  } },
  quantile: { fields: {
    q: {"kind": "number", "default": 0.5},
  } },
  focal: { fields: {
    gamma: {"kind": "number", "default": 2},
    class_weights: {"kind": "json", "default": null},
  } },
};

export const optimizers = {
  sgd: { fields: {
    lr: {"kind": "number", "default": 0.01},
    momentum: {"kind": "number", "default": 0},
    nesterov: {"kind": "boolean", "default": false},
    weight_decay: {"kind": "number", "default": 0},
    decay_all: {"kind": "boolean", "default": true},
  } },
  adam: { fields: {
    lr: {"kind": "number", "default": 0.001},
    betas: {"kind": "pair", "default": [0.9, 0.999]},
    eps: {"kind": "number", "default": 1e-8},
    weight_decay: {"kind": "number", "default": 0},
    decay_all: {"kind": "boolean", "default": true},
  } },
  adamw: { fields: {
    lr: {"kind": "number", "default": 0.001},
    betas: {"kind": "pair", "default": [0.9, 0.999]},
    eps: {"kind": "number", "default": 1e-8},
    weight_decay: {"kind": "number", "default": 0.01},
    decay_all: {"kind": "boolean", "default": true},
  } },
  rmsprop: { fields: {
    lr: {"kind": "number", "default": 0.01},
    alpha: {"kind": "number", "default": 0.99},
    eps: {"kind": "number", "default": 1e-8},
    momentum: {"kind": "number", "default": 0},
    centered: {"kind": "boolean", "default": false},
    weight_decay: {"kind": "number", "default": 0},
    decay_all: {"kind": "boolean", "default": true},
  } },
  adagrad: { fields: {
    lr: {"kind": "number", "default": 0.01},
    lr_decay: {"kind": "number", "default": 0},
    eps: {"kind": "number", "default": 1e-10},
    weight_decay: {"kind": "number", "default": 0},
    decay_all: {"kind": "boolean", "default": true},
  } },
  lion: { fields: {
    lr: {"kind": "number", "default": 0.0001},
    betas: {"kind": "pair", "default": [0.9, 0.99]},
    weight_decay: {"kind": "number", "default": 0},
    decay_all: {"kind": "boolean", "default": true},
  } },
  nadam: { fields: {
    lr: {"kind": "number", "default": 0.002},
    betas: {"kind": "pair", "default": [0.9, 0.999]},
    eps: {"kind": "number", "default": 1e-8},
    momentum_decay: {"kind": "number", "default": 0.004},
    weight_decay: {"kind": "number", "default": 0},
    decay_all: {"kind": "boolean", "default": true},
  } },
  adamax: { fields: {
    lr: {"kind": "number", "default": 0.002},
    betas: {"kind": "pair", "default": [0.9, 0.999]},
    eps: {"kind": "number", "default": 1e-8},
    weight_decay: {"kind": "number", "default": 0},
    decay_all: {"kind": "boolean", "default": true},
  } },
};

export const schedules = {
  constant: { fields: {
    warmup_epochs: {"kind": "integer", "default": 0},
    warmup_factor: {"kind": "number", "default": 0},
  } },
  step: { fields: {
    step_size: {"kind": "integer", "required": true},
    gamma: {"kind": "number", "default": 0.1},
    warmup_epochs: {"kind": "integer", "default": 0},
    warmup_factor: {"kind": "number", "default": 0},
  } },
  multi_step: { fields: {
    milestones: {"kind": "json", "required": true},
    gamma: {"kind": "number", "default": 0.1},
    warmup_epochs: {"kind": "integer", "default": 0},
    warmup_factor: {"kind": "number", "default": 0},
  } },
  exponential: { fields: {
    gamma: {"kind": "number", "required": true},
    warmup_epochs: {"kind": "integer", "default": 0},
    warmup_factor: {"kind": "number", "default": 0},
  } },
  cosine: { fields: {
    t_max: {"kind": "integer", "default": null},
    eta_min: {"kind": "number", "default": 0},
    warmup_epochs: {"kind": "integer", "default": 0},
    warmup_factor: {"kind": "number", "default": 0},
  } },
  one_cycle: { fields: {
    max_lr: {"kind": "number", "default": null},
    pct_start: {"kind": "number", "default": 0.3},
    div_factor: {"kind": "number", "default": 25},
    final_div_factor: {"kind": "number", "default": 10000},
  } },
  reduce_on_plateau: { fields: {
    factor: {"kind": "number", "default": 0.1},
    patience: {"kind": "integer", "default": 10},
    threshold: {"kind": "number", "default": 0.0001},
    min_lr: {"kind": "number", "default": 0},
    metric: {"kind": "json", "default": "validation.loss"},
    warmup_epochs: {"kind": "integer", "default": 0},
    warmup_factor: {"kind": "number", "default": 0},
  } },
};

// The daemon's limits.
export const limits = { trials: 1000000, comparedJobs: 32, predictSteps: 10000 };

// The parts of a dataset, and how the published files of MNIST begin that are one, before a character and "idx".
export const datasetParts = {
  "train/x": "train-images",
  "train/y": "train-labels",
  "validation/x": "",
  "validation/y": "",
  "test/x": "t10k-images",
  "test/y": "t10k-labels",
};
