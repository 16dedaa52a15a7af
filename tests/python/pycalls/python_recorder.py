"""What _wrap.py and _hooks.py use of crosscut._record, which the package under test has none of."""

import importlib
import types


def _follow_imports(_, told):
    load = importlib._bootstrap._load_unlocked

    def load_and_tell(spec):
        module = load(spec)
        told(spec.name)
        return module

    importlib._bootstrap._load_unlocked = load_and_tell
    return True


def stub_record(source_state):
    return types.SimpleNamespace(source_state=source_state, follow_imports=_follow_imports,
                                 ours=lambda function, *args: function(*args),
                                 unseen=lambda function: function)
