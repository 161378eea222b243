"""scikit-learn: MLPRegressor and MLPClassifier with plain SGD. It draws its own first weights."""

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
    widths = dense.layers_of(work)
    if len(widths) < 3 or work["loss"] not in ("mse", "cross_entropy"):
        raise protocol.Refused("has no such network")
    regression = work["loss"] == "mse"
    kind = MLPRegressor if regression else MLPClassifier
    # its squared loss is half of the mean
    lr = work["lr"] * (2 if regression else 1)

    def run(epochs):
        net = kind(hidden_layer_sizes=widths[1:-1], activation="relu", solver="sgd", alpha=0,
                   batch_size=data.batch_rows(work, table), learning_rate_init=lr, momentum=0,
                   shuffle=False, max_iter=epochs, tol=0, n_iter_no_change=epochs + 1, random_state=1)
        y = table.y.ravel()
        begin = time.perf_counter()
        net.fit(table.x, y)
        seconds = time.perf_counter() - begin
        outputs = (lambda x: net.predict(x)[:, None]) if regression else net.predict_log_proba
        return seconds, outputs(table.x), outputs(table.x_test)
    return {"sgd": protocol.Variant(run)}


protocol.serve(f"scikit-learn {sklearn.__version__}", prepare)
