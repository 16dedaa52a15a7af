"""Keras with a callback that does too much, by name: sys.argv[1]."""
import os
import sys
import time

import numpy
import keras

from clock import PLANTED, Clock

FAULT = sys.argv[1]
clock = Clock()


def keras_python():
    sum([i & 7 for i in range(250_000)])  # HERE


def keras_sleep():
    time.sleep(0.015)  # HERE


class Callback(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 5:
            clock.planted_s, self.begin = 0.0, time.perf_counter()
        if PLANTED:
            clock.time(globals()[FAULT])

    def on_train_end(self, logs=None):
        clock.loop_s = time.perf_counter() - self.begin
        clock.tell()


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
model = keras.Sequential([keras.layers.Dense(64), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(numpy.ones((32 * 120, 64), "float32"), numpy.ones((32 * 120, 1), "float32"), epochs=1,
          batch_size=32, verbose=0, callbacks=[Callback()])
