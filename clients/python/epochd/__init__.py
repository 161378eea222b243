"""epochd: a client for epochd with Python's standard library alone.

    from epochd import Client

    client = Client("http://127.0.0.1:8080")
    client.upload("houses", "houses.csv")
    job = client.train({"data": {"dataset": "houses", "target": "price"}, ...})
    print(job.metrics.test, job.predict([[80, 3]]))

    job = client.train("houses.csv", target="price")  # or a DataFrame: a first network for a table
    print(job.predict({"area": 80, "rooms": 3}))

    from epochd import Classifier
    model = Classifier(client).fit(passengers, survived)  # a DataFrame, dicts, or rows of values
    print(model.predict(others), model.predict_proba(others), model.score(others, theirs))

    sweep = client.sweep(job.spec, {"/optimizer/lr": {"log_uniform": [1e-4, 1]}}, max_trials=200).wait()
    print(sweep.table(limit=10))

Install its wheel, or copy this folder beside your program. Python 3.9 or later; where NumPy is installed, arrays are NumPy's,
else lists. In a notebook a job shows its curve, a sweep its best trials. Apache-2.0.
"""
__version__ = "0.1.0"

from .arrays import read_safetensors
from .client import Client
from .errors import EpochdError, JobFailed
from .estimators import Classifier, Regressor
from .job import Job
from .sweep import Sweep

__all__ = ["Classifier", "Client", "Job", "Regressor", "Sweep", "EpochdError", "JobFailed", "read_safetensors"]
