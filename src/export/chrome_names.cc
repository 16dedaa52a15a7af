#include "src/export/chrome_names.h"

#include <charconv>

#include "src/base/json_text.h"

namespace crosscut::exporting {
namespace {

using trace::Kind;
using trace::Layer;

// Of files that others wrote, theirs. Calls from Python into a framework are none of its operators.
std::string_view Category(const trace::Trace& trace, const trace::Name& name) {
  const std::string_view probe = trace.text(name.probe);
  if (!trace.text(name.category).empty()) return trace.text(name.category);
  if (name.scope()) return name.kind == Kind::kPart ? "operation" : "user_annotation";
  if (name.kind == Kind::kStep) return "request";
  switch (name.layer) {
    case Layer::kNone:
    case Layer::kDevice: return "user_annotation";
    case Layer::kPython: return "python_function";
    case Layer::kFramework: return probe == "boundary" ? "framework" : "cpu_op";
    case Layer::kRuntime: return "cuda_runtime";
    default: return trace::LayerName(name.layer);
  }
}

// The same of what stands on a device's stream: work, unless its library reports waiting.
std::string_view DeviceCategory(const trace::Trace& trace, const trace::Name& name) {
  const std::string_view text = trace.text(name.text);
  if (!trace.text(name.category).empty()) return trace.text(name.category);
  if (name.scope()) return "gpu_user_annotation";
  if (name.layer == Layer::kIdle) return "cuda_sync";
  if (text.starts_with("Memcpy")) return "gpu_memcpy";
  return text.starts_with("Memset") ? "gpu_memset" : "kernel";
}

// The Python function that a call of a module begins with; CPython 3.10 leaves out its class.
bool CallsModule(std::string_view name) {
  return name.starts_with("Module._wrapped_call_impl (module.py:") ||
         name.starts_with("_wrapped_call_impl (module.py:");
}

// A field that tells our own import of what is no step; for other readers the name makes it one.
constexpr std::string_view kNoStep = "\"crosscutStep\": false, ";

// "ProfilerStep#7".
bool ReadsLikeStep(std::string_view name) {
  constexpr std::string_view kStep = "ProfilerStep#";
  int64_t number = 0;
  return name.starts_with(kStep) &&
         std::from_chars(name.data() + kStep.size(), name.data() + name.size(), number).ec ==
             std::errc();
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
    const std::string text(options_.NameOf(trace, name));
    heads_.push_back(HeadOf(categories_.back(), text));
    if (!options_.is_profile && ReadsLikeStep(text)) heads_.back().insert(1, kNoStep);
    work_categories_.push_back(DeviceCategory(trace, name));
    work_heads_.push_back(HeadOf(work_categories_.back(), text));
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
  // In a profile only what the program annotates is an annotation, also outside of that.
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
