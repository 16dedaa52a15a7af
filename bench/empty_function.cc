// A function of a shared library that does nothing: what a call through the C ABI costs by itself.
extern "C" [[gnu::visibility("default")]] void EmptyFunction(unsigned) { asm volatile(""); }
