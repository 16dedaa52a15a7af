// A simulator as pybind11 and nanobind bind it (CROSSCUT_NANOBIND): the same class both ways, for
// the tests of wrap().
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#ifdef CROSSCUT_NANOBIND
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string.h>
namespace py = nanobind;
using Release = py::gil_scoped_release;
#define MODULE NB_MODULE
#define READ_ONLY def_prop_ro
#else
#include <pybind11/functional.h>
#include <pybind11/pybind11.h>
namespace py = pybind11;
using Release = py::gil_scoped_release;
#define MODULE PYBIND11_MODULE
#define READ_ONLY def_property_readonly
#endif

class Simulator {
 public:
  explicit Simulator(int seed) : seed_(seed) {}
  int Step(int action) { return seed_ += action; }
  int Seed() const { return seed_; }
  int Each(const std::function<int(int)>& function, int count) {
    for (int i = 0; i < count; ++i) seed_ = function(seed_);
    return seed_;
  }
  // Calls back from a thread that Python does not know.
  void Elsewhere(const std::function<int(int)>& function) {
    const Release release;
    std::thread thread([&] {
      const py::gil_scoped_acquire acquire;
      seed_ = function(seed_);
    });
    thread.join();
  }
  void Fail() const { throw std::runtime_error("raised in C++"); }
  static std::string Kind() { return "simulator"; }

 private:
  int seed_;
};

MODULE(CROSSCUT_MODULE, m) {
  auto simulator = py::class_<Simulator>(m, "Simulator")
                       .def(py::init<int>(), py::arg("seed"))
                       .def("step", &Simulator::Step, py::arg("action"), "One step.")
                       .def("each", &Simulator::Each)
                       .def("elsewhere", &Simulator::Elsewhere)
                       .def("fail", &Simulator::Fail)
                       .def_static("kind", &Simulator::Kind)
                       .READ_ONLY("seed", &Simulator::Seed);
#ifdef CROSSCUT_NANOBIND
  simulator.def("__getstate__", &Simulator::Seed)
      .def("__setstate__", [](Simulator& self, int seed) { new (&self) Simulator(seed); });
#else
  simulator.def(py::pickle([](const Simulator& self) { return py::make_tuple(self.Seed()); },
                           [](const py::tuple& state) { return Simulator(state[0].cast<int>()); }));
#endif
  m.def("twice", [](int x) { return 2 * x; });
}
