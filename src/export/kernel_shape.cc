#include "src/export/kernel_shape.h"

#include <charconv>
#include <string_view>

namespace crosscut::exporting {
namespace {

// "[1, 2, 3]"
bool ParseThree(std::string_view text, std::array<int64_t, 3>* numbers) {
  for (size_t i = 0; i < 3; ++i) {
    const size_t digit = text.find_first_of("0123456789");
    if (digit == std::string_view::npos) return false;
    text.remove_prefix(digit);
    const auto [rest, error] =
        std::from_chars(text.data(), text.data() + text.size(), (*numbers)[i]);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<size_t>(rest - text.data()));
  }
  return true;
}

// 0 to 2 of "grid_x" to "grid_z" with `prefix` "grid_"; -1: another key.
int AxisOf(std::string_view key, std::string_view prefix) {
  if (key.size() != prefix.size() + 1 || !key.starts_with(prefix)) return -1;
  const char axis = key.back();
  return axis >= 'x' && axis <= 'z' ? axis - 'x' : -1;
}

struct Items {  // OpenCL counts them, not groups
  std::array<int64_t, 3> global = {0, 0, 0};
  bool any = false;
};

void TakeNumber(std::string_view key, int64_t value, KernelShape* shape, Items* items) {
  if (key == "registers" || key == "registers per thread") shape->registers = value;
  if (key == "static_shared_bytes") shape->static_bytes = value;
  if (key == "dynamic_shared_bytes" || key == "shared memory") shape->dynamic_bytes = value;
  int axis = AxisOf(key, "grid_");
  if (axis >= 0) shape->grid[static_cast<size_t>(axis)] = value, shape->known = true;
  axis = AxisOf(key, "block_");
  if (axis < 0) axis = AxisOf(key, "local_");
  if (axis >= 0) shape->block[static_cast<size_t>(axis)] = value;
  axis = AxisOf(key, "global_");
  if (axis >= 0) items->global[static_cast<size_t>(axis)] = value, items->any = true;
}

void AppendThree(std::string_view key, const std::array<int64_t, 3>& numbers, std::string* out) {
  *out += key;
  for (size_t i = 0; i < 3; ++i) *out += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
}

void AppendOne(std::string_view key, int64_t number, std::string* out) {
  if (number >= 0) *out += std::string(key) + std::to_string(number) + " ";
}

}  // namespace

KernelShape KernelShapeOf(const trace::Trace& trace, trace::Args::Range args) {
  KernelShape shape;
  Items items;
  bool grid = false, block = false;
  for (const trace::Arg& arg : args) {
    const std::string_view key = trace.text(arg.key);
    if (!arg.is_text) {
      TakeNumber(key, arg.value, &shape, &items);
    } else if (key == "grid") {
      grid = ParseThree(trace.text(arg.text()), &shape.grid);
    } else if (key == "block") {
      block = ParseThree(trace.text(arg.text()), &shape.block);
    }
  }
  shape.in_arrays = grid && block;
  shape.known = shape.known || shape.in_arrays || items.any;
  for (size_t i = 0; items.any && i < 3; ++i) {
    if (shape.block[i] > 0 && items.global[i] > 0) {
      shape.grid[i] = (items.global[i] + shape.block[i] - 1) / shape.block[i];
    }
  }
  return shape;
}

std::string KernelDetails(const KernelShape& shape) {
  if (!shape.known) return "";
  std::string out;
  AppendOne("regs:", shape.registers, &out);
  AppendOne("static_shared:", shape.static_bytes, &out);
  AppendOne("dynamic_shared:", shape.dynamic_bytes, &out);
  AppendThree("grid:", shape.grid, &out);
  AppendThree(" block:", shape.block, &out);
  return out;
}

}  // namespace crosscut::exporting
