#include "inputs.h"

#include <ATen/core/Tensor.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <crosscut/crosscut.h>
#include <crosscut/fork_safe_mutex.h>

#include <atomic>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>

#if __has_include(<torch/csrc/distributed/c10d/ParamCommsUtils.hpp>)
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>
#define CROSSCUT_HAS_COLLECTIVES 1
#endif

namespace crosscut::pytorch {
namespace {

// As Kineto's traces have it: longer lists are named but not spelled out.
constexpr size_t kLongestList = 30;
constexpr size_t kMostWithValues = 8 << 10, kMost = 32 << 10;
constexpr size_t kMostTextBytes = 8 << 20;

// 128 bits over everything that the text says: two different calls do not meet in it.
class Signature {
 public:
  void Add(uint64_t word) {
    low_ = (low_ ^ word) * 0xff51afd7ed558ccdu;
    low_ ^= low_ >> 32;
    high_ = (high_ + word) * 0x9e3779b97f4a7c15u;
    high_ ^= high_ >> 29;
  }
  uint64_t low() const { return low_ | 1; }  // never 0: the mark of a free slot
  uint64_t high() const { return high_; }

 private:
  uint64_t low_ = 0x243f6a8885a308d3u, high_ = 0x13198a2e03707344u;
};

ForkSafeMutex insertion;  // of the only cache, whose memory is zero until it is used

class SignatureCache {
 public:
  uint32_t Find(const Signature& signature) const {
    for (size_t at = signature.high() & kMask;; at = (at + 1) & kMask) {
      const uint64_t low = slots_[at].low.load(std::memory_order_acquire);
      if (low == signature.low() && slots_[at].high == signature.high()) return slots_[at].id;
      if (low == 0) return 0;
    }
  }
  // Whether another text may be made.
  bool HasRoom(bool values) const {
    return room_.load(std::memory_order_relaxed) >= (values ? kForValues : kForShapes);
  }
  // Interns `text` and keeps its id; 0 where there is no room.
  uint32_t Insert(const Signature& signature, const std::string& text) {
    std::lock_guard<ForkSafeMutex> lock(insertion);
    if (const uint32_t known = Find(signature); known != 0) return known;
    if (!HasRoom(/*values=*/false)) return 0;
    const uint32_t id =
        crosscut_intern(text.data(), text.size(), CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
    if (id == 0) return 0;
    size_t at = signature.high() & kMask;
    while (slots_[at].low.load(std::memory_order_relaxed) != 0) at = (at + 1) & kMask;
    slots_[at].high = signature.high();
    slots_[at].id = id;
    slots_[at].low.store(signature.low(), std::memory_order_release);
    text_bytes_ += text.size();
    if (++used_ == kMostWithValues) room_.store(kForShapes, std::memory_order_relaxed);
    if (used_ == kMost || text_bytes_ >= kMostTextBytes) {
      room_.store(kForNone, std::memory_order_relaxed);
    }
    return id;
  }

 private:
  static constexpr size_t kSlots = 64 << 10;
  static constexpr size_t kMask = kSlots - 1;
  struct Slot {
    std::atomic<uint64_t> low;
    uint64_t high;
    uint32_t id;
  };
  enum Room { kForNone, kForShapes, kForValues };

  Slot slots_[kSlots] = {};
  size_t used_ = 0, text_bytes_ = 0;
  std::atomic<int> room_{kForValues};
};
SignatureCache signatures;

enum class Tag : uint64_t { kNothing = 1, kTensor, kTensors, kScalar, kScalars, kUntoldScalars };

bool IsKnown(const at::Tensor& tensor) {
  return tensor.defined() && !tensor.is_nested() &&
         !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

// As the tensor holds them: one with a __torch_dispatch__ would ask the program.
c10::IntArrayRef SizesOf(const at::Tensor& tensor) {
  const at::TensorImpl& held = *tensor.unsafeGetTensorImpl();
  return held.is_python_dispatch() ? held.sizes_default() : held.sizes();
}

c10::IntArrayRef StridesOf(const at::Tensor& tensor) {
  const at::TensorImpl& held = *tensor.unsafeGetTensorImpl();
  return held.is_python_dispatch() ? held.strides_default() : held.strides();
}

bool IsStrided(const at::Tensor& tensor) {
  constexpr auto kOthers = c10::sparse_ks | c10::sparse_csr_ks | c10::mkldnn_ks;
  const at::TensorImpl& held = *tensor.unsafeGetTensorImpl();
  return held.is_python_dispatch() ? !held.key_set().has_any(kOthers)
                                   : held.layout() == at::kStrided;
}

bool IsScalarList(const c10::IValue& value) {
  if (!value.isList()) return false;
  const auto list = value.toListRef();
  return list.empty() || (list[0].isScalar() && list.size() <= kLongestList);
}

inline void AddTensor(const at::Tensor& tensor, Signature* to) {
  if (!IsKnown(tensor)) return to->Add(static_cast<uint64_t>(Tag::kNothing));
  const c10::IntArrayRef sizes = SizesOf(tensor);
  const bool strided = IsStrided(tensor);
  to->Add(static_cast<uint64_t>(Tag::kTensor) | static_cast<uint64_t>(tensor.scalar_type()) << 8 |
          uint64_t{strided} << 16 | sizes.size() << 24);
  for (const int64_t size : sizes) to->Add(static_cast<uint64_t>(size));
  if (!strided) return;
  for (const int64_t stride : StridesOf(tensor)) to->Add(static_cast<uint64_t>(stride));
}

void AddScalar(const c10::IValue& value, Signature* to) {
  if (value.isInt()) {
    to->Add(0);
    to->Add(static_cast<uint64_t>(value.toInt()));
  } else if (value.isDouble()) {
    to->Add(1);
    to->Add(std::bit_cast<uint64_t>(value.toDouble()));
  } else if (value.isBool()) {
    to->Add(value.toBool() ? 3 : 2);
  } else if (value.isComplexDouble()) {
    to->Add(4);
    to->Add(std::bit_cast<uint64_t>(value.toComplexDouble().real()));
    to->Add(std::bit_cast<uint64_t>(value.toComplexDouble().imag()));
  } else {
    to->Add(5);  // symbolic
  }
}

inline void AddValue(const c10::IValue& value, bool values, Signature* to) {
  if (value.isTensor()) return AddTensor(value.toTensor(), to);
  if (value.isScalar()) {
    to->Add(static_cast<uint64_t>(Tag::kScalar));
    if (values) AddScalar(value, to);
  } else if (value.isTensorList()) {
    const auto list = value.toListRef();
    to->Add(static_cast<uint64_t>(Tag::kTensors) | list.size() << 8);
    if (list.size() > kLongestList) return;
    for (const c10::IValue& each : list) AddTensor(each.toTensor(), to);
  } else if (IsScalarList(value)) {
    const auto list = value.toListRef();
    to->Add(static_cast<uint64_t>(values ? Tag::kScalars : Tag::kUntoldScalars) | list.size() << 8);
    for (size_t i = 0; values && i < list.size(); ++i) AddScalar(list[i], to);
  } else {
    to->Add(static_cast<uint64_t>(Tag::kNothing));
  }
}

void AppendNumbers(c10::IntArrayRef numbers, std::string* to) {
  *to += '[';
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i != 0) *to += ", ";
    *to += std::to_string(numbers[i]);
  }
  *to += ']';
}

void AppendString(const std::string& text, std::string* to) {
  *to += '"';
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      *to += escaped;
      continue;
    }
    if (c == '"' || c == '\\') *to += '\\';
    *to += c;
  }
  *to += '"';
}

// JSON; "" for what is not told.
std::string ToldOf(const c10::IValue& value) {
  std::string text;
  if (value.isBool()) {
    text = value.toBool() ? "true" : "false";
  } else if (value.isInt()) {
    text = std::to_string(value.toInt());
  } else if (value.isDouble() && std::isfinite(value.toDouble())) {
    char number[32];
    text.assign(number, std::to_chars(number, std::end(number), value.toDouble()).ptr);
  } else if (value.isString()) {
    AppendString(value.toStringRef(), &text);
  } else if (value.isList()) {
    for (const c10::IValue& each : value.toListRef()) {
      const std::string told = ToldOf(each);
      if (told.empty()) return "";
      text += (text.empty() ? "[" : ", ") + told;
    }
    text += text.empty() ? "[]" : "]";
  }
  return text;
}

// The four members, an element of each per input.
class Text {
 public:
  void Add(const c10::IValue& value, bool values) {
    for (std::string* member : {&dims_, &types_, &strides_, &concrete_}) {
      if (!member->empty()) *member += ", ";
    }
    if (value.isTensor()) {
      AddTensor(value.toTensor());
      AppendString(IsKnown(value.toTensor()) ? TypeOf(value.toTensor()) : "", &types_);
    } else if (value.isTensorList()) {
      AddTensors(value.toListRef());
      types_ += "\"TensorList\"";
    } else {
      const bool list = IsScalarList(value);
      dims_ += "[]";
      strides_ += "[]";
      types_ += value.isScalar() ? "\"Scalar\"" : list ? "\"ScalarList\"" : "\"\"";
      if (values && (list || value.isScalar())) {
        std::ostringstream out;
        out << value;
        return AppendString(out.str(), &concrete_);
      }
    }
    concrete_ += "\"\"";
  }

  std::string Whole() const {
    return "{\"Input Dims\": [" + dims_ + "], \"Input type\": [" + types_ +
           "], \"Input Strides\": [" + strides_ + "], \"Concrete Inputs\": [" + concrete_ + "]}";
  }

 private:
  static std::string TypeOf(const at::Tensor& tensor) { return std::string(tensor.dtype().name()); }

  void AddTensor(const at::Tensor& tensor) {
    AppendNumbers(IsKnown(tensor) ? SizesOf(tensor) : c10::IntArrayRef(), &dims_);
    const bool strided = IsKnown(tensor) && IsStrided(tensor);
    AppendNumbers(strided ? StridesOf(tensor) : c10::IntArrayRef(), &strides_);
  }
  void AddTensors(c10::ArrayRef<c10::IValue> list) {
    dims_ += '[';
    strides_ += '[';
    for (size_t i = 0; i < list.size() && list.size() <= kLongestList; ++i) {
      if (i != 0) {
        dims_ += ", ";
        strides_ += ", ";
      }
      AddTensor(list[i].toTensor());
    }
    dims_ += ']';
    strides_ += ']';
  }

  std::string dims_, types_, strides_, concrete_;
};

// What a fast record function gets by name: numbers, texts and lists of them, in order of their
// names.
std::string NamedText(const Named& named) {
  std::map<std::string_view, const c10::IValue*> sorted;
  for (const auto& [name, value] : named) sorted.emplace(name, &value);
  std::string text;
  for (const auto& [name, value] : sorted) {
    std::string told = ToldOf(*value);
    if (told.empty()) continue;
    if (!text.empty()) text += ", ";
    AppendString(std::string(name), &text);
    text += ": " + told;
  }
  return text;
}

__attribute__((noinline)) uint32_t Insert(c10::ArrayRef<const c10::IValue> inputs, bool values,
                                          const Signature& signature) {
  Text text;
  for (const c10::IValue& value : inputs) text.Add(value, values);
  return signatures.Insert(signature, text.Whole());
}

uint32_t FindInputs(c10::ArrayRef<const c10::IValue> inputs, bool values) {
  Signature signature;
  for (const c10::IValue& value : inputs) AddValue(value, values, &signature);
  const uint32_t known = signatures.Find(signature);
  if (known != 0 || !signatures.HasRoom(values)) return known;
  return Insert(inputs, values, signature);
}

bool IsConvolution(std::string_view name) {
  return name.starts_with("aten::conv") || name.starts_with("aten::_convolution");
}

uint32_t InternText(const std::string& text) {
  Signature signature;
  for (const char c : text) signature.Add(static_cast<unsigned char>(c));
  const uint32_t known = signatures.Find(signature);
  return known != 0 ? known : signatures.Insert(signature, text);
}

}  // namespace

uint32_t InputsKey() {
  static const uint32_t key = crosscut_intern("{}", 2, CROSSCUT_TEXT, CROSSCUT_LAYER_NONE, 0, 0);
  return key;
}

uint32_t FindInputs(const char* name, c10::ArrayRef<const c10::IValue> inputs, bool scalars) {
  if (inputs.empty()) return 0;
  try {
    const uint32_t id = scalars || IsConvolution(name) ? FindInputs(inputs, /*values=*/true) : 0;
    return id != 0 ? id : FindInputs(inputs, /*values=*/false);
  } catch (const std::exception&) {  // a tensor that cannot say its sizes
    return 0;
  }
}

uint32_t FindInputs(c10::ArrayRef<const c10::IValue> inputs, const Named& named) {
  try {
    Text text;
    for (const c10::IValue& value : inputs) text.Add(value, /*values=*/true);
    std::string whole = inputs.empty() ? "{" : text.Whole();
    if (!inputs.empty()) whole.back() = ',';
    return InternText(whole + "\"kwinputs\": {" + NamedText(named) + "}}");
  } catch (const std::exception&) {
    return 0;
  }
}

uint32_t FindCollective() {
#ifdef CROSSCUT_HAS_COLLECTIVES
  const auto* info = dynamic_cast<const torch::ParamCommsDebugInfo*>(
      c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PARAM_COMMS_INFO));
  if (info == nullptr) return 0;
  CollectiveCall call;
  call.name = info->getCollectiveName();
  call.type = info->getDType();
  call.in_elements = info->getInMessageNelems();
  call.out_elements = info->getOutMessageNelems();
  call.in_split = &info->getInputSplitSizes();
  call.out_split = &info->getOutputSplitSizes();
  call.ranks = &info->getGroupRanks();
  call.group_size = info->getWorldSize();
  call.rank = info->getRank();
  call.group = info->getProcessGroupName();
  call.group_description = info->getProcessGroupDesc();
  return CollectiveText(call);
#else
  return 0;
#endif
}

uint32_t CollectiveText(const CollectiveCall& call) {
  std::string text = "{\"Collective name\": ";
  AppendString(call.name, &text);
  const auto string = [&text](const char* key, const std::string& value) {
    text += std::string(", \"") + key + "\": ";
    AppendString(value, &text);
  };
  const auto number = [&text](const char* key, int64_t value) {
    if (value >= 0) text += std::string(", \"") + key + "\": " + std::to_string(value);
  };
  const auto numbers = [&text](const char* key, const std::vector<int64_t>* value) {
    if (value == nullptr) return;
    text += std::string(", \"") + key + "\": ";
    AppendNumbers(*value, &text);
  };
  string("dtype", c10::toString(call.type));
  number("In msg nelems", call.in_elements);
  number("Out msg nelems", call.out_elements);
  numbers("In split size", call.in_split);
  numbers("Out split size", call.out_split);
  number("Group size", call.group_size);
  number("Rank", call.rank);
  number("Peer", call.peer);
  string("Process Group Name", call.group);
  string("Process Group Description", call.group_description);
  numbers("Process Group Ranks", call.ranks);
  text += '}';
  return InternText(text);
}

}  // namespace crosscut::pytorch
