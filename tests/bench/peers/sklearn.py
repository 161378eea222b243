"""scikit-learn: MLPRegressor and MLPClassifier. It draws its own first weights."""

import time
import warnings

try:
    import sklearn
    from sklearn.neural_network import MLPClassifier, MLPRegressor
except Exception as error:
    from peers import protocol
    protocol.absent(error)

from peers import data, dense, protocol

warnings.filterwarnings("ignore")  # it would rather stop when the loss stands still


def prepare(work, table):
    widths, activation = dense.layers_of(work)
    optimizer = work.get("optimizer") or {"type": "sgd", "lr": work["lr"], "momentum": work["momentum"]}
    if len(widths) < 3 or work["loss"] not in ("mse", "cross_entropy") or optimizer["type"] == "adamw":
        raise protocol.Refused("has no such network")
    regression = work["loss"] == "mse"
    kind = MLPRegressor if regression else MLPClassifier
    # its squared loss is half of the mean
    lr = optimizer["lr"] * (2 if regression and optimizer["type"] == "sgd" else 1)

    def run(epochs):
        net = kind(hidden_layer_sizes=widths[1:-1], activation={"sigmoid": "logistic"}.get(activation, activation),
                   solver=optimizer["type"], alpha=0, batch_size=data.batch_rows(work, table), learning_rate_init=lr,
                   momentum=optimizer.get("momentum", 0), nesterovs_momentum=False, shuffle=work["shuffle"],
                   max_iter=epochs, tol=0, n_iter_no_change=epochs + 1, random_state=1)
        y = table.y.ravel() if table.y.shape[-1:] == (1,) or not regression else table.y
        begin = time.perf_counter()
        net.fit(table.x, y)
        seconds = time.perf_counter() - begin
        outputs = (lambda x: net.predict(x).reshape(len(x), -1)) if regression else net.predict_log_proba
        return seconds, outputs(table.x), outputs(table.x_test)
    return {"sgd": protocol.Variant(run)}


protocol.serve(f"scikit-learn {sklearn.__version__}", prepare)
