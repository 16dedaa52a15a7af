"""What a graph of TensorFlow's updates where it is executed. It is read out of the graph itself,
which may have been traced before anybody recorded: an optimizer of Keras counts its updates in a
variable of its own, and TensorFlow's own optimizers have kernels."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterator
from typing import Any

from crosscut import _source_state
from crosscut.adapters import operations

_KERAS = "keras.src.optimizers.base_optimizer"
_KERNELS = ("ResourceApply", "ResourceSparseApply")


def _identity(variable: Any) -> str:
    """Of a variable, whichever of its replicas it is; "": it has none."""
    variable = getattr(variable, "_value", variable)  # Keras's own are around those of TensorFlow
    container = getattr(variable, "_distributed_container", None)
    if callable(container):
        variable = container() or variable
    return str(getattr(variable, "_unique_id", ""))


def _written(graph: Any) -> Iterator[Any]:
    """The variables that the graph, and what it calls, writes to."""
    from tensorflow.python.framework import auto_control_deps_utils as utilities
    from tensorflow.python.framework import dtypes

    read = set(utilities.get_read_only_resource_input_indices_graph(graph))
    handles = {id(inner): outer for outer, inner in graph.captures}
    variables = {id(getattr(one, "handle", None)): one
                 for one in (reference() for reference in graph._weak_variables)}
    for place, tensor in enumerate(graph.inputs):
        if tensor.dtype == dtypes.resource and place not in read:
            variable = variables.get(id(handles.get(id(tensor))))
            if variable is not None:
                yield variable


def _has_kernels(graph: Any) -> bool:
    if any(operation.type.startswith(_KERNELS) for operation in graph.get_operations()):
        return True
    return any(node.op.startswith(_KERNELS)
               for function in graph.as_graph_def().library.function for node in function.node_def)


def instances(cls: type) -> list[Any]:
    """Of the class and those below it, as far as there are: before there is one below, none."""
    classes = operations.with_subclasses(cls)
    if len(classes) == 1:
        return []
    known = set(map(id, classes))
    return [one for one in gc.get_referrers(*classes) if id(type(one)) in known]


class Graphs:
    """What the graphs of this process update. All of it under the GIL."""

    def __init__(self) -> None:
        # By the variable that each counts in. No callback: it would be a frame of the program's.
        self._optimizers: dict[str, weakref.ref[Any]] = {}
        self._others: set[str] = set()  # variables that no optimizer counts in

    def keep(self, optimizer: Any) -> None:
        """Its update goes into a graph."""
        try:
            identity = _identity(getattr(optimizer, "_iterations", None))
            if identity:
                self._optimizers[identity] = weakref.ref(optimizer)
        except Exception as error:  # in another version
            _source_state.report_failure("operations", error)

    def updated_by(self, concrete: Any) -> tuple[Any, ...]:
        """Weak references to what makes updates in a graph, if anything does: optimizers, or where
        these are not to be found, the first variable that is updated."""
        try:
            written = list(_written(concrete.graph))
            found = [one for one in map(self._counts_in, written) if one is not None]
            if not found:
                trained = [one for one in written if getattr(one, "trainable", False)]
                found = trained[:1] if trained and _has_kernels(concrete.graph) else []
            return tuple(map(weakref.ref, found))
        except Exception as error:  # in another version
            _source_state.report_failure("operations", error)
            return ()

    def _counts_in(self, variable: Any) -> Any:
        """The optimizer that counts its updates in the variable, or None."""
        if "iteration" not in str(variable.name):
            return None
        identity = _identity(variable)
        optimizer = self._kept(identity)
        if optimizer is None and identity not in self._others:
            self._look_around()
            optimizer = self._kept(identity)
            if optimizer is None:
                self._others.add(identity)
        return optimizer

    def _kept(self, identity: str) -> Any:
        reference = self._optimizers.get(identity)
        return reference() if reference is not None else None

    def _look_around(self) -> None:
        """Finds the optimizers that there are."""
        base = getattr(sys.modules.get(_KERAS), "BaseOptimizer", None)
        for one in instances(base) if base is not None else ():
            self.keep(one)
