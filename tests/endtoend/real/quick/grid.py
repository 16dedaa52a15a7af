"""scikit-learn's user guide on tuning: a grid search that joblib runs in two processes."""

from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

X, y = make_classification(n_samples=1500, n_features=20, random_state=0)
param_grid = [
    {"C": [1, 10, 100, 1000], "kernel": ["linear"]},
    {"C": [1, 10, 100, 1000], "gamma": [0.001, 0.0001], "kernel": ["rbf"]},
]
search = GridSearchCV(SVC(), param_grid, n_jobs=2, cv=5)
search.fit(X, y)
print(search.best_params_)
