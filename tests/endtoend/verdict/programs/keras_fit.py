"""Keras: a generator that sleeps before each batch."""
import os
import time

import numpy
import keras

PLANTED = os.environ["PLANTED"] == "1"


class Batches(keras.utils.PyDataset):
    def __len__(self):
        return 60

    def __getitem__(self, index):
        if PLANTED:
            time.sleep(0.03)  # HERE
        return numpy.ones((32, 64), "float32"), numpy.ones((32, 1), "float32")


model = keras.Sequential([keras.layers.Dense(256), keras.layers.Dense(256), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(Batches(), epochs=1, verbose=0)  # OWN
