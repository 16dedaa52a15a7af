import pytest
from recording import Recorder


@pytest.fixture
def recorder(tmp_path):
    return Recorder(tmp_path)
