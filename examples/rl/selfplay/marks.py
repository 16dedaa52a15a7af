"""What the program tells Crosscut of itself; nothing, where Crosscut is not installed."""

try:
    from crosscut import operation, phase, step, step_end
except ImportError:
    from contextlib import nullcontext

    def operation(name):
        return nullcontext()

    def phase(name):
        pass

    def step(kind=None):
        pass

    def step_end():
        pass


__all__ = ["operation", "phase", "step", "step_end"]
