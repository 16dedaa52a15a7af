/* A shared library as ctypes and cffi load it, for the tests of wrap(). */
int add(int a, int b) { return a + b; }
double mixed(double a, int b, double c, long d, double e) { return a + b + c + (double)d + e; }
int each(int (*function)(int), int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += function(i);
  return sum;
}
/* CPython's own evaluation behind another address: what a compiler like torch.compile puts in. */
void* _PyEval_EvalFrameDefault(void* thread, void* frame, int thrown) __attribute__((weak));
void* crosscut_test_evaluate(void* thread, void* frame, int thrown) {
  return _PyEval_EvalFrameDefault(thread, frame, thrown);
}
