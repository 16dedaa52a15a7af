#include "src/export/chrome_names.h"

#include "src/base/json_text.h"

namespace crosscut::exporting {
namespace {

using trace::Kind;
using trace::Layer;

// Of files that others wrote, theirs. Calls from Python into a framework are none of its operators.
std::string_view Category(const trace::Trace& trace, const trace::Name& name) {
  const std::string_view text = trace.text(name.text), probe = trace.text(name.probe);
  if (!trace.text(name.category).empty()) return trace.text(name.category);
  if (name.kind == Kind::kOperation) return "user_annotation";
  switch (name.layer) {
    case Layer::kNone: return "user_annotation";
    case Layer::kPython: return "python_function";
    case Layer::kFramework: return probe == "boundary" ? "framework" : "cpu_op";
    case Layer::kRuntime: return "cuda_runtime";
    case Layer::kDevice:
      if (text.starts_with("Memcpy")) return "gpu_memcpy";
      return text.starts_with("Memset") ? "gpu_memset" : "kernel";
    default: return trace::LayerName(name.layer);
  }
}

// The Python function that a call of a module begins with; CPython 3.10 leaves out its class.
bool CallsModule(std::string_view name) {
  return name.starts_with("Module._wrapped_call_impl (module.py:") ||
         name.starts_with("_wrapped_call_impl (module.py:");
}

std::string HeadOf(std::string_view category, std::string_view name) {
  return "{\"ph\": \"X\", \"cat\": " + base::JsonText(category) +
         ", \"name\": " + base::JsonText(name);
}

}  // namespace

ChromeNames::ChromeNames(const trace::Trace& trace)
    : trace_(trace), options_(trace), modules_(trace) {
  for (uint32_t i = 0; i < trace.names.size(); ++i) {
    const trace::Name& name = trace.names[i];
    calls_module_.push_back(options_.is_profile && CallsModule(trace.text(name.text)));
    categories_.push_back(CategoryOf({i}));
    heads_.push_back(HeadOf(categories_.back(), options_.NameOf(trace, name)));
  }
  for (const auto& [module, number] : modules_.numbers()) {
    const std::string text = modules_.TextOf({module.first}, {module.second});
    module_heads_[module] = HeadOf(categories_[module.second], text);
  }
}

std::string_view ChromeNames::CategoryOf(trace::NameId id) const {
  const trace::Name& name = trace_.name(id);
  if (modules_.IsModule(id)) return "python_function";
  if (calls_module_[id.value]) return "";  // it is around none: the module itself is
  // In a profile only what the program annotates is an annotation.
  if (options_.is_profile && name.found) return "operation";
  return Category(trace_, name);
}

bool ChromeNames::IsLeftOut(const trace::Spans& spans, trace::SpanIndex span) const {
  if (!options_.is_profile) return false;
  if (modules_.IsModule(spans.name[span])) return !options_.with_stack;
  const trace::SpanIndex parent = spans.parent[span];
  return calls_module_[spans.name[span].value] && parent != trace::kNoSpan &&
         modules_.IsModule(spans.name[parent]);
}

}  // namespace crosscut::exporting
