#include "src/analyze/flops.h"

#include <simdjson.h>

#include <optional>
#include <string>
#include <vector>

#include "src/analyze/table.h"

namespace crosscut::analyze {
namespace {

using Shape = std::vector<int64_t>;

std::optional<Shape> Numbers(simdjson::dom::element element) {
  simdjson::dom::array array;
  if (element.get_array().get(array)) return std::nullopt;
  Shape shape;
  for (const simdjson::dom::element each : array) {
    int64_t number;
    if (each.get_int64().get(number) || number < 0) return std::nullopt;
    shape.push_back(number);
  }
  return shape;
}

// The shapes and values of a call. Empty where an input has none.
class Call {
 public:
  Call(std::string_view dims, std::string_view concrete) {
    simdjson::dom::array array;
    if (!parser_.parse(dims).get_array().get(array)) {
      for (const simdjson::dom::element each : array) {
        shapes_.push_back(Numbers(each).value_or(Shape()));
      }
    }
    if (parser_.parse(concrete).get_array().get(array)) return;
    for (const simdjson::dom::element each : array) {
      std::string_view text;
      if (each.get_string().get(text)) text = {};
      values_.emplace_back(text);
    }
  }

  const Shape& shape(size_t i) const {
    static const Shape kNone;
    return i < shapes_.size() ? shapes_[i] : kNone;
  }
  // The value of a scalar, as PyTorch writes it.
  std::string_view text(size_t i) const {
    return i < values_.size() ? std::string_view(values_[i]) : std::string_view();
  }
  // A list of whole numbers ("[1, 1]") or one ("1"); `size` times the same where it is one.
  std::optional<Shape> list(size_t i, size_t size) {
    simdjson::dom::element element;
    if (i >= values_.size() || parser_.parse(values_[i]).get(element)) return std::nullopt;
    int64_t number;
    std::optional<Shape> found = Numbers(element);
    if (!element.get_int64().get(number)) found = Shape{number};
    if (!found || found->empty()) return std::nullopt;
    if (found->size() == 1) found->resize(size, found->front());
    return found->size() == size ? found : std::nullopt;
  }

 private:
  simdjson::dom::parser parser_;
  std::vector<Shape> shapes_;
  std::vector<std::string> values_;
};

// Of sizes as large as anyone's: a product that does not fit is not known.
int64_t Product(std::initializer_list<int64_t> factors) {
  int64_t product = 1;
  for (const int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return kMissing;
  }
  return product;
}

int64_t Elements(const Shape& shape, size_t from = 0) {
  int64_t product = 1;
  for (size_t i = from; i < shape.size(); ++i) {
    if (__builtin_mul_overflow(product, shape[i], &product)) return kMissing;
  }
  return product;
}

int64_t MatrixProduct(const Shape& a, const Shape& b) {
  if (a.size() < 2 || a.size() != b.size() || a.size() > 3) return kMissing;
  const size_t last = a.size() - 1;
  if (a[last] != b[last - 1]) return kMissing;
  return Product({2, a.size() == 3 ? a[0] : 1, a[last - 1], a[last], b[last]});
}

// Where the arguments of a convolution stand among an operator's inputs.
struct Convolution {
  size_t input, weight, stride, padding, dilation, groups;
};

int64_t ConvolutionFlops(Call& call, const Convolution& at, size_t places) {
  const Shape &input = call.shape(at.input), &weight = call.shape(at.weight);
  if (input.size() != places + 2 || weight.size() != places + 2) return kMissing;
  const auto stride = call.list(at.stride, places), padding = call.list(at.padding, places),
             dilation = call.list(at.dilation, places), groups = call.list(at.groups, 1);
  if (!stride || !padding || !dilation || !groups || groups->front() <= 0) return kMissing;
  Shape output;
  for (size_t i = 0; i < places; ++i) {
    const int64_t reach = (*dilation)[i] * (weight[i + 2] - 1) + 1;
    const int64_t room = input[i + 2] + 2 * (*padding)[i] - reach;
    if ((*stride)[i] <= 0 || room < 0) return kMissing;
    output.push_back(room / (*stride)[i] + 1);
  }
  const int64_t out = Elements(output), kernel = Elements(weight, 2);
  if (out == kMissing || kernel == kMissing) return kMissing;
  const int64_t whole = Product({2, input[0], out, kernel, input[1], weight[0]});
  return whole == kMissing ? kMissing : whole / groups->front();
}

int64_t AttentionFlops(const Shape& query, const Shape& key) {
  if (query.size() != 4 || key.size() != 4) return kMissing;
  return Product({4, query[0], query[1], query[2], key[2], query[3]});
}

}  // namespace

int64_t FlopsOf(std::string_view name, std::string_view dims, std::string_view concrete) {
  if (!name.starts_with("aten::") || dims.empty()) return kMissing;
  name.remove_prefix(6);
  Call call(dims, concrete);
  if (name == "mm" || name == "bmm") return MatrixProduct(call.shape(0), call.shape(1));
  if (name == "addmm" || name == "baddbmm") return MatrixProduct(call.shape(1), call.shape(2));
  if (name == "add" || name == "mul") {
    return call.shape(0).empty() ? kMissing : Elements(call.shape(0));
  }
  for (size_t places = 1; places <= 3; ++places) {
    if (name == "conv" + std::to_string(places) + "d") {
      return ConvolutionFlops(call, {0, 1, 3, 4, 5, 6}, places);
    }
  }
  if (name == "convolution_backward" && call.shape(1).size() > 2 && call.text(7) == "False") {
    const int64_t forward = ConvolutionFlops(call, {1, 2, 4, 5, 6, 9}, call.shape(1).size() - 2);
    return forward == kMissing ? kMissing : Product({2, forward});
  }
  if (name.starts_with("_scaled_dot_product_") && !name.ends_with("_backward") &&
      !name.starts_with("_scaled_dot_product_attention_math")) {
    return AttentionFlops(call.shape(0), call.shape(1));
  }
  return kMissing;
}

}  // namespace crosscut::analyze
