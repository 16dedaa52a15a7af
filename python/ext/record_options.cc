#include "crosscut/ref.h"
#include "python/ext/record_module.h"

namespace crosscut::python {

bool ParseOptions(PyObject* keywords, crosscut_options* options) {
  static const char* names[] = {"run_dir",      "memory_bytes",    "flight_recorder",
                                "keep_seconds", "control_percent", "seed",
                                "plan",         "budget_percent",  nullptr};
  Py_ssize_t memory = 0;
  int flight = 0;
  unsigned long long seed = 0;
  *options = {};
  options->struct_size = sizeof *options;
  options->control_percent = -1;
  const Ref none(PyTuple_New(0));
  if (!none || !PyArg_ParseTupleAndKeywords(
                   none.get(), keywords, "|$znpddKzd", const_cast<char**>(names), &options->run_dir,
                   &memory, &flight, &options->keep_seconds, &options->control_percent, &seed,
                   &options->plan, &options->budget_percent)) {
    return false;
  }
  options->memory_bytes = memory > 0 ? static_cast<size_t>(memory) : 0;
  options->policy = flight ? CROSSCUT_FLIGHT_RECORDER : CROSSCUT_DROP_NEWEST;
  options->seed = seed;
  return true;
}

}  // namespace crosscut::python
