#include "src/check/harness/options.h"

#include <cstring>
#include <tuple>
#include <type_traits>

namespace crosscut::check {
namespace {

auto Members(Options& o) {
  return std::tie(o.plugin, o.work, o.python, o.tensorflow.folder, o.tensorflow.libpython, o.level,
                  o.seed, o.json, o.probe, o.jobs, o.cycles, o.events, o.deadline, o.budget,
                  o.fuzz_seconds, o.soak_seconds, o.environment, o.no_device, o.only, o.skip);
}

template <class T>
constexpr bool kPlain = std::is_arithmetic_v<T>;

struct Packer {
  std::string out;

  template <class T>
  void Put(const T& value) {
    if constexpr (kPlain<T>) {
      out.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else if constexpr (requires { value.first; }) {
      Put(value.first);
      Put(value.second);
    } else {
      Put(value.size());
      for (const auto& one : value) Put(one);
    }
  }
};

struct Unpacker {
  std::string_view in;
  bool whole = true;

  template <class T>
  void Take(T& value) {
    if constexpr (kPlain<T>) {
      whole = whole && in.size() >= sizeof value;
      if (!whole) return;
      memcpy(&value, in.data(), sizeof value);
      in.remove_prefix(sizeof value);
    } else if constexpr (requires { value.first; }) {
      Take(value.first);
      Take(value.second);
    } else {
      size_t count = 0;
      Take(count);
      value.clear();
      for (; whole && count > 0; --count) {
        typename T::value_type one{};
        Take(one);
        value.insert(value.end(), std::move(one));
      }
    }
  }
};

}  // namespace

Options& options() {
  static Options* the_options = new Options;  // threads may run while the process ends
  return *the_options;
}

std::string PackOptions() {
  Packer packer;
  std::apply([&](const auto&... each) { (packer.Put(each), ...); }, Members(options()));
  return packer.out;
}

bool UnpackOptions(std::string_view bytes) {
  Unpacker unpacker{bytes};
  std::apply([&](auto&... each) { (unpacker.Take(each), ...); }, Members(options()));
  return unpacker.whole && unpacker.in.empty();
}

// SplitMix64.
uint64_t Random(uint64_t salt) {
  uint64_t x = options().seed * 0x9E3779B97F4A7C15u + salt * 0xD1B54A32D192ED03u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace crosscut::check
