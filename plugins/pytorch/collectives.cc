#include "collectives.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <crosscut/crosscut.h>
#include <crosscut/fork_safe_mutex.h>
#include <pthread.h>

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "inputs.h"
#include "names.h"
#include "operators.h"

#if __has_include(<torch/csrc/distributed/c10d/ProcessGroup.hpp>)
#include <torch/library.h>

#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>

namespace crosscut::pytorch {
namespace {

const auto kKind = c10::DebugInfoKind::PARAM_COMMS_INFO;

thread_local bool asks = false;  // this thread is inside of a call for a collective

// PyTorch carries it along to the threads that carry the collective out.
struct AskedForInfo final : torch::ParamCommsDebugInfo {
  explicit AskedForInfo(Collective asked) : collective(asked) {}
  const Collective collective;
};

// How many collectives a group was asked for. Sends and receives are not among them: they have a
// sender and a receiver, and the group's other ranks do not know of them.
class Ordinals {
 public:
  // Of this call; -1: not known.
  int64_t Next(c10d::ProcessGroup& group, const std::string& name, bool before_groups) {
    std::lock_guard<std::mutex> lock(mutex_);
    Group& it = groups_[name];
    if (it.group != &group) it = {&group, IsNew(group, before_groups) ? 0 : -1};
    return it.next < 0 ? -1 : it.next++;
  }

 private:
  struct Group {
    const void* group = nullptr;
    int64_t next = 0;
  };
  // Whether this is the first that the group was asked for.
  static bool IsNew(c10d::ProcessGroup& group, bool before_groups) {
    if (before_groups) return true;
    try {
      return group.getSequenceNumberForGroup() == 0;
    } catch (const std::exception&) {  // the backend does not count
      return false;
    }
  }

  std::mutex mutex_;
  std::unordered_map<std::string, Group> groups_;
};

// Never destroyed: calls come while the process exits.
std::atomic<Ordinals*> all_ordinals{nullptr};

// Groups do not survive a fork, and another thread may have stopped within the map.
void ForgetOrdinals() { all_ordinals.store(new Ordinals); }

Ordinals& ordinals() {
  static const int made = [] {
    ForgetOrdinals();
    return pthread_atfork(nullptr, nullptr, &ForgetOrdinals);
  }();
  (void)made;
  return *all_ordinals.load(std::memory_order_acquire);
}
bool groups_are_new = false;  // written before the kernel is in place

// As the tensor holds it: one with a __torch_dispatch__ would ask the program.
int64_t ElementsOf(const at::Tensor& tensor) {
  const at::TensorImpl& held = *tensor.unsafeGetTensorImpl();
  return held.is_python_dispatch() ? held.numel_default() : held.numel();
}

int64_t ElementsOf(const c10::IValue& value) {
  if (value.isTensor()) return ElementsOf(value.toTensor());
  int64_t sum = 0;
  if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) sum += ElementsOf(tensor);
  } else if (value.isList()) {
    for (const c10::IValue& each : value.toListRef()) sum += ElementsOf(each);
  }
  return sum;
}

// "float"; of the first tensor there.
at::ScalarType TypeOf(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().scalar_type();
  if (value.isTensorList() || value.isList()) {
    for (const c10::IValue& each : value.toListRef()) return TypeOf(each);
  }
  return at::ScalarType::Undefined;
}

// Which argument is the process group; as many as there are where none is.
size_t GroupAt(const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  size_t at = 0;
  while (at < arguments.size() && arguments[at].name() != "process_group") ++at;
  return at;
}

// "allreduce" of "c10d::allreduce_".
std::string NameOf(const c10::OperatorHandle& op) {
  std::string_view name = op.schema().name();
  name.remove_prefix(name.find("::") + 2);
  while (name.ends_with('_')) name.remove_suffix(1);
  return std::string(name);
}

// What a call is about. The outputs, then the inputs stand before the group; what is sent and
// received in place stands there once, and the tensor of a barrier means nothing.
CollectiveCall CallOf(const c10::OperatorHandle& op, c10::ArrayRef<c10::IValue> values,
                      size_t group_at, const c10d::ProcessGroup& group) {
  CollectiveCall call;
  call.name = NameOf(op);
  const c10::IValue& out = values[0];
  const c10::IValue& in = values[group_at > 1 ? 1 : 0];
  call.type = TypeOf(in);
  if (!call.name.ends_with("barrier")) {
    call.in_elements = ElementsOf(in);
    call.out_elements = ElementsOf(out);
  }
  call.group = group.getGroupName();
  call.group_description = group.getGroupDesc();
  call.group_size = group.getSize();
  call.rank = group.getRank();
  const bool sends = call.name == "send", receives = call.name == "recv";
  if (sends || receives) call.peer = values[group_at + 1].toInt();
  return call;
}

// What the operator is called with, whose operands are the last of the stack.
Collective AskedFor(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const size_t count = op.schema().arguments().size();
  const c10::ArrayRef<c10::IValue> values(stack.data() + stack.size() - count, count);
  const size_t at = GroupAt(op.schema());
  const auto group = values[at].toCustomClass<c10d::ProcessGroup>();
  const std::string name = NameOf(op);
  const bool of_two = name == "send" || name.starts_with("recv");
  Collective asked;
  if (!of_two) asked.ordinal = ordinals().Next(*group, group->getGroupName(), groups_are_new);
  if (IsRecording()) asked.told = CollectiveText(CallOf(op, values, at, *group));
  return asked;
}

uint32_t SpanOf(const c10::OperatorHandle& op) {
  const char* const name = op.schema().name().c_str();
  const uint32_t known = operator_names.Find(name);
  return known != 0 ? known : operator_names.Insert(name, op.schema().overload_name().c_str());
}

// From construction to destruction the thread's call is this collective. What it launches is found
// under the operator's span, which says what it is about; where no callback records operators, we
// do.
class Asking {
 public:
  Asking(const c10::OperatorHandle& op, const torch::jit::Stack& stack) : asked_before_(asks) {
    asks = true;
    try {
      const Collective asked = AskedFor(op, stack);
      if (asked.told == 0) return;
      info_.emplace(kKind, std::make_shared<AskedForInfo>(asked));
      begun_ = !IsRecordingOperators() || !at::isRecordFunctionEnabled();
      if (begun_) crosscut_begin(SpanOf(op));
      TellArguments(asked);
    } catch (const std::exception&) {  // a tensor without a size, a group without a backend
    }
  }
  ~Asking() {
    if (begun_) crosscut_end();
    asks = asked_before_;
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

 private:
  const bool asked_before_;
  std::optional<c10::DebugInfoGuard> info_;
  bool begun_ = false;
};

void Kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
  ScopeBegins("collective");  // backends open one around each
  const Asking asking(op, *stack);
  op.redispatchBoxed(
      keys & c10::DispatchKeySet(c10::DispatchKeySet::FULL_AFTER, c10::DispatchKey::BackendSelect),
      stack);
}

// Behind its tensors.
bool TakesGroup(const c10::FunctionSchema& schema) {
  const size_t at = GroupAt(schema);
  return at > 0 && at < schema.arguments().size() &&
         schema.arguments()[at].type()->str().ends_with("c10d.ProcessGroup");
}

}  // namespace

int FollowCollectives(bool before_groups) {
  static torch::Library* library = nullptr;
  static ForkSafeMutex mutex;
  std::lock_guard<ForkSafeMutex> lock(mutex);
  if (library != nullptr) return CROSSCUT_OK;
  groups_are_new = before_groups;
  auto* const made = new torch::Library(torch::Library::IMPL, "c10d",
                                        c10::DispatchKey::BackendSelect, __FILE__, __LINE__);
  bool any = false;
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (!name.name.starts_with("c10d::")) continue;
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op.has_value() || !TakesGroup(op->schema())) continue;
    const std::string full =
        name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
    made->impl(full.c_str(), torch::CppFunction::makeFromBoxedFunction<&Kernel>());
    any = true;
  }
  library = made;  // stays: its end would take the kernels out
  return any ? CROSSCUT_OK : CROSSCUT_EOFF;
}

Collective CollectiveOfWork() {
  const auto* info = dynamic_cast<const AskedForInfo*>(c10::ThreadLocalDebugInfo::get(kKind));
  return info == nullptr ? Collective() : info->collective;
}

bool CarriesOut() { return !asks && CollectiveOfWork().told != 0; }

void TellArguments(const Collective& collective) {
  static const uint32_t sequence =
      crosscut_intern("Seq", SIZE_MAX, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  if (collective.told != 0) crosscut_arg_name(InputsKey(), collective.told);
  if (collective.ordinal >= 0) crosscut_arg(sequence, collective.ordinal);
}

}  // namespace crosscut::pytorch

#else

namespace crosscut::pytorch {
int FollowCollectives(bool) { return CROSSCUT_EOFF; }
Collective CollectiveOfWork() { return {}; }
bool CarriesOut() { return false; }
void TellArguments(const Collective&) {}
}  // namespace crosscut::pytorch

#endif
